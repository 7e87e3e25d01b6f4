import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import BadInput
from penstock.profile.bursts import BinnedTimes, bins_of, bursts
from penstock.profile.sketch import survey


def test_a_poisson_process_has_an_index_of_1():
    times = np.cumsum(np.random.default_rng(1).exponential(1, 200_000))
    found = bursts(times)
    assert [round(scale.mean) for scale in found.scales] == [10, 100, 1000, 10_000]
    assert found.rate == pytest.approx(1, rel=0.01)
    for scale in found.scales[:3]:
        assert scale.dispersion == pytest.approx(1, abs=0.25)
    assert found.scales[0].peak > found.scales[2].peak > 1


def test_bursts_show_and_grow_with_the_window():
    random = np.random.default_rng(1)
    rate = np.where(random.random(2000) < 0.1, 500, 10)
    times = np.repeat(np.arange(2000) * 100, random.poisson(rate))
    found = bursts(times)
    assert found.scales[-1].dispersion > 50
    assert found.scales[0].peak > 5


def test_worked_by_hand():
    # Ticks 0 .. 39 with 10 tuples each, but 30 at tick 7: 420 tuples. A window is one tick, the
    # least that can hold 10 in the mean, and the span is 39 ticks and a bit.
    times = np.repeat(np.arange(40), [30 if tick == 7 else 10 for tick in range(40)])
    scale = bursts(times).scales[0]
    assert (scale.window, scale.windows) == (1, 39)
    mean = 410 / 39
    assert scale.mean == pytest.approx(mean)
    assert scale.dispersion == pytest.approx((38 * 10**2 + 30**2) / 39 / mean - mean)
    assert scale.peak == pytest.approx(30 / mean)


def test_a_coarse_clock_is_no_burst():
    # 7 tuples at each tick of 60: windows are whole ticks, so all are alike.
    found = bursts(np.repeat(np.arange(0, 60_000, 60), 7))
    assert all(scale.window % 60 == 0 for scale in found.scales)
    assert [scale.dispersion for scale in found.scales] == pytest.approx([0] * len(found.scales))


def test_timestamps_and_extremes():
    stamps = np.datetime64("2026-01-01T00:00", "s") + np.arange(1000)
    assert bursts(stamps).rate == pytest.approx(1)
    for unit, rate in (("us", 1e6), ("m", 1 / 60), ("D", 1 / 86_400)):
        found = bursts(np.datetime64("2026-01-01", unit) + np.arange(1000))
        assert found.seconds
        assert (found.rate, found.span) == pytest.approx((rate, 999 / rate))
        assert found.scales[0].window == pytest.approx(10 / rate)
    far = np.linspace(-(2**62), 2**62, 1000).astype(np.int64)
    assert bursts(far).span == pytest.approx(2.0**63)


def test_the_course_shows_when_rows_came():
    # Twice as many in the second half; 3,000 rows, so a step of 200 has 10 or 20.
    times = np.concatenate([np.arange(0, 1000, 1), np.arange(1000, 2000, 0.5)])
    for found in (bursts(times), filled(times, expected=True).bursts()):
        assert found.step * len(found.course) == pytest.approx(2000, rel=0.02)
        assert np.sum(found.course) * found.step == pytest.approx(3000, rel=0.02)
        middle = len(found.course) // 2
        assert np.mean(found.course[: middle - 1]) == pytest.approx(1, rel=0.05)
        assert np.mean(found.course[middle + 1 :]) == pytest.approx(2, rel=0.05)


def test_a_short_stream_has_a_rate_and_no_windows():
    found = bursts([0, 5])
    assert (found.span, found.scales) == (5, ())


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ([], "must span some time"),
        ([3], "must span some time"),
        ([3, 3, 3], "must span some time to show a rate, got 3 that are all the same"),
        ([1, 3, 2, 4], "must not go back, got 2 after 3 at row 3"),
        ([1.0, np.nan, 2.0], "must not go back, got nan after 1.0 at row 2"),
        (["a", "b"], "must be one column of numbers or timestamps"),
    ],
)
def test_refuses(times, said):
    with pytest.raises(BadInput, match=said):
        bursts(times)


def filled(times, cuts=1, most=1 << 20, expected=False):
    clock = BinnedTimes(most)
    for part in np.array_split(times, cuts):
        seen = survey(part, 0)
        if expected:
            clock.start(seen.earliest, seen.latest, seen.tick, seen.rows)
        clock.make_room(seen.earliest, seen.latest, seen.tick)
        clock.push(*bins_of(part, clock.origin, clock.width))
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
    assert BinnedTimes(8).bursts() is None
