"""The lowest score, by looking at all or at a sample, against the twin's way of drawing."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import members as sets
from penstock.kernel import rng as rngs
from penstock.kernel.jit import jit, kernel
from penstock.kernel.members import NONE, SAMPLE, SCAN, Members, make_choose, make_lowest
from penstock.kernel.policy import REJECT
from penstock.kernel.slots import make_held
from tests.naive.rng import SplitMix

ALL, SOME = 5, 3  # up to five are all looked at, of more than five three are drawn
NEWCOMER = 10  # its slot; the held are in those below


class State(NamedTuple):
    members: Members
    rng: np.ndarray
    always: np.ndarray


@jit
def score(state, held, slot, now):
    """Worth that moves with time: `row` is the rate."""
    return held.at[slot]["time"] + now * held.at[slot]["row"]


lowest_of = make_lowest(score, scan=ALL, sample=SOME)
choose_victim = make_choose(score, scan=ALL, sample=SOME)


@kernel
def fill(state, slots):
    for i in range(len(slots)):
        sets.add(state.members, slots[i])


@kernel
def find(state, held, times, out, worth):
    for i in range(len(times)):
        out[i], worth[i] = lowest_of(state, held, times[i], NONE)


@kernel
def choose(state, held, times, out):
    for i in range(len(times)):
        out[i] = choose_victim(state, held, NEWCOMER, times[i])


def memory(tuples, seed, newcomer=(0, 0, 10), always=False):
    """Return a state and its tuples; members are added from the last slot to the first."""
    held = make_held(NEWCOMER + 1, 1)
    for slot, (time, rate, born) in [*enumerate(tuples), (NEWCOMER, newcomer)]:
        held.at[slot]["time"], held.at[slot]["row"], held.at[slot]["born"] = time, rate, born
    state = State(sets.make_members(NEWCOMER + 1), rngs.make_rng(seed), np.array([always]))
    fill(state, np.arange(len(tuples) - 1, -1, -1))
    return state, held


def run(tuples, seed, times):
    """Return the lowest at each time, and the dice afterwards."""
    state, held = memory(tuples, seed)
    out, worth = np.zeros(len(times), np.int64), np.zeros(len(times))
    find(state, held, np.array(times, np.int64), out, worth)
    return list(zip(out.tolist(), worth.tolist(), strict=True)), int(state.rng[0])


def victims(tuples, seed, times, newcomer, always=False):
    """Return the victim at each time, and the dice afterwards."""
    state, held = memory(tuples, seed, newcomer, always)
    out = np.zeros(len(times), np.int64)
    choose(state, held, np.array(times, np.int64), out)
    return out.tolist(), int(state.rng[0])


def expected(tuples, seed, times):
    rng, found = SplitMix(seed), []
    places = list(range(len(tuples) - 1, -1, -1))
    for now in times:
        looked_at = places
        if len(places) > ALL:
            looked_at = [places[rng.below(len(places))] for _ in range(SOME)]
        ranked = [
            (tuples[slot][0] + now * tuples[slot][1], tuples[slot][2], slot) for slot in looked_at
        ]
        lowest = min(ranked, default=(np.inf, 0, -1))
        found.append((lowest[2], lowest[0]))
    return found, rng.state


PAIRS = st.tuples(st.integers(-3, 3), st.integers(0, 2))  # time and rate
MEMORIES = {
    "pairs": st.lists(PAIRS, min_size=2, max_size=10),
    "births": st.permutations(range(10)),
    "times": st.lists(st.integers(-5, 5), min_size=2, max_size=8),
    "seed": st.integers(0, 2**64 - 1),
}


@given(**MEMORIES)
def test_the_lowest_of_all_or_of_a_sample(pairs, births, times, seed):
    tuples = [(time, rate, born) for (time, rate), born in zip(pairs, births)]
    assert run(tuples, seed, times) == expected(tuples, seed, times)


@given(**MEMORIES, newcomer=PAIRS, always=st.booleans())
def test_a_newcomer_below_the_lowest_is_refused(pairs, births, times, seed, newcomer, always):
    tuples = [(time, rate, born) for (time, rate), born in zip(pairs, births)]
    lowest, dice = expected(tuples, seed, times)
    chosen = [
        REJECT if not always and newcomer[0] + now * newcomer[1] < worth else slot
        for now, (slot, worth) in zip(times, lowest)
    ]
    assert victims(tuples, seed, times, (*newcomer, 10), always) == (chosen, dice)


@pytest.mark.parametrize(("worth", "victim"), [(1, REJECT), (2, 1), (3, 1)])
def test_at_an_equal_score_the_newcomer_comes_in(worth, victim):
    assert victims([(4, 0, 0), (2, 0, 1)], 0, [0], (worth, 0, 2))[0] == [victim]


def test_a_newcomer_that_always_comes_in_is_not_compared():
    assert victims([(4, 0, 0), (2, 0, 1)], 0, [0], (1, 0, 2), always=True)[0] == [1]


@pytest.mark.parametrize(("held", "draws"), [(ALL, 0), (ALL + 1, SOME)])
def test_dice_are_thrown_only_where_there_are_too_many(held, draws):
    rng = SplitMix(9)
    for _ in range(draws):
        rng.next()
    _, state = run([(0, 0, born) for born in range(held)], 9, [0])
    assert state == rng.state


def test_equal_scores_are_ordered_by_arrival_and_not_by_place():
    # all score 4 at time 2; the oldest is in the middle
    assert run([(4, 0, 5), (2, 1, 3), (0, 2, 6)], 0, [2])[0] == [(1, 4.0)]


def test_of_as_many_as_are_all_looked_at_the_last_place_is_too():
    assert run([(rank, 0, rank) for rank in range(ALL)], 0, [0])[0] == [(0, 0.0)]


def test_an_empty_list_has_no_lowest():
    assert run([], 0, [0])[0] == [(-1, np.inf)]


def test_a_large_memory_is_one_of_more_than_512():
    assert (SCAN, SAMPLE) == (512, 64)
