"""Figures that tell the truth, also when it is alarming."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.metrics import BINS, count_ages, quantile, read_lookup
from penstock.spark.metrics import lookup_counters as counter_names


def figures(**counts):
    row = dict.fromkeys(counter_names(), 0.0) | counts
    return read_lookup(row, 4)


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=200), st.floats(0.01, 0.99))
def test_quantiles_lie_in_the_right_bin(drawn, share):
    counts = count_ages(np.array(drawn))
    assert counts.sum() == len(drawn)
    exact = sorted(drawn)[max(0, int(np.ceil(share * len(drawn))) - 1)] / 1e6
    found = quantile(counts, share)
    assert found <= max(0.001, 2 * exact) * (1 + 1e-9)
    assert found >= exact / 2 * (1 - 1e-9) or exact < 0.002


def test_who_rules_is_told_by_name():
    ruling = figures(rules_lru=3, rules_sieve=1, more_lfu=-5, beside_lfu=50, switches=2).ruling
    assert ruling.buckets == {"lru": 3, "sieve": 1}
    assert ruling.scores == {"lfu": 0.9}
    assert ruling.switches == 2


def test_no_age_and_very_old_ones():
    assert quantile(np.zeros(BINS), 0.5) is None
    assert count_ages(np.array([2**62]))[-1] == 1


def test_a_healthy_lookup():
    told = figures(events=100, null=10, hits=60, misses=25, known_missing=5, found=80, age_0=90)
    assert told.hit_ratio == 60 / 90
    assert told.unfound == 10
    assert told.alarm is None
    assert told.staleness_p50 == pytest.approx(0.0005)
    assert [line.split() for line in str(told).splitlines()[:2]] == [
        ["batch", "4"],
        ["events", "100"],
    ]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"events": 90, "known_missing": 80, "misses": 10}, "none of 90 events found a row"),
        ({"events": 90, "hits": 20, "misses": 70, "found": 30}, "67% of 90 events found no row"),
        ({"events": 90, "null": 90}, "all 90 events have a null key"),
    ],
)
def test_what_is_wrong_is_said_first(counts, said):
    told = figures(**counts)
    assert said in told.alarm
    first, batch, *_ = str(told).splitlines()
    assert first == f"ALARM: {told.alarm}"
    assert batch.split() == ["batch", str(told.batch)]


def test_an_empty_relation_has_no_hits():
    assert figures(events=90, known_missing=80, misses=10).hit_ratio == 0


def test_before_anything_came():
    told = figures()
    assert told.hit_ratio is None
    assert told.alarm is None
    assert told.staleness_p99 is None
