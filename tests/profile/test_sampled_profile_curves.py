import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.numeric import Estimate
from penstock.profile.distances import DistanceCurve, distances, reuse
from penstock.profile.popularity import fit_zipf
from penstock.profile.ranked import link, permuted, rank_keys
from penstock.profile.sampled_profile import _apart, joined, random_order, short_depths, short_gaps
from penstock.profile.sketch import BINS, LAST, binned
from tests.naive import sampling as naive
from tests.profile.streams import local


def stretches(*parts):
    key = np.concatenate([np.array(part, np.int64) for part in parts])
    starts = np.cumsum([0] + [len(part) for part in parts])
    keys = np.ones(key.max() + 1)
    return link(key, starts, keys, keys, 1.0)


@given(st.lists(st.integers(0, 6), min_size=20, max_size=60), st.integers(1, 9))
def test_short_gaps_are_sure(keys, room):
    count, told = short_gaps(stretches(keys, keys[::-1]), room)
    for run, part in enumerate((keys, keys[::-1])):
        assert told[run] == len(keys) - room
        for k in range(1, room + 1):
            near = [part[i] in part[i - k : i] for i in range(room, len(part))]
            assert count[run, : k + 1].sum() == sum(near)


@given(st.lists(st.integers(0, 9), min_size=20, max_size=60))
def test_short_stack_distances_are_the_hits_of_a_warm_cache(keys):
    count, told = short_depths(stretches(keys, keys[::-1]), rate=1.0)
    room = count.shape[1] - 1
    for run, part in enumerate((keys, keys[::-1])):
        first = next(i for i in range(len(part) + 1) if len(set(part[:i])) >= room)
        assert told[run] == len(part) - first >= len(part) // 2 - 1
        for size in range(1, room + 1):
            assert count[run, : size + 1].sum() == naive.hits(part, size, first)


def test_a_curve_of_everything_is_exact():
    """Every tuple in the runs, every key in the sample: the curve is the one that was counted."""
    keys = rank_keys(local(20_000)).rank
    true = distances(keys)
    count = np.rint(np.diff(true.part, prepend=0) * len(keys)).astype(int)
    bins = binned(np.repeat(true.at, count))
    groups = np.stack([bins / 2, bins / 2])
    runs = stretches(*np.split(keys, 20))
    end = Estimate(1 - len(np.unique(keys)) / len(keys), 0.0)
    short = short_gaps(runs, 100)
    known = {"rows_known": 1.0, "keys_known": 1.0}
    curve = joined(DistanceCurve, short, bins, groups, end, len(keys), **known)
    far = LAST[(LAST > 100) & (len(true.part) > LAST)]
    assert not curve.margin.any()
    # Between both parts the runs, which lack what came before them, decide.
    assert curve.value(far) == pytest.approx(true.within(far), abs=0.02)
    assert curve.part[-1] == pytest.approx(end.value)
    assert (np.diff(curve.part) >= -1e-12).all()


def test_where_no_long_distance_was_sampled_the_error_says_so():
    nothing = np.zeros(BINS)
    count, told = np.array([[0.0, 30.0], [0.0, 34.0]]), np.array([100.0, 100.0])
    end = Estimate(0.9, 0.0)
    groups = np.stack([nothing] * 2)
    curve = joined(DistanceCurve, (count, told), nothing, groups, end, 999, 0.1, 0.1)
    assert curve.at.tolist() == [0, 1]
    assert curve.margin[-1] > 0.1


@pytest.mark.parametrize(("total", "count", "k"), [(12, 2, 3), (12, 5, 2), (11, 3, 8), (10, 4, 7)])
def test_gaps_in_random_order(total, count, k):
    true = naive.apart_in_random_order(total, count, k)
    assert _apart(total, np.array([count]), k)[0] == pytest.approx(true, abs=0.02)


def test_random_order_is_that_of_a_permutation():
    keys = rank_keys(local(100_000, keys=3000)).rank
    _, count = np.unique(keys, return_counts=True)
    curve = random_order(fit_zipf(np.sort(count)[::-1]))
    mixed = distances(permuted(keys, 1))
    k = np.array([1, 3, 10, 50, 300, 2000, 9000, 40_000, 99_999])
    assert curve.value(k) == pytest.approx(mixed.within(k), abs=0.004)
    assert curve.part[-1] == pytest.approx(1 - len(count) / len(keys))


def test_a_warm_cache_agrees_with_the_whole_stream():
    keys = rank_keys(local(60_000)).rank
    count, told = short_depths(stretches(*np.split(keys, 6)), rate=1.0)
    sizes = np.array([1, 5, 50, count.shape[1] - 1])
    found = np.cumsum(count.sum(axis=0))[sizes] / told.sum()
    assert found == pytest.approx(reuse(keys).hit_ratio(sizes), abs=0.02)
