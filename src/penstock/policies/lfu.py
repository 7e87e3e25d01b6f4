"""LFU: who was asked for least often goes; among equals the least recently used.

Perfect LFU remembers how often a key was asked for, also while it was not held, as far as its table
has room (`core/keycounts.py`); in-cache LFU (`perfect=no`) counts from the day a tuple came in.

Source: the HEEB paper, section 8, which uses the perfect form for caching.
"""

from typing import NamedTuple

import numpy as np

from ..core import heap as heaps
from ..core import keycounts
from ..core.heap import Heap
from ..core.jit import jit
from ..core.keycounts import KeyCounts
from ..core.policy import REFUSE, Policy, Setup
from .admission import ALWAYS, admits_always


class LfuState(NamedTuple):
    """Counts by key (perfect), and the slots by (count, last use)."""

    counts: KeyCounts
    heap: Heap
    uses: np.ndarray  # int64[1]: insertions and matches so far, to tell who was used last
    perfect: np.ndarray  # bool[1]
    always: np.ndarray  # bool[1]: the newcomer is never refused


def make_state(setup: Setup, perfect: bool = True, admit: str = ALWAYS) -> LfuState:
    """Return an empty state; `perfect` counts keys also while they are not held."""
    return LfuState(
        keycounts.make_counts(setup.shape, setup.scale),
        heaps.make_heap(setup.capacity),
        np.zeros(1, np.int64),
        np.array([perfect]),
        admits_always("lfu", admit),
    )


@jit
def on_arrival(state, held, slot, now):
    if state.perfect[0]:
        keycounts.tally(state.counts, held, slot)


@jit
def _next_use(state):
    state.uses[0] += 1
    return state.uses[0]


@jit
def _first_score(state, held, slot):
    return keycounts.references(state.counts, held, slot) if state.perfect[0] else 1.0


@jit
def on_insert(state, held, slot, now):
    heaps.push(state.heap, slot, _first_score(state, held, slot), _next_use(state))


@jit
def on_match(state, held, slot, now):
    if state.perfect[0]:
        score = keycounts.references(state.counts, held, slot)
    else:
        score = heaps.score_of(state.heap, slot) + 1.0
    heaps.change(state.heap, slot, score, _next_use(state))


@jit
def on_remove(state, held, slot, now):
    heaps.drop(state.heap, slot)


@jit
def choose_victim(state, held, newcomer, now):
    if not state.always[0] and _first_score(state, held, newcomer) < state.heap.node[0]["score"]:
        return REFUSE
    return heaps.lowest(state.heap)


LFU = Policy(
    "lfu",
    "the least often used tuple goes",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    on_arrival=on_arrival,
    tracked=lambda state: int(state.heap.size[0]),
    cost=2,
)
