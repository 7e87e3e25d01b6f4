"""Dominance of expected benefits: as the twin has it, and the paper's policies follow from it."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.theory.benefit import caching, joining
from papers.theory.dominance import (
    comparable,
    dominated_subset,
    dominates,
    safe_to_discard,
    strongly_dominates,
)
from penstock.errors import BadInput
from penstock.models import Discrete, Now, Stationary, Trend, Walk
from tests.models.known import Known
from tests.naive import dominance as naive
from tests.naive.offline import next_references

GAIN = st.sampled_from([0.0, 0.0, 0.25, 0.5])  # sums are exact
ECB = st.lists(GAIN, min_size=3, max_size=3).map(lambda gains: np.cumsum(gains).tolist())
SLACK = 1e-12


@given(a=ECB, b=ECB)
def test_two_ecbs_compare_as_by_the_twin(a, b):
    assert dominates(a, b) == naive.dominates(a, b)
    assert strongly_dominates(a, b) == naive.strongly_dominates(a, b)
    assert comparable(a, b) == naive.comparable(a, b)


@given(ecbs=st.lists(ECB, min_size=1, max_size=6))
def test_all_pairs_at_once(ecbs):
    table = np.array(ecbs)
    every = dominates(table[:, None], table)
    assert every.tolist() == [[naive.dominates(a, b) for b in ecbs] for a in ecbs]


@given(ecbs=st.lists(ECB, min_size=1, max_size=6))
def test_a_dominated_subset_is_found_if_there_is_one(ecbs):
    for size in range(len(ecbs) + 1):
        found = dominated_subset(ecbs, size)
        exists = any(
            naive.is_dominated_subset(chosen, ecbs)
            for chosen in combinations(range(len(ecbs)), size)
        )
        assert (found is not None) == exists
        if found is not None:
            assert len(found) == size
            assert naive.is_dominated_subset(found.tolist(), ecbs)


@given(ecbs=st.lists(ECB, min_size=1, max_size=6), surplus=st.integers(0, 7))
def test_as_much_as_is_safe_is_discarded(ecbs, surplus):
    found = safe_to_discard(ecbs, surplus).tolist()
    assert naive.is_dominated_subset(found, ecbs)
    assert len(found) == len(naive.safe_to_discard(ecbs, surplus))


def test_figure_2():
    w, x, y, z = [9, 9, 9], [3, 4, 4], [1, 1, 1], [1, 3, 6]
    assert dominated_subset([w, x, y, z], 3).tolist() == [1, 2, 3]
    assert dominated_subset([w, x, y, z], 2) is None
    assert dominated_subset([w, x, y, z], 1).tolist() == [2]
    assert safe_to_discard([w, x, y, z], 2).tolist() == [2]
    assert safe_to_discard([w, x, z], 1).tolist() == []


def test_sums_that_are_rounded_to_be_equal_do_not_hide_which_is_above():
    low, high = [0.0, 1e16], [1.0, 1e16]
    assert sum(low) == sum(high)
    assert dominated_subset([high, low], 1).tolist() == [1]
    assert dominated_subset([low, high], 1).tolist() == [0]


def test_slack():
    a, b = [0.3, 0.5], [0.1 + 0.2, 0.5]  # b is above by rounding alone
    assert not dominates(a, b)
    assert dominates(a, b, slack=SLACK)
    assert comparable([0.3, 0.6], [0.1 + 0.2, 0.5], slack=SLACK)
    assert not comparable([0.3, 0.6], [0.1 + 0.2, 0.5])
    assert not strongly_dominates([0.1 + 0.2], [0.3], slack=SLACK)
    assert dominated_subset([[0.3, 0.6], [0.1 + 0.2, 0.5]], 1, slack=SLACK).tolist() == [1]


def test_what_it_refuses():
    for size in (-1, 3):
        with pytest.raises(BadInput, match=f"size must be from 0 to the number .* 2, got {size}"):
            dominated_subset([[1], [2]], size)
    with pytest.raises(BadInput, match="surplus must be at least 0, got -1"):
        safe_to_discard([[1], [2]], -1)
    with pytest.raises(BadInput, match="one ECB a row, got 1 dimension"):
        dominated_subset([1, 2], 1)


# What the paper derives from it


def ecbs_of(benefit, model, values, history, horizon):
    return benefit(model, np.array(values)[:, None], np.arange(1, horizon + 1), history)


def assert_goes_first(ecbs, rank):
    """However many must go, those of the lowest rank are a dominated subset, and one is found."""
    order = np.argsort(rank, kind="stable")
    for size in range(1, len(order)):
        gone, kept = order[:size], order[size:]
        assert dominates(ecbs[kept][:, None], ecbs[gone], slack=SLACK).all()
        found = dominated_subset(ecbs, size, slack=SLACK)
        assert ecbs[found].sum() == pytest.approx(ecbs[gone].sum())


@given(keys=st.lists(st.integers(0, 5), min_size=2, max_size=25), cut=st.floats(0, 0.99))
def test_lfd_follows_where_the_future_is_known(keys, cut):
    # 7.1: at any time, of the values seen so far, the one referenced last can go
    now = int(cut * len(keys))
    seen = sorted(set(keys[: now + 1]))
    ecbs = ecbs_of(caching, Known(keys), seen, keys[: now + 1], len(keys))
    last_seen = [max(i for i in range(now + 1) if keys[i] == v) for v in seen]
    following = [next_references(keys)[i] for i in last_seen]
    for size in range(1, len(seen) + 1):
        gone = dominated_subset(ecbs, size)
        latest = sorted(following)[-size:]
        assert sorted(following[i] for i in gone) == latest


@given(chances=st.lists(st.integers(1, 9), min_size=2, max_size=8), size=st.integers(1, 7))
def test_a0_and_prob_follow_where_the_streams_are_stationary(chances, size):
    # 7.2: the least likely goes, from a cache as from a join
    values, p = np.arange(len(chances)), np.array(chances) / sum(chances)
    for benefit in (caching, joining):
        ecbs = ecbs_of(benefit, Stationary(values, p), values, [], 50)
        gone = dominated_subset(ecbs, min(size, len(values)), slack=SLACK)
        assert sorted(p[gone]) == sorted(p)[: len(gone)]


@pytest.mark.parametrize("slope", [1, 0.4, 3])
def test_the_smallest_is_evicted_where_a_trend_has_uniform_noise(slope):
    # 7.3, caching: any trend that does not fall
    width, now = 6, 20
    model = Trend(slope, 0, Discrete.uniform(width))
    here = int(model.centre(now))
    values = np.random.default_rng(1).permutation(np.arange(here - 9, here + width + 1))
    ecbs = ecbs_of(caching, model, values, Now(now), 40)
    assert_goes_first(ecbs, values)


def test_joins_with_trends_are_not_decided_by_dominance_alone():
    # 7.3, joining: a tuple ahead of the window gains nothing now and much later
    model = Trend(1, 0, Discrete.uniform(3))
    soon, later = ecbs_of(joining, model, [-1, 5], Now(0), 20)
    assert not comparable(soon, later)


@pytest.mark.parametrize("benefit", [joining, caching])
@pytest.mark.parametrize("step", [Discrete.rounded(0, 1), Discrete(-1, [0.25, 0.5, 0.25])])
def test_the_farthest_is_evicted_where_a_walk_is_symmetric(benefit, step):
    # 7.5
    here = 4
    values = np.random.default_rng(2).permutation(np.arange(-6, 13))
    ecbs = ecbs_of(benefit, Walk(step), values, Now(7, here), 60)
    assert_goes_first(ecbs, -np.abs(values - here))


def test_the_nearest_may_be_evicted_where_steps_have_two_peaks():
    # symmetric is not enough: a walk that never stays comes back to 0 later than to 1
    here, next_to_it = ecbs_of(joining, Walk(Discrete(-1, [0.5, 0, 0.5])), [0, 1], [0], 40)
    assert dominates(next_to_it, here, slack=SLACK)
    assert not dominates(here, next_to_it, slack=SLACK)


def test_a_walk_that_drifts_needs_more_than_dominance():
    # it may step back to -1 at once and hardly later; 10 is on its way
    behind, ahead = ecbs_of(joining, Walk.normal(drift=2, sd=1), [-1, 10], [0], 30)
    assert not comparable(behind, ahead, slack=SLACK)
