"""CLOCK: worked cases, the twin for many scores and rates, bad parameters."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from penstock.kernel.jit import kernel
from penstock.kernel.policy import Setup
from penstock.policies import clock
from tests.compare import assert_same_join, assert_same_lookup, streams

LINEAR = st.fixed_dictionaries(
    {},
    optional={
        "w0": st.sampled_from([0.0, 0.5, 1.0, 3.0]),
        "tau": st.sampled_from([-2.0, -0.5, 0.0, 0.5, 2.0, 9.0]),
        "hand": st.sampled_from(["stays", "moves"]),
    },
)
SHRINKING = st.fixed_dictionaries(
    {"rho": st.sampled_from([0.0, 0.1, 0.5, 0.9])},
    optional={
        "w0": st.sampled_from([0.0, 1.0, 5.0]),
        "tau": st.sampled_from([1e-6, 0.3, 1.0, 4.0]),
        "hand": st.sampled_from(["stays", "moves"]),
    },
)
PARAMS = st.one_of(LINEAR, SHRINKING)


@pytest.mark.parametrize("policy", ["clock:hand=moves", "clock:w0=1,hand=moves"])
def test_a_hit_spares_once(policy):
    # from 0: 1 has 1 and 2 has 0; 3 lowers 1 to 0, passes it over, and 2 falls below 0 and is
    # evicted; 4 finds 1 with nothing left. From 1 the hand goes round twice for 3, with the same
    # end.
    cache = Lookup(policy, 2)
    assert cache.push([1, 2, 1, 3]).hit.tolist() == [False, False, True, False]
    assert cache.resident.tolist() == [1, 3]
    cache.push([4])
    assert cache.resident.tolist() == [3, 4]


def test_the_newcomer_takes_its_place_behind_the_hand():
    # 1 2 3 have one point each: a lap takes it, and the second lap takes 1 at its start. 4 stands
    # behind the hand, so 2 and 3 are looked at before it, and have nothing: they are evicted for 5
    # and 6.
    cache = Lookup("clock:w0=1", 3)
    cache.push([1, 2, 3, 4, 5, 6])
    assert cache.resident.tolist() == [4, 5, 6]


def test_where_the_hand_stays_the_newcomer_is_looked_at_first():
    # As above 4 takes the place of 1. The hand is still there: 4 falls to 0 and is passed over, 2
    # is evicted for 5; which falls to 0, and 3 is evicted for 6. Without a score 5 is evicted for 6
    # at once.
    cache = Lookup("clock:w0=1,hand=stays", 3)
    cache.push([1, 2, 3, 4, 5, 6])
    assert cache.resident.tolist() == [4, 5, 6]
    cache = Lookup("clock:w0=0,hand=stays", 3)
    cache.push([1, 2, 3, 4, 5, 6])
    assert cache.resident.tolist() == [2, 3, 6]


def test_where_the_hand_stays_a_match_in_time_saves_the_newcomer():
    # 3 takes the place of 1 and is hit; for 4 it is passed over, and 2 is evicted. 5 takes the
    # place of 4, at which the hand stands.
    cache = Lookup("clock:w0=0,hand=stays", 2)
    cache.push([1, 2, 3, 3, 4])
    assert cache.resident.tolist() == [3, 4]
    cache.push([5])
    assert cache.resident.tolist() == [3, 5]


def test_where_there_is_room_the_newcomer_stands_behind_the_hand():
    # Rows 0 and 1 expire; rows 3 and 4 come into free places, behind row 2 at which the hand stands
    join = Join("clock:w0=0,hand=stays", 3)
    join.push(side=[0, 0, 0], key=[1, 2, 3], time=[0, 1, 2], end=[5, 5, 99])
    join.push(side=[0, 0], key=[4, 5], time=[6, 7], end=[99, 99])
    join.push(side=[0], key=[6], time=[8], end=[99])
    assert join.held_rows.tolist() == [3, 4, 5]


@pytest.mark.parametrize(
    "options", [{"w0": 1e6}, {"tau": -1e6}, {"rho": 0.999999}, {"rho": 0.5, "tau": 1e-300}]
)
@pytest.mark.parametrize("hand", ["stays", "moves"])
def test_a_victim_is_found_in_five_steps_a_tuple(options, hand):
    size = 50
    state = clock.make_state(Setup(size), hand=hand, **options)
    for slot in range(size):
        enter(state, slot)
    state.weight[:] += np.arange(size) * 1000.0 + 1000.0
    slot, steps = hand_to_victim(state)
    assert slot == 0  # the least score, and the hand comes to it first
    assert size < steps <= 5 * size


@kernel
def enter(state, slot):
    clock.on_insert(state, 0, slot, 0)


@kernel
def hand_to_victim(state):
    return clock.turn(state)


def test_points_can_be_saved_up():
    # row 0 is matched by rows 1 and 2 and has 2 points, from 0; row 1 has none and is evicted for
    # row 2. Row 3 lowers row 0 to 0 (it went from 2 to 1 for row 2), passes, and takes row 2; row 4
    # finds row 0 with nothing left.
    join = Join("clock", 2, within=100)
    join.push(side=[0, 1, 1, 0], key=[7, 7, 7, 8], time=range(4))
    assert join.held_rows.tolist() == [0, 3]
    join.push(side=[0], key=[9], time=[4])
    assert join.held_rows.tolist() == [3, 4]


def test_with_a_rate_scores_shrink():
    # 1 has 2 and 2 has 1; in turn they fall to 1, 0.5, 0.5 and 0.25, which is below 0.3: 2 is
    # evicted, and 1 keeps 0.5. For 4 it falls to 0.25 and is evicted, before 3 is looked at.
    cache = Lookup("clock:w0=1,rho=0.5,tau=0.3", 2)
    cache.push([1, 2, 1, 3])
    assert cache.resident.tolist() == [1, 3]
    cache.push([4])
    assert cache.resident.tolist() == [3, 4]


def test_the_floor_is_reached_from_above():
    # tau = 0: a score of exactly 0 is spared. With tau = 1 the score of 1 falls to 0 and is
    # evicted.
    kept, gone = Lookup("clock:w0=1", 2), Lookup("clock:w0=1,tau=1", 2)
    for cache in (kept, gone):
        cache.push([1, 2, 2, 3])
    # 1 1->0, 2 2->1, 1 0->-1: 1 is evicted either way; what differs is what 2 has left: 1 or 2
    for cache in (kept, gone):
        cache.push([4])
    # kept: 2 1->0 is spared, 3 1->0 too, then 2 is evicted. gone: 2 2->1 is spared, 3 1->0 is
    # evicted.
    assert kept.resident.tolist() == [3, 4]
    assert gone.resident.tolist() == [2, 4]


@given(rows=streams(), budget=st.integers(1, 8), params=PARAMS)
def test_joins_as_its_twin(rows, budget, params):
    assert_same_join("clock", [rows], budget, params=params, within=15)


@given(
    keys=st.lists(st.integers(0, 9), min_size=40, max_size=150),
    budget=st.integers(1, 8),
    params=PARAMS,
)
def test_caches_as_its_twin(keys, budget, params):
    assert_same_lookup("clock", [keys], budget, params=params)


@given(rows=streams(most=60), budget=st.integers(1, 6))
def test_where_nothing_is_earned_or_saved_it_is_fifo(rows, budget):
    # all scores are below so high a threshold at once
    clock = assert_same_join("clock", [rows], budget, params={"tau": 1000.0}, within=15)
    fifo = assert_same_join("fifo", [rows], budget, within=15)
    assert clock.held_rows.tolist() == fifo.held_rows.tolist()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("clock:w0=-0.5", "parameter 'w0' of policy 'clock' must be from 0 to 1e+06, got -0.5"),
        ("clock:w0=nan", "parameter 'w0' of policy 'clock' must be from 0 to 1e+06, got nan"),
        ("clock:w0=inf", "parameter 'w0' of policy 'clock' must be from 0 to 1e+06, got inf"),
        (
            "clock:w0=1000001",
            "parameter 'w0' of policy 'clock' must be from 0 to 1e+06, got 1000001.0",
        ),
        (
            "clock:w0=one",
            "parameter 'w0' of policy 'clock' must be of type float or auto, got 'one'",
        ),
        (
            "clock:rho=auto,tau=0",
            "parameter 'tau' of policy 'clock' must be from 1e-300 to 1e+06, got 0.0",
        ),
        (
            "clock:rho=-0.1",
            "parameter 'rho' of policy 'clock' must be from 0 to 0.999999, got -0.1",
        ),
        (
            "clock:hand=left",
            "parameter 'hand' of policy 'clock' must be one of stays, moves, got 'left'",
        ),
        ("clock:rho=1", "parameter 'rho' of policy 'clock' must be from 0 to 0.999999, got 1.0"),
        ("clock:rho=nan", "parameter 'rho' of policy 'clock' must be from 0 to 0.999999, got nan"),
        (
            "clock:tau=nan",
            "parameter 'tau' of policy 'clock' must be from -1e+06 to 1e+06, got nan",
        ),
        (
            "clock:tau=-1000001",
            "parameter 'tau' of policy 'clock' must be from -1e+06 to 1e+06, got -1000001.0",
        ),
        (
            "clock:tau=1000001",
            "parameter 'tau' of policy 'clock' must be from -1e+06 to 1e+06, got 1000001.0",
        ),
        (
            "clock:rho=0.5,tau=0",
            "parameter 'tau' of policy 'clock' must be from 1e-300 to 1e+06, got 0.0",
        ),
        (
            "clock:rho=0.5,tau=inf",
            "parameter 'tau' of policy 'clock' must be from 1e-300 to 1e+06, got inf",
        ),
    ],
)
def test_bad_parameters(text, sentence):
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        Join(text, 4)


@pytest.mark.parametrize(
    "text",
    [
        "clock:w0=0",
        "clock:w0=1000",
        "clock:rho=0",
        "clock:rho=0.999999,tau=0.99",
        "clock:tau=-1000",
        "clock:tau=1000000",
        "clock:rho=0.5,tau=1e-300",
    ],
)
def test_the_hand_comes_to_an_end_and_takes_the_oldest_where_none_was_hit(text):
    cache = Lookup(text, 2)
    cache.push([1, 2, 3, 4])
    assert cache.resident.tolist() == [3, 4]


@pytest.mark.parametrize(
    "text",
    ["clock:w0=1000000", "clock:tau=-1000000", "clock:rho=0.999999", "clock:rho=0.1,tau=1000000"],
)
def test_the_outermost_bounds_are_allowed(text):
    assert str(Join(text, 4).chosen) == text.replace("1000000", "1000000.0")


def test_the_hand_that_finds_more_is_found():
    # A loop over more keys than there is room for: a hand that moves evicts each of them before it
    # comes again; one that stays evicts the last one only.
    cache = Lookup("clock:hand=auto", 20)
    cache.push(np.tile(np.arange(30), 150))
    assert str(cache.in_force) == "clock:hand=stays"
