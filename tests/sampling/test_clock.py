import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.profiling import bursts
from penstock.sampling import survey
from penstock.sampling.clock import Clock


def filled(times, cuts=1, most=1 << 20, expected=False):
    clock = Clock(most)
    for part in np.array_split(times, cuts):
        seen = survey(part, 0)
        if expected:
            clock.start(seen.earliest, seen.latest, seen.tick, seen.rows)
        clock.make_room(seen.earliest, seen.latest, seen.tick)
        clock.push(*clock.bins_of(part))
    return clock


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_bursts_are_those_of_all_times(kind):
    times = np.cumsum(np.random.default_rng(1).integers(0, 7, 50_000)).astype(kind)
    clock = filled(times, expected=True)
    found, true = clock.bursts(), bursts(times)
    assert found.rate == pytest.approx(true.rate)
    assert found.span == true.span
    assert found.scales[0] == pytest.approx(true.scales[0])
    for mine, theirs in zip(found.scales, true.scales, strict=True):
        assert mine.window == pytest.approx(theirs.window, rel=0.05)
        assert mine.dispersion == pytest.approx(theirs.dispersion, rel=0.2)


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=60), st.integers(1, 5))
def test_bins_count_every_time_whatever_the_order(times, cuts):
    times = np.array(times)
    clock = filled(times, min(cuts, len(times)), most=16)
    assert clock.count.sum() == len(times)
    assert len(clock.bin) <= 18
    place, count = np.unique((times - clock.origin) // clock.width, return_counts=True)
    # Bins that were widened by doubling are those that would have been wide from the start.
    assert (clock.bin.tolist(), clock.count.tolist()) == (place.tolist(), count.tolist())


def test_a_clock_that_stands_still_tells_nothing():
    assert filled(np.full(10, 7)).bursts() is None
    assert Clock(8).bursts() is None
