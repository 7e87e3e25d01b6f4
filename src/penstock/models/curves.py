"""H worked out beforehand: tables from which a policy reads the worth of any tuple at any time.

How a tuple stands to the stream it waits for is enough to know its H (corollary 5, theorem 3): for
a trend the distance from its line, for a walk the distance from its last value, for an
autoregression its own value and the last one, for a season these and the phase. A table covers
all of it, for several forms of L at once. Keys are whole numbers here, the cells of the model.

For exponential L and a stream without memory of time, a cache and a join need one table: the
first visit to v and the returns from v to v make up all visits, so
H_caching(v, x) = H_joining(v, x) / (1 + H_joining(v, v)).

Source: section 6.1 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD
2005); seasons and the relation above are beyond it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.jit import kernel
from ..core.worth import (
    LEVEL,
    LINE,
    LOW,
    PERIOD,
    SEASON,
    SLOPE,
    STATIONARY,
    STEP,
    SURFACE,
    WALK,
    X_LOW,
    X_STEP,
)
from ..errors import BadInput
from ..numeric import spline
from . import wide
from .ar1 import Ar1, spread
from .benefit import caching as caching_benefit
from .cells import Floats, Ints, to_cells
from .history import Now
from .lasting import Lasting
from .noise import Discrete
from .normal import cell_mass
from .seasonal import Seasonal
from .stationary import Stationary
from .trend import Trend
from .walk import Walk

FINE = 8  # points a cell where a line passes between whole numbers
WIDEST = 1 << 16  # points of a curve
WALK_STEPS = 2048  # after which a walk may be anywhere
WALK_CELLS = 64  # into which a step is divided at least where it is wide
WALK_AHEAD = 64  # steps looked ahead at least: what is far and hardly counts is still ranked
REACH = 5.0  # standard deviations of an autoregression that a surface covers
CONTROL = (41, 81)  # points at which a surface is worked out: last values, values
POINTS = (81, 401)  # points to which it is then refined
SEASON_POINTS = (53, 13, 129)  # phases, last values, values
FORGOTTEN = 1e-4  # what is left of the last value when it no longer counts


class Table(NamedTuple):
    """H over all positions; what the axes mean depends on the form."""

    form: int
    numbers: Floats  # float64[7]: see `core.worth`
    keys: Ints  # int64[n]: the values of a stationary stream
    worth: Floats  # float64[forms of L, phases, last values, values]


def tabulate(model: Any, lastings: Sequence[Lasting], caching: bool = False) -> Table:
    """Return the table of a model, one layer per form of L."""
    if not caching and not all(lasting.converges for lasting in lastings):
        raise BadInput("L must be exp or fixed for joining: with inf and inv benefits do not end")
    for kind, make in MAKERS.items():
        if isinstance(model, kind):
            return make(model, list(lastings), caching)
    raise BadInput(
        f"HEEB needs a model of kind {', '.join(kind.__name__ for kind in MAKERS)}, "
        f"got {type(model).__name__}"
    )


def _numbers(**given: float) -> Floats:
    places = {"level": LEVEL, "slope": SLOPE, "low": LOW, "step": STEP}
    places |= {"x_low": X_LOW, "x_step": X_STEP, "period": PERIOD}
    numbers = np.zeros(7)
    numbers[[STEP, X_STEP, PERIOD]] = 1
    for name, value in given.items():
        numbers[places[name]] = value
    return numbers


def _weights(lastings: list[Lasting], most: int, least: int = 1) -> Floats:
    """Return L of each form at steps 1 ... , as far as any of them counts."""
    steps = max(least, min(most, max(lasting.horizon for lasting in lastings)))
    ahead = np.arange(1, steps + 1)
    return np.stack([lasting.of(ahead) for lasting in lastings])


def _stationary(model: Stationary, lastings: list[Lasting], caching: bool) -> Table:
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
    return Table(STATIONARY, _numbers(), keys, np.array(layers)[:, None, None, :])


def _trend(model: Trend, lastings: list[Lasting], caching: bool) -> Table:
    level, slope = model.intercept / model.unit, model.slope / model.unit
    if slope == 0:
        here = np.arange(model.noise.lowest, model.noise.highest + 1) + model.centre(0)
        return _stationary(Stationary(here, model.noise.mass), lastings, caching)
    noise, size = model.noise, abs(slope)
    if len(noise.mass) > wide.POINTS:
        low, worth = wide.beside(noise, slope, lastings, caching)
        numbers = _numbers(level=level, slope=slope, low=low, step=wide.grid_step(noise))
        return Table(LINE, numbers, np.zeros(0, np.int64), worth[:, None, None, :])
    fine = 1 if float(slope).is_integer() and float(level).is_integer() else FINE
    weights = _weights(lastings, int(WIDEST / fine / size) + 1)
    steps = weights.shape[1]
    # The line moves on, so values ahead of it count and those behind do not.
    far = slope * steps
    low = np.floor(noise.lowest + min(far, slope)) - 1
    high = np.ceil(noise.highest + max(far, slope)) + 1
    offset = low + np.arange(int((high - low) * fine) + 1) / fine
    numbers = _numbers(level=level, slope=slope, low=low, step=1 / fine)
    if fine == 1 and not caching and all(lasting.kind == "exp" for lasting in lastings):
        behind = int(size)  # the curve begins a step after the noise does
        span = np.arange(int(low) - behind, int(high) + behind + 1)
        mass = noise.of(span)
        curves = [_along(mass, int(slope), lasting.scale) for lasting in lastings]
        worth = np.array(curves)[:, behind:-behind]
        return Table(LINE, numbers, np.zeros(0, np.int64), worth[:, None, None, :])
    worth = np.zeros((len(lastings), len(offset)))
    away = np.ones(len(offset))  # the chance that the value has not come yet
    for d in range(1, steps + 1):
        first = max(0, int((noise.lowest + slope * d - 1 - low) * fine))
        last = min(len(offset), int((noise.highest + slope * d + 1 - low) * fine) + 1)
        part = slice(first, last)
        # v - round(line), halves up, as the model has it, in terms of v - line
        p = noise.of(np.ceil(offset[part] - slope * d - 0.5).astype(np.int64))
        worth[:, part] += weights[:, d - 1, None] * (p * away[part] if caching else p)
        away[part] *= 1 - p
    return Table(LINE, numbers, np.zeros(0, np.int64), worth[:, None, None, :])


def _along(mass: Floats, slope: int, alpha: float) -> Floats:
    """Return H of neighbour after neighbour (corollary 5): h(o + a) = exp(-1/alpha) (h(o) + q(o)).

    Its cost does not depend on how far ahead one looks, which matters where the noise is wide.
    """
    ahead = np.ascontiguousarray(mass if slope > 0 else mass[::-1])
    curve = np.zeros(len(ahead))
    _step_on(ahead, abs(slope), np.exp(-1 / alpha), curve)
    return curve if slope > 0 else curve[::-1]


@kernel
def _step_on(mass, size, z, curve):
    for place in range(size, len(mass)):
        curve[place] = z * (curve[place - size] + mass[place - size])


def _walk(model: Walk, lastings: list[Lasting], caching: bool) -> Table:
    weights = _weights(lastings, WALK_STEPS, WALK_AHEAD)
    step, cells = _coarse(model.step)
    reached, lowest = [step.mass], [step.lowest]
    for _ in range(1, weights.shape[1]):
        mass = np.convolve(reached[-1], step.mass)
        seen = np.flatnonzero(mass > 1e-30)
        reached.append(mass[seen[0] : seen[-1] + 1])
        lowest.append(lowest[-1] + step.lowest + int(seen[0]))
    low = min(0, *lowest)
    high = max(0, *(a + len(b) - 1 for a, b in zip(lowest, reached)))
    way = np.zeros((weights.shape[1], high - low + 1))
    for row, first, mass in zip(way, lowest, reached):
        row[first - low : first - low + len(mass)] = mass / cells
    if _symmetric(model):  # rounding must not break ties between left and right
        way = (way + way[:, ::-1]) / 2
    worth = weights @ (_first_visits(way, -low) if _needs_visits(lastings, caching) else way)
    if caching and not _needs_visits(lastings, caching):
        worth /= 1 + worth[:, -low, None]
    numbers = _numbers(low=low * cells, step=cells)
    return Table(WALK, numbers, np.zeros(0, np.int64), worth[:, None, None, :])


def _coarse(step: Discrete) -> tuple[Discrete, int]:
    """Return the step of a walk in cells taken together, and how many these are: an odd number.

    Where a walk goes far in a step, neighbours are worth nearly the same, and to follow it cell by
    cell would take minutes.
    """
    cells = len(step.mass) // WALK_CELLS
    cells += 1 - cells % 2
    if cells == 1:
        return step, 1
    place = (np.arange(step.lowest, step.highest + 1) + cells // 2) // cells
    return Discrete(int(place[0]), np.bincount(place - place[0], step.mass).astype(float)), cells


def _symmetric(model: Walk) -> bool:
    step = model.step
    return step.lowest == -step.highest and np.allclose(step.mass, step.mass[::-1], rtol=1e-12)


def _needs_visits(lastings: list[Lasting], caching: bool) -> bool:
    return caching and any(lasting.kind != "exp" for lasting in lastings)


def _first_visits(way: Floats, home: int) -> Floats:
    """Return the chances of first visits from those of all visits; `home` is the place of 0."""
    first = way.copy()
    again = way[:, home]
    for d in range(len(way) - 1):
        np.maximum(first[d], 0.0, out=first[d])
        first[d + 1 :] -= first[d] * again[: len(way) - 1 - d, None]
    return np.maximum(first, 0.0)


def _ar1(model: Ar1, lastings: list[Lasting], caching: bool) -> Table:
    mean, sd = model.mean / model.unit, model.sd / model.unit
    ends = mean - REACH * sd, mean + REACH * sd
    x, v = (np.linspace(*ends, count) for count in CONTROL)
    worth = _ar1_at(model, lastings, x, v, caching)
    along_x, along_v = (spline(*counts) for counts in zip(CONTROL, POINTS, strict=True))
    smooth = along_x @ worth @ along_v.T
    steps = [(ends[1] - ends[0]) / (count - 1) for count in POINTS]
    numbers = _numbers(low=ends[0], step=steps[1], x_low=ends[0], x_step=steps[0])
    return Table(SURFACE, numbers, np.zeros(0, np.int64), smooth[:, None])


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
    ahead = np.arange(1, min(lasting.horizon, 512) + 1)
    weights, rows = lasting.of(ahead), []
    cells = np.rint(v) * model.unit
    for one in x * model.unit:
        total = caching_benefit(model, cells[:, None], ahead[None, :], Now(0, one))
        rows.append(np.diff(total, axis=1, prepend=0.0) @ weights)
    return np.array(rows)


def _visits(model: Ar1, lastings: list[Lasting], x: Floats, v: Floats) -> Floats:
    """Return the weighted chances of all visits to v; where x is forgotten they are all alike."""
    mean, memory = model.mean / model.unit, _memory(model.phi1)
    weights = [lasting.of(np.arange(1, lasting.horizon + 1)) for lasting in lastings]
    total = np.zeros((len(lastings), *np.broadcast_shapes(x.shape, v.shape)))
    near = min(memory, max(map(len, weights), default=0))  # if phi is near 1, nothing is forgotten
    for d in range(1, near + 1):
        sd = float(spread(model.phi1, model.sigma, np.asarray(d))) / model.unit
        p = cell_mass(v, mean + model.phi1**d * (x - mean), sd)
        for layer, weight in zip(total, weights, strict=True):
            if d <= len(weight):
                layer += weight[d - 1] * p
    late = cell_mass(v, mean, model.sd / model.unit)
    for layer, weight in zip(total, weights, strict=True):
        layer += weight[memory:].sum() * late
    return total


def _memory(phi: float) -> int:
    """Return the steps after which a value is forgotten."""
    return 1 if phi == 0 else int(np.ceil(np.log(FORGOTTEN) / np.log(abs(phi)))) + 1


def _seasonal(model: Seasonal, lastings: list[Lasting], caching: bool) -> Table:
    phases, lasts, values = SEASON_POINTS
    phases = max(4, min(phases, round(model.period)))
    sd = float(model.sigma / np.sqrt(1 - model.phi**2)) / model.unit
    season = model.season(np.arange(round(model.period) + 1)) / model.unit
    low, high = season.min() - REACH * sd, season.max() + REACH * sd
    v = np.linspace(low, high, values)
    off = np.linspace(-REACH * sd, REACH * sd, lasts)
    weights = _weights(lastings, max(_memory(model.phi) + 1, min(2048, int(4 * model.period))))
    layers = [
        _season_at(model, phase * model.period / phases, weights, off, v, caching)
        for phase in range(phases)
    ]
    numbers = _numbers(
        low=low,
        step=(high - low) / (values - 1),
        x_low=off[0],
        x_step=off[1] - off[0],
        period=model.period,
    )
    worth = np.stack(layers, axis=1)
    return Table(SEASON, numbers, np.zeros(0, np.int64), worth)


def _season_at(
    model: Seasonal, time: float, weights: Floats, off: Floats, v: Floats, caching: bool
) -> Floats:
    """Return H at one phase: forms of L, last distances from the season, values."""
    near = min(_memory(model.phi), weights.shape[1])
    worth = np.zeros((len(weights), len(off), len(v)))
    away = np.ones((len(off), len(v)))
    ahead = np.arange(1, weights.shape[1] + 1)
    season = model.season(time + ahead) / model.unit
    for d in range(1, near + 1):
        sd = float(spread(model.phi, model.sigma, np.asarray(d))) / model.unit
        p = cell_mass(v[None, :], season[d - 1] + model.phi**d * off[:, None], sd)
        worth += weights[:, d - 1, None, None] * (p * away if caching else p)
        away *= 1 - p
    sd = float(model.sigma / np.sqrt(1 - model.phi**2)) / model.unit
    late = cell_mass(v[None, :], season[near:, None], sd)  # steps down, values across
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
