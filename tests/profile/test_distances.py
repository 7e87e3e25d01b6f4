import numpy as np
import pytest
from hypothesis import given

from penstock.engine import Lookup
from penstock.profile.distances import Distances, Reuse, distances, reuse, stack_distances
from penstock.profile.ranked import permuted
from penstock.simulate.skewed import popularity
from penstock.simulate.workloads import GENERATED
from tests.naive import profile as naive
from tests.profile.streams import few_keys, independent, local


def counts(curve):
    """Return the number of rows at each distance."""
    return np.rint(np.diff(curve.part, prepend=0) * curve.total).astype(int)


def test_worked_by_hand():
    # 7 comes again after 3, 8 after 1; 9 never.
    found = distances(np.array([7, 8, 8, 7, 9]))
    assert counts(found).tolist() == [0, 1, 0, 1]
    assert found.within([0, 1, 2, 3, 99]).tolist() == [0, 0.2, 0.2, 0.4, 0.4]
    assert found.median == 1


@given(keys=few_keys)
def test_as_its_twin(keys):
    count = counts(distances(np.array(keys)))
    assert {k: c for k, c in enumerate(count.tolist()) if c} == naive.distances(keys)


def test_no_key_comes_again():
    found = distances(np.arange(5))
    assert found.median == 0
    assert found.within([1, 9]).tolist() == [0, 0]


def test_a_permutation_follows_equation_1():
    keys = local(100_000, keys=300)
    mixed = distances(permuted(keys, 1))
    share = np.bincount(keys) / len(keys)
    k = np.arange(1, 21)
    density = counts(mixed)[1:21] / len(keys)
    assert density == pytest.approx([naive.equation_1(share, each) for each in k], rel=0.08)


def test_theorem_1_zipf_1_gives_1_over_k():
    keys = 20_000
    stream = independent(500_000, keys, alpha=1)
    density = counts(distances(permuted(stream, 1))) / len(stream)
    whole = (1 / np.arange(1, keys + 1)).sum()
    for low in (20, 50, 100, 200, 500, 1000):
        k = np.arange(low, 2 * low)
        # d(k) = 1 / (k times the sum of 1 / r), where k is neither very small nor beyond the keys
        assert (density[k] * whole).sum() == pytest.approx((1 / k).sum(), rel=0.05), low
    near, far = (naive.equation_1(popularity(keys, 1), k) for k in (100, 1000))
    assert near / far == pytest.approx(10, rel=0.02)


def test_locality_shortens_distances():
    keys = local(20_000)
    assert distances(keys).within(5) > 0.55 > 0.2 > distances(permuted(keys, 1)).within(5)


def test_stack_distances_worked_by_hand():
    assert stack_distances(np.array([7, 8, 8, 7, 9, 7])).tolist() == [0, 0, 1, 2, 0, 2]


@given(keys=few_keys)
def test_stack_distances_as_its_twin(keys):
    assert stack_distances(np.array(keys)).tolist() == naive.stack_distances(keys)


@pytest.mark.parametrize(
    "keys",
    [
        local(20_000),
        GENERATED["zipf"].references(20_000, 1, domain=3000).key,
        np.arange(5000) % 100,
    ],
    ids=["local", "zipf", "loop"],
)
def test_the_curve_is_what_lru_hits(keys):
    found = reuse(keys)
    for size in (1, 2, 7, 50, 99, 100, 1000, 5000):
        hits = Lookup("lru", budget=size).push(keys).hit.sum()
        assert found.hit_ratio(size) * len(keys) == pytest.approx(hits, abs=1e-6), size


def test_the_size_for_a_part_of_the_hits():
    found = reuse(local(20_000))
    every = found.hit_ratio(10**9)
    for part in (0.1, 0.5, 0.9, 1.0):
        size = found.size_for(part)
        assert found.hit_ratio(size) >= part * every - 1e-12 > found.hit_ratio(size - 1)


def test_nothing_comes_again():
    found = reuse(np.arange(10))
    assert found.hit_ratio([0, 1, 100]).tolist() == [0, 0, 0]
    assert found.size_for(0.9) == 0


def test_a_curve_is_read_both_ways():
    at, part, margin = [0, 1, 4, 10], [0.0, 0.2, 0.5, 0.5], [0, 0.1, 0.2, 0.0]
    curve = (np.array(at), np.array(part), np.array(margin), 100)
    reuse = Reuse(*curve)
    assert reuse.hit_ratio([0, 1, 2, 99]).tolist() == pytest.approx([0, 0.2, 0.3, 0.5])
    assert reuse.error([0, 1, 7]).tolist() == pytest.approx([0, 0.1, 0.1])
    for part in (0.2, 0.4, 0.7, 1.0):
        size = reuse.size_for(part)
        assert reuse.hit_ratio(size) >= part * 0.5 - 1e-9 > reuse.hit_ratio(size - 1)
    assert Distances(*curve).median == 2


def test_curves_nothing_comes_again():
    curve = (np.array([0, 5]), np.zeros(2), np.zeros(2), 10)
    assert Distances(*curve).median == 0
    assert Reuse(*curve).size_for(0.9) == 0
