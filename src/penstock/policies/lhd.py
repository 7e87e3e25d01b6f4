"""LHD, least hit density: the tuple with the fewest expected matches per unit of time is evicted.

From the ages at which tuples of a class matched or were removed follow the expected matches and the
expected remaining life of a tuple of that class and age; their quotient is its hit density. Classes
are defined by the ages at the last two matches. The densities are computed again from time to time
and old events fade. A class that is always evicted young never shows its matches at a higher age;
so one tuple in a hundred is an explorer, which is kept for a while whatever its density.

Source: Beckmann, Chen, Cidon, "LHD: improving cache hit rate by maximizing hit density" (NSDI
2018).
Departures: ages are counted in arrivals, in bins that grow with the age, two to an octave; an
explorer that did not match within 64 times the budget stops being one; 32 tuples are compared per
eviction.
"""

import math
from typing import NamedTuple

import numpy as np

from ..kernel import members as sets
from ..kernel import rng as rngs
from ..kernel.jit import jit
from ..kernel.members import NONE, make_lowest
from ..kernel.pages import zeros
from ..kernel.policy import CACHING, JOINING, Policy, Setup, Trial

CLASSES, BINS = 16, 64
ONCE, TWICE = 8, 15  # the highest classes of tuples that matched once, and more often
COMPARED = 32  # tuples compared per eviction
FADE = 0.9
FEW = 1e-5  # less than this counts as no event at all
EXPLORE = 32  # one in so many insertions and matches makes an explorer
EXPLORERS = 0.01  # of the held tuples, at most
PATIENCE = 64  # times the budget: ages up to which an explorer is one
NEVER = np.int64(-1)
# The youngest age of each bin: 0 1 2 3 4 6 8 12 16 ...
YOUNGEST = np.array([0, 1] + [(2 + b % 2) << (b // 2 - 1) for b in range(2, BINS + 1)], float)
WIDTH = np.diff(YOUNGEST)


class LhdState(NamedTuple):
    """Members with their last uses and class; events and densities by class and age."""

    members: sets.Members
    rng: np.ndarray  # uint64[1]
    last: np.ndarray  # int64[capacity]: the tick of the last use
    before: np.ndarray  # int64[capacity]: the age at the last match, or NEVER
    kind: np.ndarray  # int8[capacity]: the class
    explores: np.ndarray  # bool[capacity]
    hits: np.ndarray  # float64[CLASSES, BINS]
    gone: np.ndarray  # float64[CLASSES, BINS]
    density: np.ndarray  # float64[CLASSES, BINS]
    ticks: np.ndarray  # int64[1]: arrivals so far
    explorers: np.ndarray  # int64[1]: how many there are
    scale: np.ndarray  # int64[1]: the budget
    period: np.ndarray  # int64[1]: ticks between two computations of the densities


def make_state(setup: Setup) -> LhdState:
    """Return an empty state; before anything is learned, older and rarely used is worse."""
    density = np.arange(1.0, CLASSES + 1)[:, None] / (1 + YOUNGEST[:-1] / setup.scale)[None, :]
    return LhdState(
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        zeros(setup.capacity, np.int64),
        zeros(setup.capacity, np.int64),
        zeros(setup.capacity, np.int8),
        zeros(setup.capacity, np.bool_),
        np.zeros((CLASSES, BINS)),
        np.zeros((CLASSES, BINS)),
        density,
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.array([setup.scale]),
        np.array([8 * max(1024, setup.scale)]),
    )


@jit
def _bits(number):
    """Return how many binary digits a number has, 0 for 0."""
    return np.int64(math.frexp(float(number))[1])


@jit
def _age(state, slot):
    return state.ticks[0] - state.last[slot]


@jit
def _bin(age):
    if age < 2:
        return age
    octave = _bits(age) - 2
    return min(BINS - 1, 2 * octave + (age >> octave))


@jit
def _class(state, before, age):
    """Return the class of a tuple that has just matched: the higher the sooner; newcomers: 0."""
    unit = max(1, state.scale[0] // 8)
    if before == NEVER:
        return max(1, ONCE - _bits(age // unit))
    return max(ONCE + 1, TWICE - _bits((before + age) // unit))


@jit
def _renew(state, kind):
    """Compute the densities of one class, from the oldest age to the youngest."""
    total = 0.0
    for age in range(BINS):
        total += state.hits[kind, age] + state.gone[kind, age]
    events, hit, life = 0.0, 0.0, 0.0
    for age in range(BINS - 1, -1, -1):
        events += state.hits[kind, age] + state.gone[kind, age]
        hit += state.hits[kind, age]
        life += events * WIDTH[age]
        if total > FEW:  # a class without events keeps its densities
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
def _draw_explorer(state, slot):
    most = max(1, np.int64(EXPLORERS * state.members.size[0]))
    if rngs.below(state.rng, EXPLORE) == 0 and state.explorers[0] < most:
        state.explores[slot] = True
        state.explorers[0] += 1


@jit
def _end_exploring(state, slot):
    if state.explores[slot]:
        state.explores[slot] = False
        state.explorers[0] -= 1


@jit
def on_insert(state, held, slot, now):
    sets.add(state.members, slot)
    state.last[slot] = state.ticks[0]
    state.before[slot] = NEVER
    state.kind[slot] = 0
    _draw_explorer(state, slot)


@jit
def on_match(state, held, slot, now):
    age = _age(state, slot)
    state.hits[state.kind[slot], _bin(age)] += 1.0
    state.kind[slot] = _class(state, state.before[slot], age)
    state.before[slot] = age
    state.last[slot] = state.ticks[0]
    _end_exploring(state, slot)
    _draw_explorer(state, slot)


@jit
def on_remove(state, held, slot, now):
    state.gone[state.kind[slot], _bin(_age(state, slot))] += 1.0
    sets.discard(state.members, slot)
    _end_exploring(state, slot)


@jit
def score(state, held, slot, now):
    age = _age(state, slot)
    if state.explores[slot] and age < PATIENCE * state.scale[0]:
        return np.inf
    return state.density[state.kind[slot], _bin(age)]


_lowest = make_lowest(score, scan=COMPARED, sample=COMPARED)


@jit
def choose_victim(state, held, newcomer, now):
    return _lowest(state, held, now, NONE)[0]


LHD = Policy(
    "lhd",
    "evicts the tuple with the fewest expected matches per time in memory",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    on_arrival=on_arrival,
    cost=8,
    advise={JOINING: Trial(7), CACHING: Trial(6)},
)
