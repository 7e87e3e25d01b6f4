"""Stochastic streams as laws: how the next value is spread, given its time and the last value.

A model of one stream has
    law(t, x)       the distribution of X_t when X_(t-1) = x, as a dictionary value -> probability
    origin(t, x)    the value from which others are measured at time t, the stream being at x: the
                    future of value v depends on v - origin (corollary 5, theorem 3) and on
    context(t, x)   whatever else it depends on, if anything
    remembers       whether law() looks at x
    start           where the stream stands before its first value

Source: Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005), sections 6.1
and 7. The workloads' noises: section 8.
"""

import math
from functools import lru_cache


def below(z):
    """Return the chance that a standard normal lies below z."""
    return math.erfc(-z / math.sqrt(2)) / 2


def normal_cell(x, mean, sd):
    """Return the mass of a normal on [x - 1/2, x + 1/2]."""
    low, high = (x - 0.5 - mean) / sd, (x + 0.5 - mean) / sd
    # in the upper tail rounding would eat the difference; both tails are alike
    return below(-low) - below(-high) if low > 0 else below(high) - below(low)


def normal(sd, bound, mean=0.0):
    """Return a normal cut to whole numbers of [-bound, bound] and scaled to sum to one."""
    mass = {x: normal_cell(x, mean, sd) for x in range(-bound, bound + 1)}
    total = sum(mass.values())
    return {x: p / total for x, p in mass.items()}


def uniform(bound):
    return dict.fromkeys(range(-bound, bound + 1), 1 / (2 * bound + 1))


class Model:
    """What most models share."""

    remembers = False
    start = 0

    def origin(self, t, x):
        return 0

    def context(self, t, x):
        return None


class Stationary(Model):
    """Independent values, always with the same distribution (section 7.2)."""

    def __init__(self, chances):
        self.chances = chances

    def law(self, t, x):
        return self.chances


class Trend(Model):
    """X_t = slope * t + intercept + noise, whole numbers all (sections 6.1, 7.3 and 7.4)."""

    def __init__(self, slope, intercept, noise):
        self.slope, self.intercept, self.noise = slope, intercept, noise

    def law(self, t, x):
        mean = self.origin(t, x)
        return {mean + y: p for y, p in self.noise.items()}

    def origin(self, t, x):
        return self.slope * t + self.intercept


class Walk(Model):
    """X_t = X_(t-1) + a step; a drift is a mean of the steps other than 0 (section 7.5)."""

    remembers = True

    def __init__(self, steps, start=0):
        self.steps, self.start = steps, start

    def law(self, t, x):
        return {x + y: p for y, p in self.steps.items()}

    def origin(self, t, x):
        return x


class Ar1(Model):
    """X_t = constant + factor * X_(t-1) + normal noise, rounded to whole numbers (REAL)."""

    remembers = True
    REACH = 8  # standard deviations; beyond it lies less than 1e-14

    def __init__(self, constant, factor, sd):
        self.constant, self.factor, self.sd = constant, factor, sd
        self._spread = lru_cache(maxsize=None)(self._spread)

    def law(self, t, x):
        return self._spread(x)

    def _spread(self, x):
        mean = self.constant + self.factor * x
        middle, reach = round(mean), math.ceil(self.REACH * self.sd)
        around = normal(self.sd, reach, mean - middle)
        return {middle + y: p for y, p in around.items()}

    def context(self, t, x):
        return x  # the pull towards the mean depends on where the stream is

    def closed_form(self, v, d, x):
        """Return Pr{X_(t+d) = v} when only the last of d steps is rounded, not each."""
        mean = self.factor**d * x + self.constant * sum(self.factor**i for i in range(d))
        variance = self.sd**2 * sum(self.factor ** (2 * i) for i in range(d))
        return normal_cell(v, mean, math.sqrt(variance))


def sample(model, length, rng, first=None):
    """Return `length` values; `first` is the value at time 0, drawn like the rest if None."""
    values, x = [], model.start
    for t in range(length):
        if t == 0 and first is not None:
            x = first
        else:
            law = model.law(t, x)
            x = rng.choices(list(law), list(law.values()))[0]
        values.append(x)
    return values


# R lags one step behind S.
DRIFTS = {
    "tower": (Trend(1, -1, normal(1, 10)), Trend(1, 0, normal(2, 15))),
    "roof": (Trend(1, -1, normal(3.3, 10)), Trend(1, 0, normal(5, 15))),
    "floor": (Trend(1, -1, uniform(10)), Trend(1, 0, uniform(15))),
}
