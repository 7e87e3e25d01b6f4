"""How long a tuple is expected to be kept: L(d), the chance that it is still held d steps on.

Source: table 1 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005).
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.worth import KINDS
from ..errors import BadInput
from ..numeric import harmonic
from .cells import Floats, positive

NOTHING = 1e-9  # a chance too small to count
FARTHEST = 4096  # steps that are looked ahead at most


@dataclass(frozen=True)
class Lasting:
    """One of the forms of L: `exp` and `fixed` have a scale, alpha or a number of steps.

    >>> Lasting("exp", 2.0).of([1, 2]).round(3).tolist()
    [0.607, 0.368]
    >>> Lasting("fixed", 3).of([3, 4]).tolist()
    [1.0, 0.0]
    """

    kind: str = "exp"
    scale: float = 10.0
    given: tuple[float, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.kind not in (*KINDS, "given"):
            raise BadInput(f"L must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if self.kind == "exp":
            positive("alpha", self.scale)
        elif self.kind == "fixed" and not (self.scale >= 1 and float(self.scale).is_integer()):
            raise BadInput(f"steps of a fixed L must be a whole number above 0, got {self.scale!r}")

    @classmethod
    def from_values(cls, values: ArrayLike) -> "Lasting":
        """Return an L given by its values L(1), L(2), ...; beyond them it is 0."""
        chances = np.asarray(values, np.float64)
        if chances.ndim != 1 or not len(chances):
            raise BadInput(f"L must be a list of chances, got {values!r}")
        if not ((chances >= 0) & (chances <= 1)).all():
            raise BadInput(f"L must lie between 0 and 1, got {chances.min()} to {chances.max()}")
        rising = np.flatnonzero(np.diff(chances) > 0)
        if len(rising):
            step = int(rising[0]) + 1
            raise BadInput(
                f"L must not increase: a tuple held at step {step + 1} was held at {step}; got "
                f"{chances[step - 1]:g} then {chances[step]:g}"
            )
        return cls("given", len(chances), tuple(chances.tolist()))

    @property
    def converges(self) -> bool:
        """Whether the chances have a finite sum, so that any join has a finite benefit."""
        return self.kind not in ("inf", "inv")

    @property
    def horizon(self) -> int:
        """After so many steps nothing counts any more, or nothing more is looked at."""
        if self.kind == "exp":
            return min(FARTHEST, max(1, math.ceil(-self.scale * math.log(NOTHING))))
        return int(self.scale) if self.kind in ("fixed", "given") else FARTHEST

    def of(self, d: Any) -> Floats:
        """Return L at steps d = 1, 2, ..."""
        ahead = np.asarray(d, np.float64)
        if self.kind == "exp":
            return np.exp(-ahead / self.scale)
        if self.kind == "fixed":
            return (ahead <= self.scale).astype(np.float64)
        if self.kind == "inv":
            return 1 / ahead
        if self.kind == "inf":
            return np.ones(ahead.shape)
        table = np.append(self.given, 0.0)
        return table[np.minimum(ahead.astype(np.int64), len(table)) - 1]

    def between(self, first: float, last: float) -> float:
        """Return the sum of L over the steps after `first`, up to `last`.

        >>> Lasting("fixed", 3).between(1, 9)
        2.0
        >>> round(Lasting("exp", 2.0).between(0, 2), 3)
        0.974
        """
        if self.kind == "exp":
            rate = 1 / self.scale
            return math.exp(-first * rate) * math.expm1(-(last - first) * rate) / -math.expm1(rate)
        if self.kind == "fixed":
            return float(min(last, self.scale) - min(first, self.scale))
        if self.kind == "inv":
            return harmonic(last) - harmonic(first)
        return float(self.of(np.arange(first + 1, last + 1)).sum())


def alpha_of(lifetime: float) -> float:
    """Return the alpha whose average lifetime, 1 / (1 - exp(-1/alpha)), is the given one."""
    if not lifetime > 1:
        raise BadInput(f"lifetime must be above 1 step, got {lifetime!r}")
    return -1 / math.log1p(-1 / lifetime)
