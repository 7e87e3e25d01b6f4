"""The records of the held tuples: where they lie, what is a view of them, and how they grow."""

import numpy as np
import pytest

from penstock.kernel.slots import LINE, chains, grow_held, make_held


def test_a_tuple_of_the_plain_join_is_one_cache_line():
    held = make_held(7, 1)
    assert held.at.itemsize == LINE
    assert held.at.ctypes.data % LINE == 0
    assert len(held.at) == 7 + 1  # the last is the waiting room


def test_keys_and_chains_are_views_of_the_records():
    held = make_held(3, 2, legs=2)
    links = chains(held)
    assert held.key.shape == (4, 2)
    assert links.shape == (4, 2)
    held.at["key"][1] = 7, 8
    held.key[2, 1] = 9
    assert held.key[1].tolist() == [7, 8]
    assert held.at["key"][2].tolist() == [0, 9]
    held.at["chain"][1] = range(6)
    assert links[1].tolist() == [(0, 1, 2), (3, 4, 5)]
    links[2, 1] = 6, 7, 8
    assert held.at["chain"][2].tolist() == [0, 0, 0, 6, 7, 8]


@pytest.mark.parametrize("sized", [False, True])
def test_grown_they_say_the_same(sized):
    held = make_held(3, 2, legs=2, sized=sized)
    random = np.random.default_rng(1)
    for name in held.at.dtype.names:
        held.at[name] = random.integers(0, 100, held.at[name].shape)
    assert ("size" in held.at.dtype.names) == sized
    larger = grow_held(held, 10)
    assert larger.at.dtype == held.at.dtype
    assert len(larger.at) == 11
    for name in held.at.dtype.names:
        assert larger.at[name][:4].tolist() == held.at[name].tolist()
    assert larger.key[:4].tolist() == held.key.tolist()
    larger.at["key"][2] = 101, 102
    assert larger.key[2].tolist() == [101, 102]
    assert held.key.max() < 100
