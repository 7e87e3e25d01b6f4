import numpy as np
import pytest

from penstock import BadInput
from penstock.profiling import bursts


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
    far = np.linspace(-(2**62), 2**62, 1000).astype(np.int64)
    assert bursts(far).span == pytest.approx(2.0**63)


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
