"""LBA as algorithm 1 of the locality paper prints it.

The popularity P and the weights a_1 .. a_h, b of each stream are found in a warm-up, the weights by
least squares over popularity ranks, and then stay as they are. A held tuple is worth

    U(e) = sum over the lags k <= T at which e came on the other side of c_k  +  c_b P(e)

with the column sums c of M^T, T = W. The tuple worth least is evicted, of equals the one that
expires sooner, and the newcomer always takes its place. h = 80, the upper end of what the paper
calls sufficient (50 to 80).

For a cache, of which the paper does not speak, a held row waits for references of its own stream:
the same formula, with T the size of the memory (`warmed_up_cache`).

Source: Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference Locality in Data
Stream Applications" (ICDE 2006), sections 3.1, 3.2 and 4.1. A value that the warm-up has not seen
has P = 0; the paper does not say.
"""

from typing import NamedTuple

import numpy as np

from penstock.kernel import members as sets
from penstock.kernel import rng as rngs
from penstock.kernel.jit import jit
from penstock.kernel.members import expires_sooner, make_choose
from penstock.kernel.pages import zeros
from penstock.kernel.policy import CACHING, JOINING, Policy, Setup
from penstock.policies.shared import discard_member
from penstock.profile.locality import Weights, least_squares
from penstock.profile.ranked import whole
from penstock.simulate.traces import JoinTrace

H = 80
EVERYTHING = 1 << 62  # tuples that are compared for an eviction: all


class Warmed(NamedTuple):
    """What the warm-up tells of a stream."""

    keys: np.ndarray  # int64[keys]: all of the trace, sorted
    popularity: np.ndarray  # float64[keys]: P
    repeated: np.ndarray  # float64[T]: c_1 .. c_T
    afresh: float  # c_b


class PrintedLbaState(NamedTuple):
    """The model of each stream, its last T arrivals, and what each key is worth."""

    members: sets.Members
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]
    keys: np.ndarray  # int64[keys]: sorted
    popular: np.ndarray  # float64[streams, keys]: c_b P
    repeated: np.ndarray  # float64[streams, T]: c_1 .. c_T
    last: np.ndarray  # int64[streams, T]: which keys came, in a ring
    came: np.ndarray  # int64[streams]: how many
    worth: np.ndarray  # float64[streams, keys]: expected of each key on each side
    known: np.ndarray  # int64[streams]: the arrivals at which `worth` was computed
    which: np.ndarray  # int64[capacity]: the place of a held key among the keys


def warmed_up(trace: JoinTrace, within: int | None, first: int, h: int = H) -> list[Warmed]:
    """Fit the model to the rows before `first`, for each of the streams."""
    assert within is not None, "T is the window"
    keys, past = np.unique(trace.key), trace.key[:first]
    streams = range(trace.streams)
    return [_warmed(keys, past[trace.side[:first] == stream], within, h) for stream in streams]


def warmed_up_cache(keys: np.ndarray, steps: int, first: int, h: int = H) -> Warmed:
    """Fit the model to the references before `first`; T is `steps`."""
    return _warmed(np.unique(keys), keys[:first], steps, h)


def _warmed(keys: np.ndarray, past: np.ndarray, steps: int, h: int) -> Warmed:
    share = np.bincount(np.searchsorted(keys, past), minlength=len(keys)) / max(1, len(past))
    weights = least_squares(whole(past), [min(h, len(past) // 3)])[0]
    return Warmed(keys, share, *column_sums(weights, steps))


def column_sums(weights: Weights, steps: int) -> tuple[np.ndarray, float]:
    """Return the column sums of M^T, by its powers: of lag 1 .. T, and of P.

    >>> repeated, afresh = column_sums(Weights(np.array([0.5]), 0.5), steps=2)
    >>> repeated.tolist(), afresh
    ([0.75, 0.0], 1.25)
    """
    m = np.zeros((steps + 1, steps + 1))
    reach = min(weights.h, steps)
    m[0, :reach], m[0, steps] = weights.a[:reach], weights.b
    m[np.arange(1, steps), np.arange(steps - 1)] = 1
    m[steps, steps] = 1
    sums = np.linalg.matrix_power(m, steps)[:steps].sum(axis=0)
    return sums[:steps], float(sums[steps])


def make_state(setup: Setup) -> PrintedLbaState:
    """Return an empty buffer; `setup.models` are what `warmed_up` returns."""
    assert setup.models is not None, "the warm-up comes first"
    models = [each or setup.models[-1] for each in setup.models]  # of a cache there is one
    streams, steps, keys = len(models), len(models[0].repeated), len(models[0].keys)
    return PrintedLbaState(
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        np.ones(1, np.bool_),
        models[0].keys,
        np.array([each.afresh * each.popularity for each in models]),
        np.array([each.repeated for each in models]),
        np.zeros((streams, steps), np.int64),
        np.zeros(streams, np.int64),
        np.zeros((streams, keys)),
        np.full(streams, -1),
        zeros(setup.capacity, np.int64),
    )


@jit
def _place(state, held, slot):
    """Return the place of a key; engines warm up with keys that are not in the trace."""
    return min(np.searchsorted(state.keys, held.key[slot, 0]), len(state.keys) - 1)


@jit
def on_arrival(state, held, slot, now):
    stream = held.at[slot]["stream"]
    ring = state.last.shape[1]
    state.last[stream, state.came[stream] % ring] = _place(state, held, slot)
    state.came[stream] += 1


@jit
def on_insert(state, held, slot, now):
    state.which[slot] = _place(state, held, slot)
    sets.add(state.members, slot)


@jit
def _expect(state, stream):
    """Compute lemma 3 for all keys of a stream at once."""
    came, ring = state.came[stream], state.last.shape[1]
    state.known[stream] = came
    for key in range(len(state.keys)):  # one by one: kernels make no arrays, not even views
        state.worth[stream, key] = state.popular[stream, key]
    for lag in range(1, min(came, ring) + 1):
        key = state.last[stream, (came - lag) % ring]
        state.worth[stream, key] += state.repeated[stream, lag - 1]


@jit
def score(state, held, slot, now):
    other = 1 - held.at[slot]["stream"]
    if state.known[other] != state.came[other]:
        _expect(state, other)
    return state.worth[other, state.which[slot]]


PRINTED_LBA = Policy(
    "printed_lba",
    "algorithm 1 of the locality paper",
    make_state,
    make_choose(score, scan=EVERYTHING, is_first=expires_sooner),
    on_arrival=on_arrival,
    on_insert=on_insert,
    on_remove=discard_member,
    problems=(JOINING, CACHING),
    plain=True,
)
