"""HEEB for an AR(1) stream of references, with the paper's surface of 25 control points.

H of a row depends on its value and on the last reference (theorem 3). It is computed at 5 x 5
points equally spaced over the domain, and in between by bicubic interpolation. Penstock's own
surface has 41 x 81 points, over five deviations of the stream.

Source: Xie, Yang, Chen, "On joining and caching stochastic streams" (SIGMOD 2005), sections 6.1,
7.5 and 8. What the domain is the paper does not say: here the values from the smallest to the
largest of the data.
"""

from typing import NamedTuple

import numpy as np

from papers.theory.heeb import direct
from penstock.kernel import members as sets
from penstock.kernel import rng as rngs
from penstock.kernel.jit import jit
from penstock.kernel.members import make_choose
from penstock.kernel.policy import CACHING, Policy, Setup
from penstock.models import Ar1, Now
from penstock.models.benefit import Lasting
from penstock.numeric import spline
from penstock.policies.shared import WITH_MEMBERS

POINTS = 5  # along either axis
EVERYTHING = 1 << 62  # rows that are compared for an eviction: all
AHEAD = 8  # alphas that the sum looks ahead: exp(-8) is a part in 3,000


class Surface(NamedTuple):
    """H at every pair of a last reference and a value."""

    low: int  # the value of the first row and column
    worth: np.ndarray  # float64[values, values]: by the last reference, by the value


class SurfaceState(NamedTuple):
    """The surface, and the last reference."""

    members: sets.Members
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]
    low: np.ndarray  # int64[1]
    worth: np.ndarray  # float64[values, values]
    last: np.ndarray  # int64[1]


def surface(model: Ar1, low: int, high: int, alpha: float, points: int = POINTS) -> Surface:
    """Compute H at `points` x `points` control points and refine it to every value.

    >>> made = surface(Ar1(30, 0.7, 40), 0, 200, alpha=10)
    >>> made.worth.shape
    (201, 201)
    """
    at = np.linspace(low, high, points)
    lasting = Lasting("exp", alpha)
    steps = max(1, round(AHEAD * alpha))
    values = np.rint(at).astype(np.int64)
    control = np.array(
        [direct(model, values, Now(0, x), lasting, caching=True, horizon=steps) for x in at]
    )
    fine = spline(points, high - low + 1)
    return Surface(low, fine @ control @ fine.T)


def make_state(setup: Setup) -> SurfaceState:
    """Return an empty cache; the last of `setup.models` is what `surface` returns."""
    assert setup.models is not None, "the surface is computed before"
    made = setup.models[-1]
    return SurfaceState(
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        np.zeros(1, np.bool_),
        np.array([made.low]),
        np.ascontiguousarray(made.worth),
        np.array([made.low]),
    )


@jit
def _within(state, key):
    """Return the place of a value; engines warm up with values that are not in the trace."""
    return min(max(0, key - state.low[0]), len(state.worth) - 1)


@jit
def on_arrival(state, held, slot, now):
    state.last[0] = _within(state, held.key[slot, 0])


@jit
def score(state, held, slot, now):
    return state.worth[state.last[0], _within(state, held.key[slot, 0])]


PRINTED_SURFACE = Policy(
    "printed_surface",
    "HEEB for AR(1) references, by a surface of 25 control points",
    make_state,
    make_choose(score, scan=EVERYTHING),
    on_arrival=on_arrival,
    **WITH_MEMBERS,
    problems=(CACHING,),
    ordered=True,
)
