"""Numerical methods of models and profiles, in NumPy, Numba and the standard library.

Policies fit models at run time, also on Spark's executors, and would need SciPy for these few
functions only. The tests compare each of them with SciPy.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import BadInput
from .kernel.jit import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Function = Callable[[float], float]
# Plain values, as `json.dumps` takes them.
Json: TypeAlias = "str | float | bool | Sequence[Json] | Mapping[str, Json] | None"

HALVINGS = 60  # of a bracket: 1e-18 of its width is left
MOST_STEPS = 100  # towards a minimum; golden sections alone need 50 for 1e-10 of a bracket
GOLDEN = (3 - math.sqrt(5)) / 2
SQRT_HALF = math.sqrt(0.5)
LONGEST = 40  # characters of a value in an error message


class Estimate(NamedTuple):
    """A number and its standard error; None if it has no usual one, like a bound or a table."""

    value: float
    error: float | None = None


def to_float(number: Any) -> float:
    """Return the nearest float, or an infinity if the number is beyond all floats."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def check_number(name: str, value: Any, low: float = -math.inf, *, above: bool = False) -> float:
    """Return a finite number of at least `low`, or above it; reject everything else.

    >>> check_number("delta", 2, 0)
    2.0
    >>> check_number("delta", -1, 0)
    Traceback (most recent call last):
    penstock.errors.BadInput: delta must be a number of at least 0, got -1
    """
    if is_real(value) and (value > low or (value == low and not above)):
        found = to_float(value)
        if math.isfinite(found):
            return found
    bound = f"number above {low:g}" if above else f"number of at least {low:g}"
    bound = "finite number" if low == -math.inf else bound
    raise BadInput(f"{name} must be a {bound}, got {shown(value)}")


def check_count(name: str, value: Any, low: int) -> int:
    """Return a whole number of at least `low`.

    >>> check_count("sources", 0, 1)
    Traceback (most recent call last):
    penstock.errors.BadInput: sources must be a whole number of at least 1, got 0
    """
    if is_real(value) and value == value // 1 and value >= low:
        return int(value)
    raise BadInput(f"{name} must be a whole number of at least {low}, got {shown(value)}")


