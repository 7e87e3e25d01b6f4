"""A discrete distribution on whole numbers: the noise around a trend, the steps of a walk."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..core.options import at_least
from ..errors import BadInput
from ..numeric import Floats, root
from .cells import Ints, cell_mass, check_span, finite, numbers, positive

ONE = 1e-9  # largest difference between the sum of all masses and 1
ZERO = 1e-6  # largest distance of the mean from zero, in standard deviations
TAIL = 9  # standard deviations; the mass beyond is 1e-19


@dataclass(frozen=True, eq=False, repr=False)
class Discrete:
    """The masses of lowest, lowest + 1, ...

    >>> coin = Discrete(-1, [0.5, 0, 0.5])
    >>> coin.of([-1, 0, 1, 2]).tolist(), coin.mean, coin.sd
    ([0.5, 0.0, 0.5, 0.0], 0.0, 1.0)
    """

    lowest: int
    mass: Floats

    def __post_init__(self) -> None:
        mass = np.array(self.mass, dtype=np.float64)
        if mass.ndim != 1 or not mass.size:
            raise BadInput(f"mass must be a list of probabilities, got {self.mass!r}")
        if not (mass >= 0).all():  # NaN too
            raise BadInput(f"mass must not be negative, got {mass[~(mass >= 0)][0]}")
        if not abs(mass.sum() - 1) <= ONE:
            raise BadInput(f"mass must sum to one, got {mass.sum():.9g}; divide it by its sum")
        mass.flags.writeable = False
        object.__setattr__(self, "mass", mass)

    def __repr__(self) -> str:
        return f"Discrete({self.lowest} to {self.highest}, mean {self.mean:.4g}, sd {self.sd:.4g})"

    @classmethod
    def normal(cls, sd: float, bound: int) -> "Discrete":
        """Return a normal around 0, cut to cells of width 1 and to -bound .. bound.

        >>> Discrete.normal(sd=1, bound=10).of(0).round(6)
        np.float64(0.382925)
        """
        at_least("bound of the noise", bound, 0)
        positive("sd of the noise", sd)
        mass = cell_mass(np.arange(-bound, bound + 1), 0, sd)
        return cls(-bound, mass / mass.sum())

    @classmethod
    def uniform(cls, bound: int) -> "Discrete":
        """Return the same mass for each of -bound .. bound.

        >>> Discrete.uniform(1).mass.round(3).tolist()
        [0.333, 0.333, 0.333]
        """
        at_least("bound of the noise", bound, 0)
        return cls(-bound, np.full(2 * bound + 1, 1 / (2 * bound + 1)))

    @classmethod
    def rounded(cls, mean: float, sd: float) -> "Discrete":
        """Return the distribution of round(N(mean, sd)).

        >>> round(Discrete.rounded(0.5, 1).mean, 9)
        0.5
        """
        finite("mean", mean)
        positive("sd", sd)
        low, high = int(np.floor(mean - TAIL * sd)), int(np.ceil(mean + TAIL * sd))
        check_span("a rounded normal", low, high)
        mass = cell_mass(np.arange(low, high + 1), mean, sd)
        return cls(low, mass / mass.sum())

    @classmethod
    def empirical(cls, samples: ArrayLike) -> "Discrete":
        """Return the distribution of the samples, which are whole numbers.

        >>> Discrete.empirical([3, 5, 5, 3]).mass.tolist()
        [0.5, 0.0, 0.5]
        """
        values = numbers("samples", samples)
        if not values.size or (np.rint(values) != values).any():
            raise BadInput(f"samples must be one or more whole numbers, got {samples!r}")
        low, high = int(values.min()), int(values.max())
        check_span("samples", low, high)
        return cls(low, np.bincount(values.astype(np.int64) - low) / len(values))

    @property
    def highest(self) -> int:
        """The largest number in the table."""
        return self.lowest + len(self.mass) - 1

    @property
    def support(self) -> Ints:
        """All numbers in the table, including those without mass."""
        return np.arange(self.lowest, self.highest + 1)

    @property
    def mean(self) -> float:
        """The expected number."""
        return float(self.support @ self.mass)

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return float(np.sqrt((self.support - self.mean) ** 2 @ self.mass))

    def of(self, x: ArrayLike) -> Floats:
        """Return the probabilities of whole numbers."""
        place = np.asarray(x) - self.lowest
        inside = (place >= 0) & (place < len(self.mass))
        return np.where(inside, self.mass[np.where(inside, place, 0)], 0.0)[()]

    def draw(self, random: np.random.Generator, count: int) -> Ints:
        """Return `count` independent numbers."""
        below = np.cumsum(self.mass)
        return self.lowest + np.searchsorted(below / below[-1], random.random(count), side="right")

    def centred(self) -> "Discrete":
        """Return the likeliest distribution of mean zero for samples that gave this one.

        Each mass p(x) becomes p(x) / (1 + a x) with the one `a` that makes the mean zero; this is
        the constrained maximum of the likelihood (Owen, "Empirical Likelihood", section 2.9).

        >>> Discrete(-1, [0.2, 0.5, 0.3]).centred().mass.round(3).tolist()
        [0.25, 0.5, 0.25]
        """
        x, p = self.support, self.mass
        held = x[p > 0]
        low, high = int(held[0]), int(held[-1])
        if low == high == 0:
            return self
        if low >= 0 or high <= 0:
            raise BadInput(
                f"noise must lie on both sides of 0 to have a mean of zero, got {low} to {high}"
            )
        edge = 1 - 1e-12  # every 1 + a x must stay above 0
        a = root(lambda a: float((p * x / (1 + a * x)).sum()), -edge / high, -edge / low)
        mass = np.where(p > 0, p / (1 + a * x), 0.0)
        return Discrete(self.lowest, mass / mass.sum())


def check_zero_mean(noise: Discrete) -> None:
    """Reject noise that would shift the values that it is added to."""
    if abs(noise.mean) > ZERO * max(noise.sd, 1.0):
        raise BadInput(
            f"noise must have a mean of zero, got {noise.mean:.6g};"
            " use noise.centred(), or move the trend by the mean"
        )
