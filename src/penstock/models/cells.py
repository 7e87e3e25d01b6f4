"""Whole numbers, and distributions of them; other numbers as multiples of a unit.

Keys are compared for equality, so a model must give probabilities of values, not densities. Models
are about whole numbers: a temperature of 20.7, read to a tenth of a degree, is 207 of its unit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import BadInput
from ..kernel.options import at_least
from ..numeric import Floats, Ints, check_number, normal_below, root

OFF = 1e-4  # largest distance from a cell, in units: 32-bit floats are no more exact
FINEST = 6  # decimals tried to find a unit
FARTHEST = 2.0**61  # distance from 0; steps between values must fit in 64 bits
WIDEST = 1 << 22  # largest number of cells of a table of probabilities
ONE = 1e-9  # largest difference between the sum of all masses and 1
ZERO = 1e-6  # largest distance of the mean from zero, in standard deviations
TAIL = 9  # standard deviations; the mass beyond is 1e-19
_widest = ContextVar("_widest", default=WIDEST)


def numbers(name: str, data: ArrayLike) -> np.ndarray:
    """Return data as a one-dimensional array of numbers; reject anything else.

    >>> numbers("data", [1, 2.5])
    array([1. , 2.5])
    """
    try:
        values = np.asarray(data)
    except ValueError:  # rows of different lengths
        raise BadInput(f"{name} must be one column of numbers, got rows of several") from None
    if values.ndim != 1:
        raise BadInput(f"{name} must be one column of numbers, got {values.ndim} dimensions")
    _reject_other_kinds(name, values)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    values = values.astype(np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise BadInput(f"{name} must hold finite numbers, got {values[row]} at place {row}")
    return values


def find_unit(name: str, data: ArrayLike) -> float:
    """Return the largest unit with at most `FINEST` decimals that all values are multiples of.

    >>> find_unit("data", [20.7, 18.4, 19.0]), find_unit("data", [10, 40, 30])
    (0.1, 10.0)
    """
    values = numbers(name, data)
    for decimals in range(FINEST + 1):
        scaled = values * 10**decimals
        if decimals == 0 and values.dtype.kind == "i":
            near = values
        elif (np.abs(scaled - np.rint(scaled)) < OFF).all():
            near = np.rint(scaled).astype(np.int64)
        else:
            continue
        return float(max(int(np.gcd.reduce(near)), 1) / 10**decimals)
    raise BadInput(
        f"{name} must be multiples of one unit, got numbers finer than {10.0**-FINEST:g};"
        " round them"
    )


def whole_numbers(data: ArrayLike, least: int = 2) -> Ints:
    """Return data of at least so many whole numbers; reject anything else.

    >>> whole_numbers([3.0, 4.0])
    array([3, 4])
    """
    values = numbers("data", data)
    if len(values) < least:
        raise BadInput(f"data must hold at least {least} values, got {len(values)}")
    cell, on = to_cells(values)
    far = np.abs(cell.astype(np.float64)) > FARTHEST
    if far.any():
        raise BadInput(
            f"data must lie within {FARTHEST:g} of 0, got {values[np.argmax(far)]};"
            " such keys are names rather than numbers: no model of values fits them"
        )
    if not on.all():
        row = int(np.argmin(on))
        raise BadInput(
            f"data must be whole numbers, got {values[row]} at place {row};"
            " divide them by their unit, or round them"
        )
    return cell


def wanted(v: ArrayLike) -> np.ndarray:
    """Return the values asked about as an array; reject what is not a number."""
    many = np.asarray(v)
    _reject_other_kinds("v (value of a key)", many)
    return many


def to_cells(values: ArrayLike, unit: float = 1) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the nearest cells of values, and which values lie on their cell.

    >>> to_cells([20.7, 20.75], unit=0.1)
    (array([207, 208]), array([ True, False]))
    """
    many = wanted(values)
    if many.dtype.kind in "iu" and unit == 1:
        return many.astype(np.int64), np.ones(many.shape, np.bool_)
    exact = many / unit
    near = np.rint(exact)
    inside = np.abs(near) < 2.0**62  # beyond, and for NaN: no cell
    cell = np.where(inside, near, 0).astype(np.int64)
    return cell, inside & (np.abs(exact - cell) < OFF)


@contextmanager
def spanning(cells: int) -> Iterator[None]:
    """Let tables of probabilities span at most so many cells meanwhile: each takes some 130 bytes.

    >>> with spanning(10):
    ...     check_span("data", 0, 10)
    Traceback (most recent call last):
    ...
    penstock.errors.BadInput: data must span at most 10 units, got 11; take a coarser unit
    """
    before = _widest.set(cells)
    try:
        yield
    finally:
        _widest.reset(before)


def cell_mass(cell: Any, mean: Any, sd: Any) -> Floats:
    """Return the mass of a normal on [cell - 1/2, cell + 1/2]; all three may be arrays.

    >>> cell_mass(0, mean=0, sd=1).round(6)
    np.float64(0.382925)
    """
    # Computed in the lower tail; in the upper one the difference is lost to rounding.
    off = -np.abs(cell - np.asarray(mean))
    return normal_below((off + 0.5) / sd) - normal_below((off - 0.5) / sd)


def check_span(what: str, lowest: int, highest: int) -> None:
    """Reject a range too wide for a table of probabilities."""
    span, widest = int(highest) - int(lowest) + 1, _widest.get()
    if span > widest:
        raise BadInput(f"{what} must span at most {widest} units, got {span}; take a coarser unit")


def _reject_other_kinds(name: str, values: np.ndarray) -> None:
    if values.dtype.kind not in "iuf" and values.size:
        shown = values.flat[0]
        shown = shown.item() if isinstance(shown, np.generic) else shown
        raise BadInput(
            f"{name} must be numeric, got {shown!r}; a model of values needs numbers:"
            " number such keys first"
        )
    if values.dtype.kind == "u" and values.size and values.max() > np.iinfo(np.int64).max:
        raise BadInput(f"{name} must fit in 64 bits with a sign, got {values.max()}")


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
        check_number("sd of the noise", sd, 0, above=True)
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
        check_number("mean", mean)
        check_number("sd", sd, 0, above=True)
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
