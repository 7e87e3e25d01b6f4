"""A few looks for each eviction, against the twin: the same victims, whatever the scores do."""

from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import shortlist as sets
from penstock.kernel.jit import jit, kernel
from penstock.kernel.policy import REJECT
from penstock.kernel.shortlist import Shortlist, make_choose
from penstock.kernel.slots import make_held
from tests.naive.policies.shortlisted import Shortlisted


class State(NamedTuple):
    shortlist: Shortlist
    always: np.ndarray


@jit
def score(state, held, slot, now):
    """Worth that moves with time, up and down: `row` is how fast."""
    return np.float64((held.at[slot]["time"] + now * held.at[slot]["row"]) % 11)


@jit
def announce(state, slot):
    """Nothing has to be fetched."""


choose_victim = make_choose(score, announce)


@kernel
def drive(state, held, budget, out):
    for slot in range(len(out)):
        out[slot] = -2  # there was room
        if state.shortlist.members.size[0] == budget:
            out[slot] = choose_victim(state, held, slot, slot)
            if out[slot] == REJECT:
                continue
            sets.discard(state.shortlist, out[slot])
        sets.add(state.shortlist, slot)


class Twin(Shortlisted):
    def __init__(self, tuples, admit):
        super().__init__(0, None, (), admit)
        self.tuples = tuples

    def score(self, t, now):
        time, rate = self.tuples[t]
        return (time + now * rate) % 11

    offer = score


def run(tuples, budget, always=False):
    """Return the victim of each arrival; slots are numbers of arrivals here."""
    held = make_held(len(tuples), 1)
    for slot, (time, rate) in enumerate(tuples):
        held.at[slot]["time"], held.at[slot]["row"], held.at[slot]["born"] = time, rate, slot
    state = State(sets.make_shortlist(len(tuples)), np.array([always]))
    out = np.zeros(len(tuples), np.int64)
    drive(state, held, budget, out)
    return out.tolist()


def expected(tuples, budget, always):
    twin, out = Twin(tuples, "always" if always else "compete"), []
    for t in range(len(tuples)):
        victim = -2
        if len(twin.list) == budget:
            victim = twin.victim(t, t)
            if victim is None:
                out.append(REJECT)
                continue
            twin.remove(victim, t)
        out.append(victim)
        twin.insert(t, t)
    return out


@given(
    tuples=st.lists(st.tuples(st.integers(0, 10), st.integers(0, 2)), max_size=80),
    budget=st.integers(1, 24),
    always=st.booleans(),
)
def test_victims_are_those_of_the_twin(tuples, budget, always):
    assert run(tuples, budget, always) == expected(tuples, budget, always)


def test_of_a_few_the_lowest_is_evicted_and_a_lower_newcomer_rejected():
    # worths 5 3 4 that stay; 6 displaces 3, then 2 is refused, and 4 displaces the older 4
    tuples = [(5, 0), (3, 0), (4, 0), (6, 0), (2, 0), (4, 0)]
    assert run(tuples, 3) == [-2, -2, -2, 1, REJECT, 2]


def test_worths_that_stay_are_found_in_a_large_memory():
    # 40 members of worths 10 9 8 7 6 in turns, then newcomers of worth 10: the hand passes over 8
    # members for each, so among those seen so far a 6 is always found; the first ones by hand are
    # the last that came
    tuples = [(10 - i % 5, 0) for i in range(40)] + [(10, 0)] * 8
    assert {tuples[victim][0] for victim in run(tuples, 40)[40:]} == {6}
