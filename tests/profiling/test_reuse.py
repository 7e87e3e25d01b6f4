import numpy as np
import pytest
from hypothesis import given

from penstock.engines import Lookup
from penstock.profiling import reuse, stack_distances
from penstock.simulate import GENERATED
from tests.naive import profiling as naive
from tests.profiling.streams import few_keys, local


def test_worked_by_hand():
    assert stack_distances(np.array([7, 8, 8, 7, 9, 7])).tolist() == [0, 0, 1, 2, 0, 2]


@given(keys=few_keys)
def test_as_its_twin(keys):
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
        assert found.hits(size) == hits, size


def test_the_size_for_a_part_of_the_hits():
    found = reuse(local(20_000))
    every = found.hits(10**9)
    for part in (0.1, 0.5, 0.9, 1.0):
        size = found.size_for(part)
        assert found.hits(size) >= part * every > found.hits(size - 1)


def test_nothing_comes_again():
    found = reuse(np.arange(10))
    assert found.hit_ratio([0, 1, 100]).tolist() == [0, 0, 0]
    assert found.size_for(0.9) == 0
