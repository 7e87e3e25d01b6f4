"""Which key comes next: a mixture of how often it came at several time scales, learned as it goes.

The chance that the next arrival of a side has some key is taken to be

    sum over the sides and the scales of  weight x the key's frequency there, at that scale

with weights of its own for each side that is awaited. Popularity that lasts is a weight on the
longest scale, a burst one on a short scale; where the sides share their bursts, the past of either
predicts the other, so a side is predicted from the past of all.

Sides need not bring rows equally often. So the chance counts by the share that the awaited side has
of the latest arrivals: a row of a sparse side meets rows of a dense one far more often than the
other way round.

The frequencies of all keys sum to one at each scale, and so do the weights. So it is a mixture, and
what maximises its likelihood is expectation maximisation. That is done online: after each arrival
the weights move a little towards the parts that they had in predicting it. Likelihood, and not
squared errors, since a rare key must count as much as a frequent one: what is evicted is decided
among the rare. Nothing is learned from keys that are not known: only known ones are compared, and
where most are new the weights would starve.

Source of the steps: Cappé, Moulines, "On-line expectation-maximization algorithm for latent data
models" (2009).
"""

from typing import NamedTuple

import numpy as np

from . import keyrates
from .gains import gain
from .jit import jit
from .keyrates import SCALES, KeyRates
from .shape import Shape

LONGEST = 16  # the longest half-life in budgets
KEYS = 2  # remembered for each row of the budget
ONE_SIDED_KEYS = 3  # the same where a single side brings keys: each takes half as much
BEGUN = 10  # arrivals that the first weights count as
AVERAGED = 1000  # at least so many arrivals are averaged over, and the budget


class Forecast(NamedTuple):
    """The keys, and what is learned about each awaited side of each join (`target`)."""

    rates: KeyRates
    legs: np.ndarray  # int64[streams, legs, 3]: (join, side, attribute), -1 pads
    width: np.ndarray  # int64[joins]: sides of each join
    weight: np.ndarray  # float64[joins, target, source, SCALES]
    part: np.ndarray  # float64[source, SCALES]: scratch
    least: np.ndarray  # float64[1]: no weight falls below
    often: np.ndarray  # float64[joins, sides]: the share of each side in the arrivals of its join
    fading: np.ndarray  # float64[1]: how far the shares move with an arrival, in the long run
    pace: np.ndarray  # float64[1]: how far weights move in the long run; 0: they are fixed


def make_forecast(
    shape: Shape, scale: int, half_life: float | None = None, first: int = 0
) -> Forecast:
    """Return what is known beforehand: all scales count alike, unless one half-life is given.

    Where it is given a side is predicted from its own past, at that scale alone. Sides before the
    `first` bring nothing.
    """
    joins, sides = len(shape.joins), shape.sides
    width = np.array([len(join) for join in shape.joins])
    lives = keyrates.half_lives(LONGEST * max(512, scale))
    weight = np.ones((joins, sides, sides, SCALES)) / (SCALES * width[:, None, None, None])
    if half_life is not None:
        lives[0] = half_life
        weight[:] = 0
        weight[:, range(sides), range(sides), 0] = 1
    keys = ONE_SIDED_KEYS if sides - first == 1 else KEYS
    return Forecast(
        keyrates.make_rates(shape, keyrates.FEWEST + keys * scale, lives, first),
        shape.leg_table,
        width,
        weight,
        np.zeros((sides, SCALES)),
        np.array([0.01 / max(100, scale)]),
        np.where(np.arange(sides) < width[:, None], 1 / width[:, None], 0.0),
        np.array([1 / max(512, scale, half_life or 0)]),
        np.array([0.0 if half_life is not None else 1 / max(AVERAGED, scale)]),
    )


def reserve(forecast: Forecast, arrivals: int) -> Forecast:
    """Return the same with room for the keys of `arrivals` more tuples."""
    keys = arrivals * forecast.legs.shape[1]
    rates = keyrates.reserve(forecast.rates, keys)
    return forecast if rates is forecast.rates else forecast._replace(rates=rates)


