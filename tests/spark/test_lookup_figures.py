"""Figures that tell the truth, also when it is alarming."""

from dataclasses import fields

import numpy as np
import pytest

from penstock.engine.adapt.census import InForce
from penstock.spark.metrics import LookupMetrics
from penstock.spark.runtime.lookup_bucket import count_ages


def figures(**counts):
    nothing = {field.name: 0 for field in fields(LookupMetrics)}
    facts = {"batch": 4, "staleness_p50": None, "staleness_p99": None, "in_bytes": False}
    return LookupMetrics(
        **nothing | facts | {"in_force": InForce({}, {}, 0), "policy": "", "goal": "hits"} | counts
    )


def test_very_old_rows_fall_into_the_last_bin():
    assert count_ages(np.array([2**62]))[-1] == 1


def test_a_healthy_lookup():
    told = figures(events=100, null_keys=10, hits=60, misses=25, known_missing=5, found=80)
    assert told.hit_ratio == 60 / 90
    assert told.unfound == 10
    assert told.alarm is None
    assert [line.split() for line in str(told).splitlines()[:2]] == [
        ["batch", "4"],
        ["events", "100"],
    ]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"events": 90, "known_missing": 80, "misses": 10}, "none of 90 events found a row"),
        ({"events": 90, "hits": 20, "misses": 70, "found": 30}, "67% of 90 events found no row"),
        ({"events": 90, "null_keys": 90}, "all 90 events have a null key"),
    ],
)
def test_what_is_wrong_is_said_first(counts, said):
    told = figures(**counts)
    assert said in told.alarm
    first, batch, *_ = str(told).splitlines()
    assert first == f"ALARM: {told.alarm}"
    assert batch.split() == ["batch", str(told.batch)]


def test_what_was_saved_is_a_share_of_what_was_saved_or_fetched():
    told = figures(bytes_saved=300, bytes_fetched=100, cost_saved=0, cost_fetched=5)
    assert (told.bytes_saved_ratio, told.cost_saved_ratio) == (0.75, 0)
    nothing = figures(cost_saved=None, cost_fetched=None)
    assert nothing.bytes_saved_ratio is nothing.cost_saved_ratio is None


def test_an_empty_relation_has_no_hits():
    assert figures(events=90, known_missing=80, misses=10).hit_ratio == 0


def test_before_anything_came():
    told = figures()
    assert told.hit_ratio is None
    assert told.alarm is None
