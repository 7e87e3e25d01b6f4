"""Two streams whose values drift upwards at the same speed, with bounded noise around the trend.

At step t (0, 1, ...) stream S brings `speed * t + noise` and stream R, which lags behind,
`speed * (t - lag) + noise`. Because the noise is bounded, the other stream leaves every value
behind at a known step; after it a tuple can match nothing more. That step is the trace's `end`.

Source: TOWER, ROOF and FLOOR in section 8 of Xie, Yang and Chen, "On Joining and Caching
Stochastic Streams" (SIGMOD 2005).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import BadInput
from ..numeric import normal_below
from .draws import at_least, source
from .trace import Ints, JoinTrace, LookupTrace, interleave


@dataclass(frozen=True)
class Noise:
    """Whole numbers between -bound and bound: a normal cut to cells of width 1, or uniform.

    >>> Noise("uniform", bound=1).pmf().round(3).tolist()
    [0.333, 0.333, 0.333]
    """

    kind: Literal["normal", "uniform"]
    bound: int
    sd: float = 1.0  # the normal's standard deviation before it is cut; unused when uniform

    def __post_init__(self) -> None:
        if self.kind not in ("normal", "uniform"):
            raise BadInput(f"noise must be 'normal' or 'uniform', got {self.kind!r}")
        at_least("bound of the noise", self.bound, 0)
        if not 0 < self.sd < np.inf:
            raise BadInput(f"sd of the noise must be a number above 0, got {self.sd!r}")

    def pmf(self) -> NDArray[np.float64]:
        """Return the probabilities of -bound, ..., bound.

        A normal gives each x its mass on [x - 1/2, x + 1/2]; all are then scaled to sum to one.

        >>> Noise("normal", bound=10, sd=1).pmf()[10].round(6)  # of 0
        np.float64(0.382925)
        """
        if self.kind == "uniform":
            return np.full(2 * self.bound + 1, 1 / (2 * self.bound + 1))
        # Both signs are taken in the lower tail; in the upper one rounding eats the difference.
        low = -np.abs(np.arange(-self.bound, self.bound + 1))
        mass = normal_below((low + 0.5) / self.sd) - normal_below((low - 0.5) / self.sd)
        return np.asarray(mass / mass.sum())

    def draw(self, random: np.random.Generator, count: int) -> Ints:
        """Return `count` independent values."""
        below = np.cumsum(self.pmf())
        cell = np.searchsorted(below / below[-1], random.random(count), side="right")
        return cell - self.bound


def drift(
    length: int,
    seed: int,
    *,
    noise_r: Noise,
    noise_s: Noise,
    lag: int = 1,
    speed: int = 1,
    name: str = "drift",
) -> JoinTrace:
    """Return `length` steps of a drifting R and S; one R and one S tuple arrive at each step.

    `lag` is how many steps R is behind S; below 0 it is ahead.

    >>> still = Noise("uniform", bound=0)
    >>> trace = drift(3, seed=0, noise_r=still, noise_s=still)
    >>> trace.key.tolist()  # R, S, R, S, ...: R brings what S brought a step before
    [-1, 0, 0, 1, 1, 2]
    """
    at_least("length", length, 1)
    at_least("speed", speed, 1)
    r = _values(length, source(seed, 0), noise_r, lag, speed)
    s = _values(length, source(seed, 1), noise_s, 0, speed)
    # An R tuple is dead once S's lower edge, speed * t - bound, is above it; an S tuple likewise.
    end_r = (r + noise_s.bound) // speed
    end_s = (s + noise_r.bound) // speed + lag
    side, key, time = interleave([r, s])
    end = interleave([end_r, end_s])[1]
    return JoinTrace(side, key, time, end, together=True, labels=("R", "S"), name=name, value=key)


def drift_references(
    length: int, seed: int, *, noise: Noise, speed: int = 1, name: str = "drift"
) -> LookupTrace:
    """Return the values of stream S alone: the references of a cache.

    >>> drift_references(3, seed=0, noise=Noise("uniform", bound=0), speed=2).key.tolist()
    [0, 2, 4]
    """
    at_least("length", length, 1)
    at_least("speed", speed, 1)
    key = _values(length, source(seed, 1), noise, 0, speed)
    return LookupTrace(key, name, value=key)


def _values(length: int, random: np.random.Generator, noise: Noise, lag: int, speed: int) -> Ints:
    return speed * (np.arange(length) - lag) + noise.draw(random, length)


# The noises of R and of S.
NOISES = {
    "tower": (Noise("normal", bound=10, sd=1), Noise("normal", bound=15, sd=2)),
    "roof": (Noise("normal", bound=10, sd=3.3), Noise("normal", bound=15, sd=5)),
    "floor": (Noise("uniform", bound=10), Noise("uniform", bound=15)),
}


def tower(length: int, seed: int) -> JoinTrace:
    """Return a drifting R and S with little noise: the future is easy to predict.

    >>> trace = tower(5000, seed=1)
    >>> trace.steps, int(trace.end[0] - trace.key[0]), int(trace.end[1] - trace.key[1])
    (5000, 15, 11)
    """
    return _named("tower", length, seed)


def roof(length: int, seed: int) -> JoinTrace:
    """Return a drifting R and S with wider noise than the tower's.

    >>> len(roof(5000, seed=1))
    10000
    """
    return _named("roof", length, seed)


def floor(length: int, seed: int) -> JoinTrace:
    """Return a drifting R and S with uniform noise: every value within the bounds is as likely.

    >>> len(floor(5000, seed=1))
    10000
    """
    return _named("floor", length, seed)


def tower_references(length: int, seed: int) -> LookupTrace:
    """Return the S stream of `tower` with the same seed as a reference stream.

    >>> bool((tower_references(9, seed=1).key == tower(9, seed=1).key[1::2]).all())
    True
    """
    return _named_references("tower", length, seed)


def roof_references(length: int, seed: int) -> LookupTrace:
    """Return the S stream of `roof` with the same seed as a reference stream."""
    return _named_references("roof", length, seed)


def floor_references(length: int, seed: int) -> LookupTrace:
    """Return the S stream of `floor` with the same seed as a reference stream."""
    return _named_references("floor", length, seed)


def _named(name: str, length: int, seed: int) -> JoinTrace:
    noise_r, noise_s = NOISES[name]
    return drift(length, seed, noise_r=noise_r, noise_s=noise_s, name=name)


def _named_references(name: str, length: int, seed: int) -> LookupTrace:
    return drift_references(length, seed, noise=NOISES[name][1], name=name)