def shown(value: Any) -> str:
    """Return the text of a value for an error message, shortened if it is long.

    >>> shown("warm"), shown(10**100), shown(10**5000)
    ("'warm'", '1000000000000000000000000000000000000000...', 'an int too long to be written')
    """
    try:
        text = repr(value)
    except ValueError:  # Python does not write integers of more than 4,300 digits
        return f"an {type(value).__name__} too long to be written"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def is_real(value: Any) -> bool:
    """Tell whether a value is a real number; truth values are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def normal_below(x: ArrayLike) -> Any:
    """Return the probability that a standard normal is below x; it is exact in the lower tail.

    >>> normal_below([-1.96, 0.0]).round(4).tolist()
    [0.025, 0.5]
    """
    given = np.asarray(x, np.float64)
    made = np.empty(given.size)
    _fill_normal(np.ascontiguousarray(given).ravel(), made)
    return made.reshape(given.shape)[()]


@kernel
def _fill_normal(x, made):  # type: ignore[no-untyped-def]
    for place in range(len(x)):
        made[place] = 0.5 * math.erfc(-x[place] * SQRT_HALF)


def chi_square_above(x: float, freedom: int) -> float:
    """Return the probability that a chi-square exceeds x, by the cube root of Wilson and Hilferty.

    >>> round(chi_square_above(18.3, freedom=10), 3)
    0.05
    """
    part = 2 / (9 * freedom)
    return float(normal_below((1 - part - (x / freedom) ** (1 / 3)) / math.sqrt(part)))


def student_within(share: float, freedom: int) -> float:
    """Return the t that a Student variable stays below in size with the given probability.

    >>> round(student_within(0.95, freedom=4), 3)
    2.776
    """
    angle = root(lambda angle: _student_inside(angle, freedom) - share, 0.0, math.pi / 2)
    return math.sqrt(freedom) * math.tan(angle)


def _student_inside(angle: float, freedom: int) -> float:
    """Return Pr(|T| <= t) for t = sqrt(freedom) tan(angle): a finite sum (Abramowitz, 26.7.3)."""
    odd = freedom % 2
    square = math.cos(angle) ** 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0 if freedom == 1 else term
    for step in range(2 + odd, freedom - 1, 2):
        term *= square * (step - 1) / step
        total += term
    inside = math.sin(angle) * total
    return 2 / math.pi * (angle + inside) if odd else inside


def log_factorial(n: ArrayLike) -> Floats:
    """Return the sum of the logarithms of 1 ... n, by Stirling's series where n is large.

    >>> log_factorial([0, 4, 1000]).round(4).tolist()
    [0.0, 3.1781, 5912.1282]
    """
    count = np.asarray(n, np.int64)
    x = np.maximum(count, 16).astype(np.float64)
    series = 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5) - 1 / (1680 * x**7)
    large = (x + 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + series
    small = np.cumsum(np.log(np.maximum(np.arange(17), 1)))
    return np.where(count <= 16, small[np.minimum(count, 16)], large)


def harmonic(n: float) -> float:
    """Return 1 + 1/2 + ... + 1/n, also for n that are no whole numbers.

    >>> round(harmonic(4), 6)
    2.083333
    """
    x, below = n + 1.0, 0.0
    while x < 10:
        below += 1 / x
        x += 1
    tail = 1 / (12 * x**2) - 1 / (120 * x**4) + 1 / (252 * x**6) - 1 / (240 * x**8)
    return math.log(x) - 1 / (2 * x) - tail - below + np.euler_gamma


def root(of: Function, low: float, high: float) -> float:
    """Return where a function that has different signs at both ends is zero, by bisection.

    >>> round(root(lambda x: x * x - 2, 0.0, 2.0), 9)
    1.414213562
    """
    rises = of(low) < 0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if (of(middle) < 0) == rises else (low, middle)
    return float(low + high) / 2


def minimum(of: Function, low: float, high: float, fine: float = 1e-6) -> float:
    """Return where a function with one minimum between both ends has it.

    fine: how exactly, as a part of the distance between the ends.

    Source: Brent, "Algorithms for Minimization without Derivatives" (1973), chapter 5: a parabola
    through the three lowest points so far, and golden sections where that does not help.

    >>> round(minimum(lambda x: abs(x - 0.3), -1.0, 1.0), 5)
    0.3
    """
    close = max(fine * (high - low), 4 * math.ulp(max(abs(low), abs(high))))
    best = second = third = low + GOLDEN * (high - low)
    at_best = at_second = at_third = of(best)
    step = before = 0.0  # the last step, and the one before it
    for _ in range(MOST_STEPS):
        if abs(best - (low + high) / 2) <= 2 * close - (high - low) / 2:
            break
        one = (best - second) * (at_best - at_third)
        other = (best - third) * (at_best - at_second)
        up, down = (best - third) * other - (best - second) * one, 2 * (other - one)
        up, down = (-up, down) if down > 0 else (up, -down)
        if abs(up) < abs(down * before / 2) and down * (low - best) < up < down * (high - best):
            before, step = step, up / down
        else:
            before = (low if best >= (low + high) / 2 else high) - best
            step = GOLDEN * before
        new = best + (step if abs(step) >= close else math.copysign(close, step))
        at_new = of(new)
        if at_new <= at_best:
            low, high = (best, high) if new >= best else (low, best)
            third, at_third, second, at_second = second, at_second, best, at_best
            best, at_best = new, at_new
        else:
            low, high = (new, high) if new < best else (low, new)
            if at_new <= at_second or second == best:
                third, at_third, second, at_second = second, at_second, new, at_new
            elif at_new <= at_third or third in (best, second):
                third, at_third = new, at_new
    return float(best)


@cache
def spline(points: int, fine: int) -> Floats:
    """Return the matrix from values at even points to those of a cubic spline at `fine` points.

    Both cover the same stretch. The first and the last two pieces are one cubic ("not a knot").

    >>> x = np.linspace(0, 1, 5)
    >>> np.allclose(spline(5, 9) @ x**3, np.linspace(0, 1, 9) ** 3)
    True
    """
    bends = np.zeros((points, points))  # the equations of the second derivatives
    steps = np.zeros((points, points))
    for row in range(1, points - 1):
        bends[row, row - 1 : row + 2] = 1, 4, 1
        steps[row, row - 1 : row + 2] = 6, -12, 6
    bends[0, :3] = bends[-1, -3:] = 1, -2, 1
    second = np.linalg.solve(bends, steps)
    place = np.linspace(0, points - 1, fine)
    left = np.minimum(place.astype(np.int64), points - 2)
    here, there = (left + 1 - place)[:, None], (place - left)[:, None]
    one = np.eye(points)
    made = here * one[left] + there * one[left + 1]
    made += ((here**3 - here) * second[left] + (there**3 - there) * second[left + 1]) / 6
    made.flags.writeable = False
    return made
