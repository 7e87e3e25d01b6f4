"""PROB: who is least likely to find a partner goes, judged by the past of the other side.

The chance of a match is estimated by how often the key came on the other side so far; with
several sides the counts multiply, over several joins they add up. The best there is for
stationary, independent streams (HEEB paper, section 7.2), misled by anything that moves.

Source: Das, Gehrke, Riedewald, "Approximate join processing over data streams" (SIGMOD 2003);
counts of every value as in the GDJ paper, section 5.1.
Departures: keys are counted in a table of bounded size, which forgets those that seldom came
(`core/keycounts.py`); a score is renewed when its tuple matches, which is when its count changes;
after a late row of a key outside the window it may be one behind.
"""

from typing import NamedTuple

import numpy as np

from ..core import heap as heaps
from ..core import keycounts
from ..core.heap import Heap
from ..core.jit import jit
from ..core.keycounts import KeyCounts
from ..core.policy import REFUSE, Policy, Setup
from .admission import COMPETE, admits_always


class ProbState(NamedTuple):
    """Counts by key, and the slots by (count on the other side, age)."""

    counts: KeyCounts
    heap: Heap
    always: np.ndarray  # bool[1]: the newcomer is never refused


def make_state(setup: Setup, admit: str = COMPETE) -> ProbState:
    """Return an empty state; with `admit=always` the newcomer is never refused."""
    return ProbState(
        keycounts.make_counts(setup.shape, setup.scale),
        heaps.make_heap(setup.capacity),
        admits_always("prob", admit),
    )


@jit
def on_arrival(state, held, slot, now):
    keycounts.tally(state.counts, held, slot)


@jit
def on_insert(state, held, slot, now):
    score = keycounts.productivity(state.counts, held, slot)
    heaps.push(state.heap, slot, score, held.at[slot]["born"])


@jit
def on_match(state, held, slot, now):
    score = keycounts.productivity(state.counts, held, slot)
    heaps.change(state.heap, slot, score, held.at[slot]["born"])


@jit
def on_remove(state, held, slot, now):
    heaps.drop(state.heap, slot)


@jit
def choose_victim(state, held, newcomer, now):
    # At equal odds the newcomer stays: it has the longer future.
    if not state.always[0]:
        if keycounts.productivity(state.counts, held, newcomer) < state.heap.node[0]["score"]:
            return REFUSE
    return heaps.lowest(state.heap)


PROB = Policy(
    "prob",
    "the tuple whose key came least often on the other side goes",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_gain=on_match,
    on_remove=on_remove,
    on_arrival=on_arrival,
    tracked=lambda state: int(state.heap.size[0]),
    cost=2,
)
