"""PROB, LIFE and LFU: the tuple whose key came least often is evicted.

- PROB evicts the tuple that is least likely to match. The chance is estimated by how often the key
  came on the other side so far; with several sides the counts multiply, over several joins they add
  up. The best there is for stationary, independent streams (HEEB paper, section 7.2), and misled by
  any change of popularity.
- LIFE evicts the tuple with the lowest product of that chance and the time left in its window. All
  scores fall with time, each at its own rate, so no order of them lasts: a memory of up to 512
  tuples is scanned, of a larger one 64 random tuples are compared.
- LFU evicts the tuple whose key was referenced least often; among equals the least recently used.
  Perfect LFU counts references also while a key is not held; in-cache LFU (`perfect=no`) counts
  from the time when the tuple was admitted.

Sources: Das, Gehrke, Riedewald, "Approximate join processing over data streams" (SIGMOD 2003) for
PROB and LIFE, with counts of every value as in the GDJ paper, section 5.1; the HEEB paper, section
8, for LFU, which uses the perfect form for caching.
Departures: keys are counted in a table of bounded size, which forgets rare ones
(`kernel/keycounts.py`). PROB updates a score when its tuple matches, which is when its count
changes; after a late row of a key outside the window it may be one behind.
"""

from typing import NamedTuple

import numpy as np

from ..kernel import heap as heaps
from ..kernel import keycounts
from ..kernel import members as sets
from ..kernel import rng as rngs
from ..kernel.jit import jit
from ..kernel.members import make_choose
from ..kernel.policy import CACHING, JOINING, REJECT, Policy, Setup, Trial
from .shared import ALWAYS, COMPETE, WITH_MEMBERS, admits_always, count_keys


@jit
def drop(state, held, slot, now):
    heaps.drop(state.heap, slot)


def make_choose_lowest(score):
    """Return the hook `choose_victim` of states with `heap` and `always`.

    At equal scores the newcomer is admitted: it has the longer future.
    """

    @jit
    def choose_victim(state, held, newcomer, now):
        if not state.always[0]:
            if score(state, held, newcomer, now) < state.heap.node[0]["score"]:
                return REJECT
        return heaps.lowest(state.heap)

    return choose_victim


# ------------------------------------------------------------ PROB


class ProbState(NamedTuple):
    """Counts by key, and the slots by (count on the other side, age)."""

    counts: keycounts.KeyCounts
    heap: heaps.Heap
    always: np.ndarray  # bool[1]: the newcomer is never rejected


def make_prob_state(setup: Setup, admit: str = COMPETE) -> ProbState:
    """Return an empty state; with `admit=always` the newcomer is never rejected."""
    return ProbState(
        keycounts.make_counts(setup.shape, setup.scale),
        heaps.make_heap(setup.capacity),
        admits_always("prob", admit),
    )


@jit
def chance(state, held, slot, now):
    return keycounts.productivity(state.counts, held, slot)


@jit
def insert_by_chance(state, held, slot, now):
    heaps.push(state.heap, slot, chance(state, held, slot, now), held.at[slot]["born"])


@jit
def update_chance(state, held, slot, now):
    heaps.change(state.heap, slot, chance(state, held, slot, now), held.at[slot]["born"])


PROB = Policy(
    "prob",
    "evicts the tuple whose key came least often on the other side",
    make_prob_state,
    make_choose_lowest(chance),
    on_insert=insert_by_chance,
    on_match=update_chance,
    on_gain=update_chance,
    on_remove=drop,
    on_arrival=count_keys,
    cost=2,
    auto={JOINING: Trial(1)},
    advise={JOINING: Trial(9)},
)


# ------------------------------------------------------------ LIFE


class LifeState(NamedTuple):
    """Counts by key, the members to compare, and the generator that draws some of them."""

    counts: keycounts.KeyCounts
    members: sets.Members
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]: the newcomer is never rejected


def make_life_state(setup: Setup, admit: str = COMPETE) -> LifeState:
    """Return an empty state; with `admit=always` the newcomer is never rejected."""
    return LifeState(
        keycounts.make_counts(setup.shape, setup.scale),
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        admits_always("life", admit),
    )


@jit
def chance_by_time_left(state, held, slot, now):
    remaining = np.float64(held.at[slot]["deadline"]) - now + 1  # as integers FOREVER would wrap
    return keycounts.productivity(state.counts, held, slot) * remaining


LIFE = Policy(
    "life",
    "evicts the tuple with the least (chance of a match x time left)",
    make_life_state,
    make_choose(chance_by_time_left),
    **WITH_MEMBERS,
    on_arrival=count_keys,
    problems=(JOINING,),
    needs_window=True,
    cost=40,
    advise={JOINING: Trial(10)},
)


# ------------------------------------------------------------ LFU


class LfuState(NamedTuple):
    """Counts by key (perfect), and the slots by (count, last use)."""

    counts: keycounts.KeyCounts
    heap: heaps.Heap
    uses: np.ndarray  # int64[1]: insertions and matches so far; orders tuples by their last use
    perfect: np.ndarray  # bool[1]
    always: np.ndarray  # bool[1]: the newcomer is never rejected


def make_lfu_state(setup: Setup, perfect: bool = True, admit: str = ALWAYS) -> LfuState:
    """Return an empty state; `perfect` counts keys also while they are not held."""
    return LfuState(
        keycounts.make_counts(setup.shape, setup.scale),
        heaps.make_heap(setup.capacity),
        np.zeros(1, np.int64),
        np.array([perfect]),
        admits_always("lfu", admit),
    )


@jit
def count_if_perfect(state, held, slot, now):
    if state.perfect[0]:
        keycounts.tally(state.counts, held, slot)


@jit
def first_count(state, held, slot, now):
    return keycounts.references(state.counts, held, slot) if state.perfect[0] else 1.0


@jit
def insert_by_count(state, held, slot, now):
    state.uses[0] += 1
    heaps.push(state.heap, slot, first_count(state, held, slot, now), state.uses[0])


@jit
def update_count(state, held, slot, now):
    if state.perfect[0]:
        score = keycounts.references(state.counts, held, slot)
    else:
        score = heaps.score_of(state.heap, slot) + 1.0
    state.uses[0] += 1
    heaps.change(state.heap, slot, score, state.uses[0])


LFU = Policy(
    "lfu",
    "evicts the least often used tuple",
    make_lfu_state,
    make_choose_lowest(first_count),
    on_insert=insert_by_count,
    on_match=update_count,
    on_remove=drop,
    on_arrival=count_if_perfect,
    cost=2,
    auto={CACHING: Trial(2)},
    advise={CACHING: Trial(7)},
)
