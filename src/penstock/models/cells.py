"""Values as whole multiples of a unit: cell k of the line is the value k * unit.

Keys are compared for equality, so a model must give probabilities of values, not densities. A
temperature read to a tenth of a degree has the unit 0.1, and 20.7 is cell 207.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import BadInput
from ..numeric import Floats, normal_below

Ints = NDArray[np.int64]

OFF = 1e-4  # largest distance from a cell, in units: 32-bit floats are no more exact
FINEST = 6  # decimals tried to find a unit
FARTHEST = 2.0**61  # distance from 0, in units; steps between values must fit in 64 bits
WIDEST = 1 << 22  # largest number of cells of a table of probabilities
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
        " pass unit= or round them"
    )


class Grid(NamedTuple):
    """Data on their cells."""

    values: np.ndarray
    cell: Ints
    unit: float


def on_grid(data: ArrayLike, unit: float | None, least: int = 2) -> Grid:
    """Return data on the cells of a unit: the given one, or the largest that fits the data.

    >>> on_grid([20.7, 20.9], unit=None).cell
    array([207, 209])
    """
    values = numbers("data", data)
    if len(values) < least:
        raise BadInput(f"data must hold at least {least} values, got {len(values)}")
    unit = find_unit("data", values) if unit is None else positive("unit", unit)
    cell = data_cells(values, unit)
    return Grid(to_values(cell, unit), cell, unit)


def positive(name: str, value: float) -> float:
    """Return a number if it is above 0 and finite."""
    if not _is_number(value) or not 0 < value < np.inf:
        raise BadInput(f"{name} must be a number above 0, got {value!r}")
    return float(value)


def finite(name: str, value: float) -> float:
    """Return a number if it is finite."""
    if not _is_number(value) or not np.isfinite(value):
        raise BadInput(f"{name} must be a finite number, got {value!r}")
    return float(value)


def wanted(v: Any) -> np.ndarray:
    """Return the values asked about as an array; reject what is not a number."""
    many = np.asarray(v)
    _reject_other_kinds("v (value of a key)", many)
    return many


def to_cells(values: Any, unit: float) -> tuple[Ints, NDArray[np.bool_]]:
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


def data_cells(data: np.ndarray, unit: float) -> Ints:
    """Return the cells of data; reject a value that lies between two cells."""
    cell, on = to_cells(data, unit)
    far = np.abs(cell.astype(np.float64)) > FARTHEST
    if far.any():
        raise BadInput(
            f"data must lie within {FARTHEST:g} units of 0, got {data[np.argmax(far)]};"
            " such keys are names rather than numbers: no model of values fits them"
        )
    if not on.all():
        row = int(np.argmin(on))
        raise BadInput(
            f"data must be multiples of the unit {unit:g}, got {data[row]} at place {row};"
            " pass another unit= or round the data"
        )
    return cell


def to_values(cell: Any, unit: float) -> np.ndarray:
    """Return the values of cells: integers if the unit is a whole number.

    >>> to_values([207], unit=0.1)  # and not 20.700000000000003
    array([20.7])
    """
    many = np.asarray(cell)
    if unit == int(unit):
        return many.astype(np.int64) * int(unit)
    parts = round(1 / unit)
    if parts and abs(parts * unit - 1) < 1e-12:
        return many / parts
    return many * unit


@contextmanager
def spanning(cells: int) -> Iterator[None]:
    """Let tables of probabilities span at most so many cells meanwhile: each takes some 130 bytes.

    >>> with spanning(10):
    ...     check_span("data", 0, 10)
    Traceback (most recent call last):
    ...
    penstock.errors.BadInput: data must span at most 10 units, got 11; pass a coarser unit=
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
        raise BadInput(f"{what} must span at most {widest} units, got {span}; pass a coarser unit=")


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


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
