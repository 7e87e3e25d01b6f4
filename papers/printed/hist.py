"""Histogram HEEB as section 6.2 of the HEEB paper prints it.

Two histograms for each side over the offset of a tuple from the position of the other stream: the
matches that tuples found while they were cached, and the inverse of how long that was. A tuple is
observed when it leaves the cache, at the offset with which it came. What is at the current offset
of a tuple in one histogram, times what is there in the other, is its benefit; the least is evicted,
and a newcomer competes. Each has ten buckets; those that deviate much are split, neighbours that
deviate little are merged, and counts fade.

Source: Xie, Yang, Chen, "On joining and caching stochastic streams" (SIGMOD 2005), section 6.2.
The paper leaves open: the weight of the latest value in the position of a trend (here 0.1), how
often counts fade (after 300 observations), and by how much (0.9).
"""

from typing import NamedTuple

import numpy as np

from penstock.kernel import histogram as histograms
from penstock.kernel import members as sets
from penstock.kernel import rng as rngs
from penstock.kernel.jit import jit
from penstock.kernel.members import make_choose
from penstock.kernel.pages import zeros
from penstock.kernel.policy import JOINING, Policy, Setup

SMOOTHING, EVERY, FADE = 0.1, 300, 0.9


class PrintedHistState(NamedTuple):
    """Histograms by side, the position of each stream, and what is known of each held tuple."""

    members: sets.Members
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]
    walks: np.ndarray  # bool[1]: the position of a stream is its last value
    position: np.ndarray  # float64[2]; nan before the first arrival
    benefit: histograms.Histograms
    inverse: histograms.Histograms
    offset: np.ndarray  # float64[capacity]: with which it came
    hits: np.ndarray  # int64[capacity]
    since: np.ndarray  # int64[capacity]


def make_state(setup: Setup, walk: bool = False, buckets: int = 10) -> PrintedHistState:
    """Return an empty state; `walk`: the streams are walks and not trends."""
    return PrintedHistState(
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        np.zeros(1, np.bool_),
        np.array([walk]),
        np.full(2, np.nan),
        histograms.make_histograms(2, buckets, EVERY, FADE),
        histograms.make_histograms(2, buckets, EVERY, FADE),
        zeros(setup.capacity),
        zeros(setup.capacity, np.int64),
        zeros(setup.capacity, np.int64),
    )


@jit
def on_arrival(state, held, slot, now):
    stream, value = held.at[slot]["stream"], np.float64(held.key[slot, 0])
    before = state.position[stream]
    if state.walks[0] or np.isnan(before):
        state.position[stream] = value
    else:
        state.position[stream] = before + SMOOTHING * (value - before)


@jit
def _offset(state, held, slot):
    at = state.position[1 - held.at[slot]["stream"]]
    return 0.0 if np.isnan(at) else held.key[slot, 0] - at


@jit
def on_insert(state, held, slot, now):
    sets.add(state.members, slot)
    state.offset[slot] = _offset(state, held, slot)
    state.hits[slot] = 0
    state.since[slot] = now


@jit
def on_match(state, held, slot, now):
    state.hits[slot] += 1


@jit
def on_remove(state, held, slot, now):
    sets.discard(state.members, slot)
    side = np.int64(held.at[slot]["stream"])
    histograms.add(state.benefit, side, state.offset[slot], np.float64(state.hits[slot]))
    histograms.add(state.inverse, side, state.offset[slot], 1.0 / max(1, now - state.since[slot]))


@jit
def of_bucket(h, which, x):
    """Return the mean of the bucket at `x`; 0 before there are any."""
    size = h.size[which]
    if size == 0:
        return 0.0
    b = 0
    while b + 1 < size and h.edge[which, b + 1] <= x:
        b += 1
    return h.mean[which, b]


@jit
def score(state, held, slot, now):
    side, x = np.int64(held.at[slot]["stream"]), _offset(state, held, slot)
    return of_bucket(state.benefit, side, x) * of_bucket(state.inverse, side, x)


PRINTED_HIST = Policy(
    "printed_hist",
    "histogram HEEB of section 6.2: learned from tuples that leave the cache",
    make_state,
    make_choose(score),
    on_arrival=on_arrival,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    problems=(JOINING,),
    plain=True,
    ordered=True,
)
