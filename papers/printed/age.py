"""AGE as the GDJ paper ran it: with the exact best age of each value, computed offline.

The tuples of a value have an age curve: how many matches they find on average by age k. The best
age is the k <= W at which matches over k are most. A tuple is held until that age; when room is
needed one that has passed it gives way, the one that passed it first, and if there is none the
newcomer is dropped. A value that never matches has no best age; its tuples count as past it.

Source: Bestavros et al., "GreedyDual-Join" (BUCS-TR-2004-028), sections 3.2 and 5.1. "For each
tuple" is read as for each value, as in its figure 2: an age for each single tuple would be
knowledge of its own future.
"""

from typing import NamedTuple

import numpy as np

from penstock.kernel import members as sets
from penstock.kernel import rng as rngs
from penstock.kernel.jit import jit
from penstock.kernel.members import is_older, make_choose
from penstock.kernel.pages import zeros
from penstock.kernel.policy import JOINING, REJECT, Policy, Setup
from penstock.policies.shared import discard_member
from penstock.simulate.traces import JoinTrace

EVERYTHING = 1 << 62  # tuples that are compared for an eviction: all


class BestAges(NamedTuple):
    """The best age of each value of a stream."""

    keys: np.ndarray  # int64[keys]: sorted
    age: np.ndarray  # int64[keys]; 0: it never matches


class PrintedAgeState(NamedTuple):
    """The held slots, and until when each of them is held."""

    members: sets.Members
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]
    keys: np.ndarray  # int64[keys]: of all streams
    age: np.ndarray  # int64[streams, keys]
    until: np.ndarray  # int64[capacity]


def exact_ages(trace: JoinTrace, within: int | None) -> list[BestAges]:
    """Return the best ages of each of two streams.

    >>> trace = JoinTrace([0, 1, 0, 1], [7, 7, 8, 7], [0, 2, 3, 5])
    >>> [best.age.tolist() for best in exact_ages(trace, 10)]
    [[2, 0], [0, 0]]
    """
    assert within is not None, "ages are compared up to the window"
    keys = np.unique(trace.key)
    where = [
        [trace.time[(trace.key == key) & (trace.side == stream)] for key in keys]
        for stream in range(2)
    ]
    return [
        BestAges(
            keys,
            np.array(
                [best_age(mine, theirs, within) for mine, theirs in zip(where[s], where[1 - s])],
                np.int64,
            ),
        )
        for s in range(2)
    ]


def best_age(mine: np.ndarray, theirs: np.ndarray, within: int) -> int:
    """Return the age at which tuples that came at `mine` have found most matches per time.

    >>> best_age(np.array([0]), np.array([1, 6]), 10), best_age(np.array([0]), np.array([6]), 5)
    (1, 0)
    """
    low = np.searchsorted(theirs, mine, "right")
    high = np.searchsorted(theirs, mine + within, "right")
    ages = [theirs[a:b] - time for time, a, b in zip(mine, low, high) if b > a]
    if not ages:
        return 0
    k, matches = np.unique(np.concatenate(ages), return_counts=True)
    return int(k[np.argmax(np.cumsum(matches) / k)])


def make_state(setup: Setup) -> PrintedAgeState:
    """Return an empty buffer; `setup.models` are what `exact_ages` returns."""
    assert setup.models is not None, "the ages are computed before"
    return PrintedAgeState(
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        np.ones(1, np.bool_),
        setup.models[0].keys,
        np.array([each.age for each in setup.models]),
        zeros(setup.capacity, np.int64),
    )


@jit
def on_insert(state, held, slot, now):
    place = min(np.searchsorted(state.keys, held.key[slot, 0]), len(state.keys) - 1)
    state.until[slot] = now + state.age[held.at[slot]["stream"], place]
    sets.add(state.members, slot)


@jit
def score(state, held, slot, now):
    return np.float64(state.until[slot])


_first_past = make_choose(score, scan=EVERYTHING, is_first=is_older)


@jit
def choose_victim(state, held, newcomer, now):
    slot = _first_past(state, held, newcomer, now)
    return slot if state.until[slot] <= now else np.int64(REJECT)


PRINTED_AGE = Policy(
    "printed_age",
    "AGE with the best age of each value, computed offline",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_remove=discard_member,
    problems=(JOINING,),
    plain=True,
)
