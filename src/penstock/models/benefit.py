"""H computed beforehand: tables from which a policy reads the worth of any row at any time.

H is the sum over future steps d of the benefit of a row at that step times L(d), the probability
that the row is still held then (`Lasting`, table 1 of the source).

H of a row depends only on its relation to the other stream (corollary 5, theorem 3): for a trend on
the distance from its line, for a walk on the distance from its last value, for an autoregression on
its own value and the last one, for a season on these and the phase. A table covers all of it, for
several forms of L at once. Keys are whole numbers: the cells of the model.

For an exponential L and a model that does not depend on time, a cache and a join need one table:
the first visit to v and the returns from v to v make up all visits, so
H_caching(v, x) = H_joining(v, x) / (1 + H_joining(v, v)).

Source: section 6.1 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD
2005); seasons and the relation above go beyond it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..kernel import gains as layout
from ..kernel.jit import kernel
from ..numeric import Floats, Ints, check_number, harmonic, spline
from .autoregression import Ar1, Autoregression, Seasonal
from .cells import Discrete, cell_mass, to_cells
from .independent import Stationary, Trend
from .model import Now
from .walk import Walk, added

NEGLIGIBLE = 1e-9  # a probability that no longer counts
FARTHEST = 4096  # steps ahead that are considered at most
FINE = 8  # points per cell if the line passes between whole numbers
WIDEST = 1 << 16  # points of a curve
WALK_STEPS = 2048  # steps ahead at most
WALK_CELLS = 64  # cells of a wide step at least
WALK_AHEAD = 64  # steps ahead at least: distant values of little worth are still ranked
REACH = 5.0  # standard deviations of an autoregression that a surface covers
CONTROL = (41, 81)  # points at which a surface is computed: last values, values
POINTS = (81, 401)  # points to which it is then refined
SEASON_POINTS = (53, 13, 129)  # phases, last values, values
WIDE_POINTS = 1024  # into which the noise is divided
WIDE_AHEAD = 2  # widths of the noise ahead at most: the line has passed by then
FORGOTTEN = 1e-4  # remaining effect of the last value that is neglected


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

    def __post_init__(self) -> None:
        if self.kind not in layout.KINDS:
            raise BadInput(f"L must be one of {', '.join(layout.KINDS)}, got {self.kind!r}")
        if self.kind == "exp":
            check_number("alpha", self.scale, 0, above=True)
        elif self.kind == "fixed" and not (self.scale >= 1 and float(self.scale).is_integer()):
            raise BadInput(f"steps of a fixed L must be a whole number above 0, got {self.scale!r}")

    @property
    def horizon(self) -> int:
        """The number of steps that count, or that are considered at most."""
        if self.kind == "exp":
            return min(FARTHEST, max(1, math.ceil(-self.scale * math.log(NEGLIGIBLE))))
        return int(self.scale) if self.kind == "fixed" else FARTHEST

    def of(self, d: Any) -> Floats:
        """Return L at steps d = 1, 2, ..."""
        ahead = np.asarray(d, np.float64)
        if self.kind == "exp":
            return np.exp(-ahead / self.scale)
        if self.kind == "fixed":
            return (ahead <= self.scale).astype(np.float64)
        return 1 / ahead if self.kind == "inv" else np.ones(ahead.shape)

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
        return harmonic(last) - harmonic(first) if self.kind == "inv" else float(last - first)


def alpha_of(lifetime: float) -> float:
    """Return the alpha whose mean lifetime, 1 / (1 - exp(-1/alpha)), is the given one."""
    if not lifetime > 1:
        raise BadInput(f"lifetime must be above 1 step, got {lifetime!r}")
    return -1 / math.log1p(-1 / lifetime)


class BenefitTable(NamedTuple):
    """H over all positions; the meaning of the axes depends on the form."""

    form: int
    numbers: Floats  # float64[7]: see `kernel.gains`
    keys: Ints  # int64[n]: the values of a stationary stream
    worth: Floats  # float64[forms of L, phases, last values, values]


def tabulate(model: Any, lastings: Sequence[Lasting], caching: bool = False) -> BenefitTable:
    """Return the table of a model, one layer per form of L."""
    if not caching and any(lasting.kind in ("inf", "inv") for lasting in lastings):
        raise BadInput("L must be exp or fixed for joining: with inf and inv benefits are infinite")
    for kind, make in MAKERS.items():
        if isinstance(model, kind):
            return make(model, list(lastings), caching)
    raise BadInput(
        f"HEEB needs a model of kind {', '.join(kind.__name__ for kind in MAKERS)}, "
        f"got {type(model).__name__}"
    )


def _table(form: int, worth: Floats, keys: Ints | None = None, **given: float) -> BenefitTable:
    """Return a table; `given` are its numbers by the names of their places in `kernel.gains`."""
    numbers = np.zeros(7)
    numbers[[layout.STEP, layout.X_STEP, layout.PERIOD]] = 1
    for name, value in given.items():
        numbers[getattr(layout, name.upper())] = value
    axes = worth[:, None, None, :] if worth.ndim == 2 else worth
    return BenefitTable(form, numbers, np.zeros(0, np.int64) if keys is None else keys, axes)


def _weights(lastings: list[Lasting], most: int, least: int = 1) -> Floats:
    """Return L of each form at steps 1, 2, ..., as long as any of them counts."""
    steps = max(least, min(most, max(lasting.horizon for lasting in lastings)))
    ahead = np.arange(1, steps + 1)
    return np.stack([lasting.of(ahead) for lasting in lastings])


def _stationary(model: Stationary, lastings: list[Lasting], caching: bool) -> BenefitTable:
    p = model.probabilities
    keys = to_cells(model.values, 1)[0]
    layers = []
    for lasting in lastings:
        ahead = np.arange(1, lasting.horizon + 1)
        weights = lasting.of(ahead)
        if not caching:
            layers.append(p * weights.sum())
        elif lasting.kind == "exp":
            z = np.exp(-1 / lasting.scale)
            layers.append(p * z / (1 - (1 - p) * z))
        else:
            layers.append(sum(w * p * (1 - p) ** (d - 1) for d, w in zip(ahead, weights)))
    return _table(layout.STATIONARY, np.array(layers), keys)


def _trend(model: Trend, lastings: list[Lasting], caching: bool) -> BenefitTable:
    level, slope = model.intercept, model.slope
    if slope == 0:
        here = np.arange(model.noise.lowest, model.noise.highest + 1) + model.centre(0)
        return _stationary(Stationary(here, model.noise.mass), lastings, caching)
    noise, size = model.noise, abs(slope)
    line: dict[str, Any] = {"level": level, "slope": slope}
    if len(noise.mass) > WIDE_POINTS:
        low, worth = beside_wide(noise, slope, lastings, caching)
        return _table(layout.LINE, worth, low=low, step=_grid_step(noise), **line)
    fine = 1 if float(slope).is_integer() and float(level).is_integer() else FINE
    weights = _weights(lastings, int(WIDEST / fine / size) + 1)
    steps = weights.shape[1]
    # The line moves on, so values ahead of it can occur and those behind it cannot.
    far = slope * steps
    low = np.floor(noise.lowest + min(far, slope)) - 1
    high = np.ceil(noise.highest + max(far, slope)) + 1
    offset = low + np.arange(int((high - low) * fine) + 1) / fine
    line |= {"low": low, "step": 1 / fine}
    if fine == 1 and not caching and all(lasting.kind == "exp" for lasting in lastings):
        behind = int(size)  # the curve starts a step after the noise does
        span = np.arange(int(low) - behind, int(high) + behind + 1)
        mass = noise.of(span)
        curves = [_along(mass, int(slope), lasting.scale) for lasting in lastings]
        return _table(layout.LINE, np.array(curves)[:, behind:-behind], **line)
    worth = np.zeros((len(lastings), len(offset)))
    away = np.ones(len(offset))  # the probability that the value has not occurred yet
    for d in range(1, steps + 1):
        first = max(0, int((noise.lowest + slope * d - 1 - low) * fine))
        last = min(len(offset), int((noise.highest + slope * d + 1 - low) * fine) + 1)
        part = slice(first, last)
        # v - round(line), with halves rounded up as in the model, in terms of v - line
        p = noise.of(np.ceil(offset[part] - slope * d - 0.5).astype(np.int64))
        worth[:, part] += weights[:, d - 1, None] * (p * away[part] if caching else p)
        away[part] *= 1 - p
    return _table(layout.LINE, worth, **line)


def _grid_step(noise: Discrete) -> float:
    """Return the number of cells between two points."""
    return len(noise.mass) / WIDE_POINTS


def beside_wide(
    noise: Discrete, slope: float, lastings: list[Lasting], caching: bool
) -> tuple[float, Floats]:
    """Return H beside a trend in wide noise: the distance of the first point, and layers of points.

    If the noise spans tens of thousands of cells and the line rises slowly, neighbouring values
    have nearly the same H, and the probabilities of a value hardly change from step to step. So
    cells are taken together, as are the steps that the line needs for one point of the grid. The
    cost depends neither on the width of the noise nor on the number of steps ahead.

    >>> low, worth = beside_wide(Discrete.normal(1000, 3000), 0.1, [Lasting("exp", 1e8)], False)
    >>> worth.shape, round(float(worth.max()), 1)  # the line passes a value once, 10 steps per cell
    ((1, 3073), 10.0)
    """
    forth = noise if slope > 0 else Discrete(-noise.highest, noise.mass[::-1])
    step = _grid_step(noise)
    stride = step / abs(slope)  # steps until the line has moved by one point
    reach = max(_wide_reach(lasting) for lasting in lastings)
    blocks = int(min(np.ceil(reach / stride), WIDE_AHEAD * WIDE_POINTS))
    low = float(forth.lowest) - 0.5
    # The mean distance of a value from the line, over a block of steps, lies between two points.
    chance = np.diff(_below(forth, low + step * np.arange(-1, WIDE_POINTS + 1))) / step
    worth = np.zeros((len(lastings), WIDE_POINTS + blocks + 1))
    away = np.ones(worth.shape[1])  # the probability that the value has not occurred yet
    for block in range(blocks):
        first, last = np.floor([block * stride, (block + 1) * stride])
        if last == first:
            continue
        part = slice(block, block + len(chance))
        weights = np.array([lasting.between(first, last) for lasting in lastings])[:, None]
        missed = (1 - chance) ** (last - first)
        met = (1 - missed) / (last - first) * away[part] if caching else chance
        worth[:, part] += weights * met
        away[part] *= missed
    if slope > 0:
        return low, worth
    return -(low + step * (worth.shape[1] - 1)), worth[:, ::-1]


def _below(noise: Discrete, x: ArrayLike) -> Floats:
    """Return the probability of less than x, with the mass of a cell spread over its width."""
    edges = np.arange(noise.lowest, noise.highest + 2) - 0.5
    return np.interp(np.asarray(x), edges, np.concatenate([[0.0], np.cumsum(noise.mass)]))


def _wide_reach(lasting: Lasting) -> float:
    """Return the number of steps after which L is negligible."""
    if lasting.kind == "exp":
        return lasting.scale * 20.0
    return float(lasting.scale) if lasting.kind == "fixed" else np.inf


def _along(mass: Floats, slope: int, alpha: float) -> Floats:
    """Return H from that of the neighbour (corollary 5): h(o + a) = exp(-1/alpha) (h(o) + q(o)).

    The cost does not depend on the number of steps ahead, which matters if the noise is wide.
    """
    ahead = np.ascontiguousarray(mass if slope > 0 else mass[::-1])
    curve = np.zeros(len(ahead))
    _step_on(ahead, abs(slope), np.exp(-1 / alpha), curve)
    return curve if slope > 0 else curve[::-1]


@kernel
def _step_on(mass, size, z, curve):
    for place in range(size, len(mass)):
        curve[place] = z * (curve[place - size] + mass[place - size])


def _walk(model: Walk, lastings: list[Lasting], caching: bool) -> BenefitTable:
    weights = _weights(lastings, WALK_STEPS, WALK_AHEAD)
    step, cells = _coarse(model.step)
    sums = list(accumulate(repeat(step, weights.shape[1]), added))
    low, high = min(0, *(each.lowest for each in sums)), max(0, *(each.highest for each in sums))
    way = np.zeros((weights.shape[1], high - low + 1))
    for row, each in zip(way, sums):
        row[each.lowest - low : each.highest - low + 1] = each.mass / cells
    fine = model.step
    if fine.lowest == -fine.highest and np.allclose(fine.mass, fine.mass[::-1], rtol=1e-12):
        # Rounding must not break ties between both directions.
        way = (way + way[:, ::-1]) / 2
    all_exponential = all(lasting.kind == "exp" for lasting in lastings)
    worth = weights @ (
        way if all_exponential or not caching else first_visits(way.T, way[None, :, -low]).T
    )
    if caching and all_exponential:
        worth /= 1 + worth[:, -low, None]
    return _table(layout.WALK, worth, low=low * cells, step=cells)


def _coarse(step: Discrete) -> tuple[Discrete, int]:
    """Return the step of a walk in larger cells, and their size: an odd number of cells.

    If the steps of a walk are wide, neighbouring values have nearly the same H, and to follow the
    walk cell by cell would take minutes.
    """
    cells = len(step.mass) // WALK_CELLS
    cells += 1 - cells % 2
    if cells == 1:
        return step, 1
    place = (np.arange(step.lowest, step.highest + 1) + cells // 2) // cells
    return Discrete(int(place[0]), np.bincount(place - place[0], step.mass).astype(float)), cells


def first_visits(visits: Floats, again: Floats) -> Floats:
    """Return the probabilities of first visits to values from those of all: values, steps.

    To be at a value after d steps, the stream must visit it for the first time at some step i and
    be there again d - i steps later; subtracting the later visits leaves the first ones. `again`
    are the probabilities of returns.
    """
    first, last = visits.copy(), visits.shape[1]
    for i in range(last - 1):
        np.maximum(first[:, i], 0.0, out=first[:, i])
        first[:, i + 1 :] -= first[:, i : i + 1] * again[:, : last - 1 - i]
    return np.maximum(first, 0.0)


def _ar1(model: Ar1, lastings: list[Lasting], caching: bool) -> BenefitTable:
    low, high = model.mean - REACH * model.sd, model.mean + REACH * model.sd
    x, v = (np.linspace(low, high, count) for count in CONTROL)
    worth = _ar1_at(model, lastings, x, v, caching)
    along_x, along_v = (spline(*counts) for counts in zip(CONTROL, POINTS, strict=True))
    smooth = along_x @ worth @ along_v.T
    x_step, step = ((high - low) / (count - 1) for count in POINTS)
    return _table(layout.SURFACE, smooth[:, None], low=low, step=step, x_low=low, x_step=x_step)


def _ar1_at(model: Ar1, lastings: list[Lasting], x: Floats, v: Floats, caching: bool) -> Floats:
    """Return H at control points: forms of L, last values, values."""
    if not caching:
        return _visits(model, lastings, x[:, None], v[None, :])
    quick = [lasting for lasting in lastings if lasting.kind == "exp"]
    again = _visits(model, quick, v, v)[:, None, :]
    layers = iter(_visits(model, quick, x[:, None], v[None, :]) / (1 + again))
    return np.stack(
        [
            next(layers) if lasting.kind == "exp" else _ar1_first_visits(model, lasting, x, v)
            for lasting in lastings
        ]
    )


def _ar1_first_visits(model: Ar1, lasting: Lasting, x: Floats, v: Floats) -> Floats:
    """Return H of a cache; the state at a visit is the value v, correct to a half."""
    ahead = np.arange(1, min(lasting.horizon, 512) + 1)
    weights, rows = lasting.of(ahead), []
    cells = np.rint(v)[:, None]
    again = model.prob(cells, ahead, Now(0, cells))
    for one in x:
        first = first_visits(model.prob(cells, ahead, Now(0, one)), again)
        total = np.minimum(np.cumsum(first, axis=1), 1.0)
        rows.append(np.diff(total, axis=1, prepend=0.0) @ weights)
    return np.array(rows)


def _visits(model: Ar1, lastings: list[Lasting], x: Floats, v: Floats) -> Floats:
    """Return the weighted probabilities of all visits to v, with few steps that depend on x."""
    mean, memory = model.mean, _memory(model.phi)
    weights = [lasting.of(np.arange(1, lasting.horizon + 1)) for lasting in lastings]
    total = np.zeros((len(lastings), *np.broadcast_shapes(x.shape, v.shape)))
    near = min(memory, max(map(len, weights), default=0))  # if phi is near 1, all steps depend on x
    for d in range(1, near + 1):
        p = cell_mass(v, mean + model.phi**d * (x - mean), _sd_after(model, d))
        for layer, weight in zip(total, weights, strict=True):
            if d <= len(weight):
                layer += weight[d - 1] * p
    late = cell_mass(v, mean, model.sd)
    for layer, weight in zip(total, weights, strict=True):
        layer += weight[memory:].sum() * late
    return total


def _sd_after(model: Autoregression, d: int) -> float:
    """Return the standard deviation after d steps, in cells."""
    return float(model.sd_after(np.asarray(d)))


def _memory(phi: float) -> int:
    """Return the number of steps after which a value has no more effect."""
    return 1 if phi == 0 else int(np.ceil(np.log(FORGOTTEN) / np.log(abs(phi)))) + 1


def _seasonal(model: Seasonal, lastings: list[Lasting], caching: bool) -> BenefitTable:
    phases, lasts, values = SEASON_POINTS
    phases = max(4, min(phases, round(model.period)))
    sd = model.sd
    season = model.season(np.arange(round(model.period) + 1))
    low, high = season.min() - REACH * sd, season.max() + REACH * sd
    v = np.linspace(low, high, values)
    off = np.linspace(-REACH * sd, REACH * sd, lasts)
    weights = _weights(lastings, max(_memory(model.phi) + 1, min(2048, int(4 * model.period))))
    layers = [
        _season_at(model, phase * model.period / phases, weights, off, v, caching)
        for phase in range(phases)
    ]
    return _table(
        layout.SEASON,
        np.stack(layers, axis=1),
        low=low,
        step=(high - low) / (values - 1),
        x_low=off[0],
        x_step=off[1] - off[0],
        period=model.period,
    )


def _season_at(
    model: Seasonal, time: float, weights: Floats, off: Floats, v: Floats, caching: bool
) -> Floats:
    """Return H at one phase: forms of L, last distances from the season, values."""
    near = min(_memory(model.phi), weights.shape[1])
    worth = np.zeros((len(weights), len(off), len(v)))
    away = np.ones((len(off), len(v)))
    ahead = np.arange(1, weights.shape[1] + 1)
    season = model.season(time + ahead)
    for d in range(1, near + 1):
        mean = season[d - 1] + model.phi**d * off[:, None]
        p = cell_mass(v[None, :], mean, _sd_after(model, d))
        worth += weights[:, d - 1, None, None] * (p * away if caching else p)
        away *= 1 - p
    late = cell_mass(v[None, :], season[near:, None], model.sd)  # steps, values
    if caching:
        still = np.cumprod(1 - late, axis=0)
        late = late * np.concatenate([np.ones((1, len(v))), still[:-1]])[: len(late)]
    rest = weights[:, near:] @ late
    return worth + rest[:, None, :] * (away if caching else 1.0)


MAKERS: dict[type, Any] = {
    Stationary: _stationary,
    Trend: _trend,
    Walk: _walk,
    Ar1: _ar1,
    Seasonal: _seasonal,
}
