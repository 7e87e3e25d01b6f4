"""AGE: keep every tuple for the age at which it has paid best, then let it go.

If a tuple's expected matches depend on its age alone, there is an age `k` that maximises matches
per unit of time in memory. When room is needed the oldest tuple goes if it has reached that age;
otherwise the newcomer is turned away, so that who was taken in has its full time.

Without a given `k` the curve of matches by age is learned, per stream, from the tuples seen so far:
matches at an age divided by how many tuples lived through it. Ages beyond what the memory ever
holds are not observed, so the learned `k` lies within them.

Source: Srivastava, Widom, "Memory-limited execution of windowed stream joins" (VLDB 2004), as
told in the GDJ paper, section 3.2.
"""

from typing import NamedTuple

import numpy as np

from ..core import order as orders
from ..core.jit import jit
from ..core.order import Order
from ..core.policy import JOINING, REFUSE, Policy, Setup, check_range

BINS = 96  # two per doubling of the age
LEARN_EVERY = 1024  # arrivals between two looks at the curve


class AgeState(NamedTuple):
    """The queue, what was seen at each age, and the best ages."""

    queue: Order
    gains: np.ndarray  # int64[streams, BINS]: matches by age of the held tuple
    lives: np.ndarray  # int64[streams, BINS]: tuples that left, by age
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
    """Return the last bin that begins at or before this age, by bisection."""
    low, high = 0, BINS
    while high - low > 1:
        middle = (low + high) >> 1
        if state.start[middle] <= age:
            low = middle
        else:
            high = middle
    return low


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
def on_insert(state, held, slot, now):
    orders.push_back(state.queue, 0, slot)


@jit
def on_match(state, held, slot, now):
    state.gains[held.at[slot]["stream"], _bin(state, max(0, now - held.at[slot]["time"]))] += 1


@jit
def on_remove(state, held, slot, now):
    state.lives[held.at[slot]["stream"], _bin(state, max(0, now - held.at[slot]["time"]))] += 1
    orders.unlink(state.queue, 0, slot)


@jit
def choose_victim(state, held, newcomer, now):
    oldest = orders.front(state.queue, 0)
    if now - held.at[oldest]["time"] >= state.best[held.at[oldest]["stream"]]:
        return oldest
    return np.int64(REFUSE)


AGE = Policy(
    "age",
    "the oldest tuple goes once it has reached the age that pays best",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    on_arrival=on_arrival,
    problems=(JOINING,),
    tracked=lambda state: int(state.queue.ends[0, 2]),
)
