"""Nothing that a network or a restart does makes an answer miss the truth."""

import pytest

from bench.precision_faults import run
from penstock.precision import Cache, Interval


@pytest.mark.parametrize("rule", ["adaptive", "settling", "growing", "static:width=3"])
def test_no_answer_misses_the_truth(rule):
    counts = run(rule, 30_000, seed=1)
    assert (counts.get("missed", 0), counts["went back"]) == (0, 0)
    assert counts["queries"] > 200
    assert min(counts["lost"], counts["late"], counts["ignored"], counts["mishaps"]) > 0


def test_a_cache_that_takes_whatever_comes_would_be_found_out(monkeypatch):
    def trusting(self, refresh):
        self._last[refresh.key] = refresh.order
        self._held[refresh.key] = refresh
        return True

    monkeypatch.setattr(Cache, "receive", trusting)
    assert run("adaptive", 30_000, seed=1)["went back"] > 0


def test_intervals_that_are_too_narrow_would_be_found_out(monkeypatch):
    def bounds(self, now):
        middle = (self.low + self.high) / 2
        return middle, middle

    monkeypatch.setattr(Interval, "bounds", bounds)
    assert run("static:width=9", 5_000, seed=1)["missed"] > 0
