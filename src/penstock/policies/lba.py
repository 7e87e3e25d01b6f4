"""LBA: who is expected least often on the other side goes, by popularity and by what came lately.

A key that came a moment ago comes again sooner than its popularity says. The locality model tells
how much sooner (`foresight.py`), and lemma 3 how often a key is expected in all. Without short-term
correlations that is PROB.

Most of what is held has not come lately on the other side: its worth is its popularity and lies in
a heap. Whatever came lately is *hot*: its worth moves with every arrival, so it is kept apart and
looked at again: all of it in a small memory, in a larger one a few at a time, in turns.

Source: algorithm 1 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference
Locality in Data Stream Applications" (ICDE 2006). At equal worth the tuple that expires first goes.
Departures: T, see `foresight.py`; the newcomer competes; P and the weights are learned on and on;
in a join of three sides or more a tuple is looked at again when it matches, not when only one of
its partners comes.
"""

from typing import NamedTuple

import numpy as np

from ..core import heap as heaps
from ..core import members as sets
from ..core.heap import ABSENT, Heap
from ..core.jit import jit
from ..core.least import SCAN, expires_sooner
from ..core.members import Members
from ..core.policy import JOINING, REFUSE, Policy, Setup
from ..core.recent import weigh
from .admission import COMPETE, admits_always
from .foresight import HORIZON, Foresight, make_foresight, make_worth, note, refit, units

# Hot tuples looked at for each eviction, where not all of them are; one more for each that became
# hot since the last.
TURN = 8


class LbaState(NamedTuple):
    """What is expected, and the held slots: by popularity, or among the hot."""

    sight: Foresight
    cold: Heap
    hot: Members
    turn: np.ndarray  # int64[1]: the place of the hot tuple that was looked at last
    fresh: np.ndarray  # int64[1]: how many became hot since the last eviction
    stale: np.ndarray  # bool[1]: the model has changed since the heap was filled
    always: np.ndarray  # bool[1]: the newcomer is never refused


def make_state(
    setup: Setup, h: int = HORIZON, steps: int | None = None, admit: str = COMPETE
) -> LbaState:
    """Return an empty state.

    `h` is how many arrivals the model looks back on, `steps` for how many it looks ahead: T.
    """
    return LbaState(
        make_foresight(setup, "lba", h, steps),
        heaps.make_heap(setup.capacity),
        sets.make_members(setup.capacity),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.bool_),
        admits_always("lba", admit),
    )


def refresh(state: LbaState) -> LbaState:
    """Learn the model anew."""
    refit(state.sight)
    state.stale[0] = True
    return state


@jit
def _ahead(state, line, key, seen, deadline, now):
    """Return how much is expected of a key, by lemma 3, and whether it came lately."""
    sight = state.sight
    lately, hot = weigh(sight.recent, line, key, sight.gain, sight.reach)
    return sight.fresh[line] * seen + units(sight, line) * lately, hot


worth = make_worth(_ahead)


@jit
def _start_over(state):
    """Look at everybody again: another model has other worths, and others are hot."""
    state.stale[0] = False
    heap = state.cold
    for place in range(heap.size[0]):
        slot = heap.node[place]["slot"]
        heap.place[slot] = ABSENT
        sets.add(state.hot, slot)
    heap.size[0] = 0


@jit
def on_arrival(state, held, slot, now):
    if state.stale[0]:
        _start_over(state)
    note(state.sight, held, slot, now)


@jit
def on_insert(state, held, slot, now):
    # Hot or not: if not, the next look at it says so.
    sets.add(state.hot, slot)
    state.fresh[0] += 1


@jit
def on_match(state, held, slot, now):
    if state.cold.place[slot] != ABSENT:
        heaps.drop(state.cold, slot)
        sets.add(state.hot, slot)
        state.fresh[0] += 1


@jit
def on_remove(state, held, slot, now):
    if state.cold.place[slot] != ABSENT:
        heaps.drop(state.cold, slot)
    else:
        sets.discard(state.hot, slot)


@jit
def choose_victim(state, held, newcomer, now):
    cold, hot = state.cold, state.hot
    best, lowest = np.int64(-1), np.inf
    if cold.size[0] > 0:
        best, lowest = heaps.lowest(cold), cold.node[0]["score"]
    everybody = cold.size[0] + hot.size[0] <= SCAN
    place = hot.size[0] if everybody else min(state.turn[0], hot.size[0])
    looks = min(hot.size[0], SCAN if everybody else TURN + state.fresh[0])
    for look in range(1 if state.always[0] else 0, 1 + looks):
        slot = newcomer
        if look > 0:
            # Downwards: who is taken out is replaced by one that was looked at already.
            place = (place if place > 0 else hot.size[0]) - 1
            slot = np.int64(hot.slot[place])
        total, is_hot = worth(state, held, slot, now)
        if look > 0 and not is_hot:
            sets.discard(hot, slot)
            heaps.push(cold, slot, total, held.at[slot]["born"], held.at[slot]["deadline"])
        if (
            best < 0
            or total < lowest
            or (total == lowest and expires_sooner(held, slot, best, newcomer))
        ):
            best, lowest = slot, total
    state.turn[0], state.fresh[0] = place, 0
    return REFUSE if best == newcomer else best


LBA = Policy(
    "lba",
    "the tuple expected least often goes, by popularity and by what came lately",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_gain=on_match,
    on_remove=on_remove,
    on_arrival=on_arrival,
    problems=(JOINING,),
    pause=lambda state: int(state.sight.wait[0]),
    refresh=refresh,
    tracked=lambda state: int(state.cold.size[0] + state.hot.size[0]),
    cost=5,
)