@jit
def chance(forecast, entry, join, target):
    """Return the chance that the next arrival of a side has the key of an entry.

    A weight that is as low as it can be says nothing, and costs nothing.
    """
    total = 0.0
    for source in range(forecast.width[join]):
        if not keyrates.came(forecast.rates, entry, source):
            continue
        for scale in range(SCALES):
            weight = forecast.weight[join, target, source, scale]
            if weight > forecast.least[0]:
                often = keyrates.frequency(forecast.rates, entry, join, source, scale)
                total += weight * often
    return total


@jit
def expected(forecast, held, slot, stream, entries, row):
    """Return what a tuple is expected to gain (`kernel/gains.py`), for each arrival.

    `entries[row]` are those of its keys, one for each leg. One factor for each other side of a
    join, one summand for each join.
    """
    total = 0.0
    for leg in range(forecast.legs.shape[1]):
        join, side = forecast.legs[stream, leg, 0], forecast.legs[stream, leg, 1]
        if join < 0:
            break
        entry = np.int64(entries[row, leg])
        if entry >= 0:
            product = gain(held, slot, leg)
            for other in range(forecast.width[join]):
                if other != side:
                    product *= chance(forecast, entry, join, other) * forecast.often[join, other]
            total += product
    return total


@jit
def look_up(forecast, held, slot, row, entries):
    """Write into `entries[row]` where the keys of a tuple are, or -1."""
    stream = held.at[slot]["stream"]
    for leg in range(forecast.legs.shape[1]):
        join = forecast.legs[stream, leg, 0]
        entries[row, leg] = -1
        if join >= 0:
            key = held.key[slot, forecast.legs[stream, leg, 2]]
            entries[row, leg] = keyrates.find(forecast.rates, join, key)


@jit
def hold(forecast, entries, row, change):
    """Change by how many the keys at `entries[row]` are held: such a key is not forgotten."""
    for leg in range(entries.shape[1]):
        if entries[row, leg] >= 0:
            forecast.rates.holders[entries[row, leg]] += change


@jit
def announce(forecast, entries, row):
    """Prefetch the keys at `entries[row]`, which will be read soon."""
    for leg in range(entries.shape[1]):
        if entries[row, leg] >= 0:
            keyrates.announce(forecast.rates, np.int64(entries[row, leg]))


@jit
def note(forecast, held, slot):
    """Learn from an arrival, then count it, on all of its legs."""
    rates, stream = forecast.rates, held.at[slot]["stream"]
    for leg in range(forecast.legs.shape[1]):
        join, side = forecast.legs[stream, leg, 0], forecast.legs[stream, leg, 1]
        if join < 0:
            break
        key = held.key[slot, forecast.legs[stream, leg, 2]]
        entry = keyrates.find(rates, join, key)
        if entry < 0:
            entry = keyrates.enter(rates, join, key)
        elif forecast.pace[0] > 0.0:
            _learn(forecast, entry, join, side)
        keyrates.count(rates, entry, join, side)
        _count_side(forecast, join, side)


@jit
def _count_side(forecast, join, side):
    """Move the shares of the sides towards the one that an arrival came on."""
    arrived = 0
    for other in range(forecast.width[join]):
        arrived += forecast.rates.arrived[join, other]
    step = max(forecast.fading[0], 1.0 / (BEGUN + arrived))
    for other in range(forecast.width[join]):
        forecast.often[join, other] *= 1.0 - step
    forecast.often[join, side] += step


@jit
def _learn(forecast, entry, join, target):
    """Move the weights towards the parts that they had in predicting this arrival."""
    width, weight, part = forecast.width[join], forecast.weight, forecast.part
    total = 0.0
    for source in range(width):
        for scale in range(SCALES):
            part[source, scale] = 0.0
            if keyrates.came(forecast.rates, entry, source):
                often = keyrates.frequency(forecast.rates, entry, join, source, scale)
                part[source, scale] = weight[join, target, source, scale] * often
            total += part[source, scale]
    step = max(forecast.pace[0], 1.0 / (BEGUN + forecast.rates.arrived[join, target]))
    kept, gain = 1.0 - step, step / total
    for source in range(width):
        for scale in range(SCALES):
            after = kept * weight[join, target, source, scale] + gain * part[source, scale]
            weight[join, target, source, scale] = max(forecast.least[0], after)
