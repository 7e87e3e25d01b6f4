"""Simulations of band joins: what is counted, and what cannot be asked for."""

import numpy as np
import pytest

from penstock.errors import BadInput
from penstock.simulate.comparison import compare, summarise
from penstock.simulate.drifting import tower
from penstock.simulate.player import suitable
from penstock.simulate.scenario import Scenario, TraceFile
from penstock.simulate.workloads import Generated
from tests.marks import some


def scenario(near=2.0, source=None, **options):
    given = {"problem": "joining", "memory": 10, "near": near, "warmup": 0} | options
    return Scenario(source or Generated("tower", length=200), **given)


@pytest.mark.parametrize("near", some([1.0, 2.5], [2.5]))
def test_an_unlimited_memory_finds_all_that_are_near(near):
    report = summarise(compare(scenario(near), ["lru"]))
    trace = tower(200, seed=0)
    r, s = (trace.value[trace.side == side] for side in (0, 1))
    apart = np.abs(r[:, None] - s[None, :]) <= near
    together = np.trace(apart)  # they come in one step, and are counted apart
    (score,) = report["policies"]
    assert score["full"]["mean"] == apart.sum() - together
    assert 0 < score["results"]["mean"] < score["full"]["mean"]
    assert report["near"] == near


def test_memory_enough_finds_everything_in_a_window():
    report = summarise(compare(scenario(within=5, memory=400), ["fifo", "prob"]))
    assert [each["recall"]["mean"] for each in report["policies"]] == [1.0, 1.0]


def test_policies_with_models_of_equal_values_are_left_out():
    assert {"heeb", "hist"}.isdisjoint(suitable(scenario()))
    assert "heeb" in suitable(scenario(near=None))
    with pytest.raises(BadInput, match="leave out heeb or --near"):
        compare(scenario(), ["heeb"])
    with pytest.raises(BadInput, match="leave out opt or --near"):
        compare(scenario(), ["opt"])


def test_what_a_band_cannot_be_is_refused(tmp_path):
    for options, message in (
        ({"near": 0.0}, "above 0"),
        ({"problem": "caching"}, "leave out --near"),
        ({"distortion": True}, "--near"),
    ):
        with pytest.raises(BadInput, match=message):
            scenario(**options)
    path = tmp_path / "names.csv"
    path.write_text("key,side,time\na,left,0\nb,right,1\n", encoding="utf-8")
    with pytest.raises(BadInput, match="near compares numbers"):
        compare(scenario(source=TraceFile(str(path))), ["lru"])


def test_fractions_in_a_file_are_compared_as_floats(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("key,side,time\n1.5,l,0\n1.75,r,1\n1.8,r,2\n", encoding="utf-8")
    report = summarise(compare(scenario(0.25, TraceFile(str(path)), memory=3), ["lru"]))
    assert report["policies"][0]["results"]["mean"] == 1
