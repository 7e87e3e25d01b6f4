"""GDSF, GreedyDual-Size-Frequency: for rows that differ in size, or in what it costs to fetch them.

The score of a row is how often it was used since it came in, times what a hit is worth for each
unit of the budget that the row takes (`Held.worth`), plus the score of the last victim when it was
last used. So a large row that is cheap to fetch is evicted first, and what was not used for long is
evicted in the end, whatever it is worth. Where all rows are alike it is LFU with aging.

Source: Cherkasova, "Improving WWW proxies performance with Greedy-Dual-Size-Frequency caching
policy" (HP Labs, HPL-98-69R1, 1998).
"""

from typing import NamedTuple

import numpy as np

from ..kernel import heap as heaps
from ..kernel.jit import jit
from ..kernel.policy import CACHING, Policy, Setup, Trial


class GdsfState(NamedTuple):
    """The slots by score, their uses, and the score of the last victim."""

    heap: heaps.Heap
    uses: np.ndarray  # float64[capacity]: since the row came in
    age: np.ndarray  # float64[1]: the score of the last victim
    stamps: np.ndarray  # int64[1]: insertions and matches so far; order equal scores


def make_state(setup: Setup) -> GdsfState:
    """Return an empty state."""
    return GdsfState(
        heaps.make_heap(setup.capacity),
        np.zeros(setup.capacity),
        np.zeros(1),
        np.zeros(1, np.int64),
    )


@jit
def _use(state, held, slot):
    """Note a use; return the score that follows from it."""
    state.stamps[0] += 1
    state.uses[slot] += 1.0
    worth = held.worth[slot] if len(held.worth) else 1.0
    return state.age[0] + state.uses[slot] * worth


@jit
def on_insert(state, held, slot, now):
    state.uses[slot] = 0.0
    score = _use(state, held, slot)
    heaps.push(state.heap, slot, score, state.stamps[0])


@jit
def on_match(state, held, slot, now):
    score = _use(state, held, slot)
    heaps.change(state.heap, slot, score, state.stamps[0])


@jit
def on_remove(state, held, slot, now):
    heaps.drop(state.heap, slot)


@jit
def choose_victim(state, held, newcomer, now):
    slot = heaps.lowest(state.heap)
    state.age[0] = heaps.score_of(state.heap, slot)
    return slot


GDSF = Policy(
    "gdsf",
    "evicts what is least worth its size, by uses and costs; for caches",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    problems=(CACHING,),
    weighs=True,
    cost=2,
    auto={CACHING: Trial(6)},
)
