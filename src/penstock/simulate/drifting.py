"""Streams whose values move: two trends with bounded noise, and two random walks.

In `drift` the values of both streams rise by 1 a step. At step t (0, 1, ...) stream S brings
`t + noise` and stream R, which lags behind, `t - lag + noise`. Because the noise is bounded, the
other stream leaves every value behind at a known step, after which a tuple cannot match any more.
That step is the trace's `end`.

In `walk` each stream starts at 0 and moves by round(N(0, 1)) a step. Near values can be predicted,
far ones cannot. Two walks may part for good, so the number of matches varies widely between seeds,
and a tuple never expires.

Source: TOWER, ROOF, FLOOR and WALK in section 8 of Xie, Yang and Chen, "On Joining and Caching
Stochastic Streams" (SIGMOD 2005).
"""

import functools

import numpy as np

from ..kernel.options import at_least
from ..kernel.rng import source
from ..models import Discrete, Trend, Walk
from ..numeric import Ints
from .traces import JoinTrace, interleave

BOUNDS = (10, 15)  # of the noise of R and of S
DEVIATIONS = {"tower": (1, 2), "roof": (3.3, 5), "floor": (None, None)}  # None: it is uniform


def drift(
    length: int,
    seed: int,
    *,
    noise_r: Discrete,
    noise_s: Discrete,
    lag: int = 1,
    name: str = "drift",
) -> JoinTrace:
    """Return `length` steps of a drifting R and S; one R and one S tuple arrive at each step.

    `lag` is how many steps R is behind S; below 0 it is ahead.

    >>> still = Discrete.uniform(bound=0)
    >>> trace = drift(3, seed=0, noise_r=still, noise_s=still)
    >>> trace.key.tolist()  # R, S, R, S, ...: R brings what S brought a step before
    [-1, 0, 0, 1, 1, 2]
    """
    at_least("length", length, 1)
    step = np.arange(length)
    r = step - lag + noise_r.draw(source(seed, 0), length)
    s = step + noise_s.draw(source(seed, 1), length)
    side, key, time = interleave([r, s])
    # An R tuple expires once S's lowest value, t + lowest, is above it; S likewise.
    end = interleave([r - noise_s.lowest, s - noise_r.lowest + lag])[1]
    return JoinTrace(side, key, time, end, together=True, name=name, value=key)


def drift_models(*, noise_r: Discrete, noise_s: Discrete, lag: int = 1) -> tuple[Trend, Trend]:
    """Return the true models of R and S of `drift`, called with the same arguments.

    A step of the streams is a step of the models: what arrives at time t is X_t.

    >>> still = Discrete.uniform(bound=0)
    >>> r, s = drift_models(noise_r=still, noise_s=still, lag=2)
    >>> r.centre([0, 1, 2]).tolist(), s.centre([0, 1, 2]).tolist()
    ([-2, -1, 0], [0, 1, 2])
    """
    return Trend(1, -lag, noise_r), Trend(1, 0, noise_s)


def drift_as(name: str, length: int, seed: int) -> JoinTrace:
    """Return a drifting R and S with little noise (tower), more (roof), or uniform noise (floor).

    >>> trace = drift_as("tower", 5000, seed=1)
    >>> len(trace), int(trace.end[0] - trace.key[0]), int(trace.end[1] - trace.key[1])
    (10000, 15, 11)
    """
    noise_r, noise_s = noises(name)
    return drift(length, seed, noise_r=noise_r, noise_s=noise_s, name=name)


tower, roof, floor = (functools.partial(drift_as, name) for name in DEVIATIONS)


def named_models(name: str) -> tuple[Trend, Trend]:
    """Return the true models of R and S of tower, roof or floor."""
    noise_r, noise_s = noises(name)
    return drift_models(noise_r=noise_r, noise_s=noise_s)


@functools.cache
def noises(name: str) -> tuple[Discrete, ...]:
    """Return the noises of R and of S of tower, roof or floor.

    >>> [noise.highest for noise in noises("tower")]
    [10, 15]
    """
    return tuple(
        Discrete.uniform(bound) if sd is None else Discrete.normal(sd, bound)
        for sd, bound in zip(DEVIATIONS[name], BOUNDS, strict=True)
    )


def walk(length: int, seed: int) -> JoinTrace:
    """Return `length` steps of two random walks; one R and one S tuple arrive at each step.

    >>> trace = walk(5000, seed=1)
    >>> len(trace), trace.key[:2].tolist(), trace.end is None
    (10000, [0, 0], True)
    """
    at_least("length", length, 1)
    side, key, time = interleave([_positions(length, seed, side) for side in (0, 1)])
    return JoinTrace(side, key, time, together=True, name="walk", value=key)


def walk_models() -> tuple[Walk, Walk]:
    """Return the true models of R and S of `walk`."""
    step = Walk.normal(drift=0, sd=1)
    return step, step


def _positions(length: int, seed: int, side: int) -> Ints:
    moves = np.rint(source(seed, side).standard_normal(length)).astype(np.int64)
    moves[0] = 0
    return np.cumsum(moves)
