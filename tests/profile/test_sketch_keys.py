from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.profile.sketch import (
    ALL,
    BINS,
    GROUPS,
    LAST,
    LONGEST,
    KeySample,
    bin_of,
    fold,
    hashes,
    threshold_for,
)
from tests.naive import sampling as naive

keys_of = st.lists(st.integers(-5, 12), max_size=80)


def pushed(keys, cuts, threshold, most=10**6, seed=3):
    sample = KeySample(seed, most, threshold)
    for places in np.array_split(np.arange(len(keys)), cuts):
        key = np.array(keys, np.int64)[places]
        sample.push(key, places, np.zeros(len(places), np.int64))
    return sample


@given(keys=keys_of, cuts=st.integers(1, 4), rate=st.sampled_from([0.2, 0.5, 1.0]))
def test_as_its_twin(keys, cuts, rate):
    sample = pushed(keys, cuts, threshold_for(rate))

    def is_sampled(key):
        return int(hashes(np.array([key]), 3)[0]) <= threshold_for(rate)

    found = naive.sampled_distances(keys, is_sampled)
    depths = Counter(int(bin_of(round(1 + (depth - 1) / sample.rate))) for depth, _ in found)
    gaps = Counter(int(bin_of(gap)) for _, gap in found)
    for bins, wanted in ((sample.depth[0], depths), (sample.gap.sum(axis=0), gaps)):
        assert bins.sum() * sample.rate == pytest.approx(len(found))
        for number, count in wanted.items():
            assert bins[number] * sample.rate == pytest.approx(count)
    counts = Counter(key for key in keys if is_sampled(key))
    assert dict(zip(sample.key.tolist(), sample.count.tolist())) == counts


def test_each_group_is_a_sample_of_its_own():
    keys = np.random.default_rng(1).integers(0, 300, 3000)
    sample = pushed(keys, 3, ALL)
    group = dict(zip(sample.key.tolist(), sample.group(sample.key).tolist()))
    for number in range(GROUPS):
        found = naive.sampled_distances(keys.tolist(), lambda key, n=number: group[key] == n)
        bins = Counter(int(bin_of(1 + (depth - 1) * GROUPS)) for depth, _ in found)
        assert np.flatnonzero(sample.depth[1 + number]).tolist() == sorted(bins)
        assert sample.gap[number].sum() == pytest.approx(len(found))


def test_too_many_keys_lower_the_threshold_and_counts_stay_whole():
    keys = np.random.default_rng(1).integers(0, 5000, 20_000)
    sample = pushed(keys, 7, ALL, most=400)
    assert len(sample.key) <= 400
    assert sample.rate == pytest.approx(400 / 5000, rel=0.3)
    everything = Counter(keys.tolist())
    assert all(
        everything[k] == n for k, n in zip(sample.key.tolist(), sample.count.tolist(), strict=True)
    )
    held = set(sample.key.tolist())
    assert held == {k for k in everything if hashes(np.array([k]), 3)[0] <= sample.threshold}


def test_the_rate_is_the_part_of_keys_sampled():
    keys = np.arange(100_000)
    for seed in range(3):
        part = (hashes(keys, seed) <= np.uint64(threshold_for(0.1))).mean()
        assert part == pytest.approx(0.1, rel=0.05)
    assert threshold_for(1.0) == threshold_for(7.0) == ALL


@given(keys=st.lists(st.integers(0, 2), max_size=40), near=st.integers(1, 5), data=st.data())
def test_folding_as_its_twin(keys, near, data):
    steps = data.draw(st.lists(st.integers(1, 8), min_size=len(keys), max_size=len(keys)))
    places = np.cumsum(np.array(steps, np.int64))
    kept, left_out = fold(np.array(keys, np.int64), places, near)
    assert list(zip(places[kept].tolist(), left_out.tolist())) == naive.folded(
        keys, places.tolist(), near
    )


def test_what_is_folded_changes_no_long_distance():
    draw = np.random.default_rng(2)
    keys = np.where(draw.random(5000) < 0.7, 7, draw.integers(0, 200, 5000))
    places = np.arange(5000)
    whole = pushed(keys, 1, ALL)
    kept, folded = fold(keys, places, near=50)
    assert kept.sum() < 4000
    fewer = KeySample(3, 10**6)
    fewer.push(keys[kept], places[kept], folded)
    assert (fewer.count == whole.count).all()
    assert (fewer.depth[:, 2:] == whole.depth[:, 2:]).all()
    assert (fewer.gap[:, bin_of(50) + 1 :] == whole.gap[:, bin_of(50) + 1 :]).all()


@given(distance=st.integers(0, 2**60))
def test_a_distance_lies_in_its_bin(distance):
    number = int(bin_of(distance))
    assert 0 <= number < BINS
    first = int(LAST[number - 1]) + 1 if number else 0
    inside = min(distance, LONGEST)
    assert first <= inside <= LAST[number]
    assert LAST[number] - first <= max(0, first / 64)


def test_bins_leave_no_gap():
    assert LAST[0] == 0
    assert LAST[-1] == LONGEST
    assert bin_of(LAST).tolist() == list(range(BINS))
    assert bin_of(LAST[:-1] + 1).tolist() == list(range(1, BINS))
