"""AGE: keep every tuple up to the age with the most matches per unit of time, then evict it.

If a tuple's expected matches depend on its age alone, there is an age `k` that maximises matches
per unit of time in memory. When room is needed the oldest tuple is evicted if it has reached that
age; otherwise the newcomer is rejected, so that an admitted tuple is held for its full time.

Without a given `k` the curve of matches by age is learned, per stream, from the tuples seen so far:
matches at an age divided by the number of tuples that reached it. Ages beyond what the memory ever
holds are not observed, so the learned `k` lies within them.

Source: Srivastava, Widom, "Memory-limited execution of windowed stream joins" (VLDB 2004), as
described in the GDJ paper, section 3.2.
"""

from typing import NamedTuple

import numpy as np

from ..kernel import order as orders
from ..kernel.jit import jit
from ..kernel.policy import JOINING, REJECT, Policy, Setup, check_range
from .shared import WITH_ORDER, unlink

BINS = 96  # two per doubling of the age
LEARN_EVERY = 1024  # arrivals between two evaluations of the curve


class AgeState(NamedTuple):
    """The queue, what was counted at each age, and the best ages."""

    order: orders.Order  # the oldest first
    gains: np.ndarray  # int64[streams, BINS]: matches by age of the held tuple
    lives: np.ndarray  # int64[streams, BINS]: removed tuples, by age
    best: np.ndarray  # int64[streams]: k in the paper
    start: np.ndarray  # int64[BINS + 1]: the least age of each bin
    arrivals: np.ndarray  # int64[1]
    learning: np.ndarray  # bool[1]


def make_state(setup: Setup, k: int | None = None) -> AgeState:
    """Return an empty state; `k` is the best age, None to learn it."""
    if k is not None:
        check_range("age", "k", k, 0, 2**62)
    streams = setup.shape.streams
    start = [int(np.ceil(2 ** (b / 2) - 1)) for b in range(BINS)]
    return AgeState(
        orders.make_order(setup.capacity),
        np.zeros((streams, BINS), np.int64),
        np.zeros((streams, BINS), np.int64),
        np.full(streams, 0 if k is None else k, np.int64),
        np.array([*start, 2 * start[-1]], np.int64),
        np.zeros(1, np.int64),
        np.array([k is None]),
    )


@jit
def _bin(state, age):
    """Return the last bin that begins at or before this age."""
    return min(BINS - 1, np.searchsorted(state.start, age, "right") - 1)


@jit
def _learn(state, stream):
    """Set the best age of a stream: where cumulative gain per unit of time is largest."""
    through = 0
    for each in range(BINS):
        through += state.lives[stream, each]
    gain, best, chosen = 0.0, 0.0, -1
    for each in range(BINS):
        if through == 0:
            break
        gain += state.gains[stream, each] / through
        if gain / state.start[each + 1] > best:
            best, chosen = gain / state.start[each + 1], each
        through -= state.lives[stream, each]
    if chosen >= 0:
        state.best[stream] = state.start[chosen + 1]


@jit
def on_arrival(state, held, slot, now):
    state.arrivals[0] += 1
    if state.learning[0] and state.arrivals[0] % LEARN_EVERY == 0:
        for stream in range(len(state.best)):
            _learn(state, stream)


@jit
def on_match(state, held, slot, now):
    state.gains[held.at[slot]["stream"], _bin(state, max(0, now - held.at[slot]["time"]))] += 1


@jit
def on_remove(state, held, slot, now):
    state.lives[held.at[slot]["stream"], _bin(state, max(0, now - held.at[slot]["time"]))] += 1
    unlink(state, held, slot, now)


@jit
def choose_victim(state, held, newcomer, now):
    oldest = orders.front(state.order, 0)
    if now - held.at[oldest]["time"] >= state.best[held.at[oldest]["stream"]]:
        return oldest
    return np.int64(REJECT)


AGE = Policy(
    "age",
    "evicts the oldest tuple once it has reached the age with most matches per time",
    make_state,
    choose_victim,
    on_match=on_match,
    on_arrival=on_arrival,
    problems=(JOINING,),
    **WITH_ORDER | {"on_remove": on_remove},
)
