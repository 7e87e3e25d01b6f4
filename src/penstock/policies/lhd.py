"""LHD, least hit density: who has the fewest expected matches per unit of time in memory goes.

From the ages at which tuples of a class matched or left, the expected matches and the expected
remaining life of a tuple of that class and age follow; their quotient is its hit density. Classes
go by the age at the last match. The quotients are renewed from time to time and the past fades.

Source: Beckmann, Chen, Cidon, "LHD: improving cache hit rate by maximizing hit density" (NSDI
2018).
Departure: ages are counted in arrivals, in 128 bins that cover 16 times the budget; 64 tuples are
compared per eviction.
"""

from typing import NamedTuple

import numpy as np

from ..core import members as sets
from ..core import rng as rngs
from ..core.jit import jit
from ..core.least import make_least
from ..core.members import Members
from ..core.policy import Policy, Setup

CLASSES, BINS = 8, 128
COVERED = 16  # times the budget
COMPARED = 64  # tuples looked at per eviction
FADE = 0.9
FEW = 1e-5  # less than this counts as no event at all


class LhdState(NamedTuple):
    """Members with their last use and class; what happened by class and age, and what follows."""

    members: Members
    rng: np.ndarray  # uint64[1]
    last: np.ndarray  # int64[capacity]: the tick of the last use
    kind: np.ndarray  # int8[capacity]: the class
    hits: np.ndarray  # float64[CLASSES, BINS]
    gone: np.ndarray  # float64[CLASSES, BINS]
    density: np.ndarray  # float64[CLASSES, BINS]
    ticks: np.ndarray  # int64[1]: arrivals so far
    width: np.ndarray  # int64[1]: ticks per bin
    period: np.ndarray  # int64[1]: ticks between two renewals


def make_state(setup: Setup) -> LhdState:
    """Return an empty state; until something is known, older and never used is worse."""
    density = np.arange(1.0, CLASSES + 1)[:, None] / np.arange(1.0, BINS + 1)[None, :]
    return LhdState(
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        np.zeros(setup.capacity, np.int64),
        np.zeros(setup.capacity, np.int8),
        np.zeros((CLASSES, BINS)),
        np.zeros((CLASSES, BINS)),
        density,
        np.zeros(1, np.int64),
        np.array([max(1, COVERED * setup.scale // BINS)]),
        np.array([max(1024, setup.scale)]),
    )


@jit
def _age(state, slot):
    return min(BINS - 1, (state.ticks[0] - state.last[slot]) // state.width[0])


@jit
def _renew(state, kind):
    """Work out the densities of one class, from the oldest age to the youngest."""
    total = 0.0
    for age in range(BINS):
        total += state.hits[kind, age] + state.gone[kind, age]
    events, hit, life = 0.0, 0.0, 0.0
    for age in range(BINS - 1, -1, -1):
        events += state.hits[kind, age] + state.gone[kind, age]
        hit += state.hits[kind, age]
        life += events
        if total > FEW:  # a class that nobody was in keeps what it had
            state.density[kind, age] = hit / life if events > FEW else 0.0
        state.hits[kind, age] *= FADE
        state.gone[kind, age] *= FADE


@jit
def on_arrival(state, held, slot, now):
    state.ticks[0] += 1
    if state.ticks[0] % state.period[0] == 0:
        for kind in range(CLASSES):
            _renew(state, kind)


@jit
def on_insert(state, held, slot, now):
    sets.add(state.members, slot)
    state.last[slot] = state.ticks[0]
    state.kind[slot] = 0


@jit
def on_match(state, held, slot, now):
    age = _age(state, slot)
    state.hits[state.kind[slot], age] += 1.0
    bits = 0
    while age > 0:
        age >>= 1
        bits += 1
    state.kind[slot] = min(CLASSES - 1, 1 + bits)
    state.last[slot] = state.ticks[0]


@jit
def on_remove(state, held, slot, now):
    state.gone[state.kind[slot], _age(state, slot)] += 1.0
    sets.discard(state.members, slot)


@jit
def score(state, held, slot, now):
    return state.density[state.kind[slot], _age(state, slot)]


_least = make_least(score, scan=COMPARED, sample=COMPARED)


@jit
def choose_victim(state, held, newcomer, now):
    return _least(state, held, now)[0]


LHD = Policy(
    "lhd",
    "the tuple with the fewest expected matches per time in memory goes",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    on_arrival=on_arrival,
    tracked=lambda state: int(state.members.size[0]),
    cost=12,
)
