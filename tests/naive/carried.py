"""Stream models in plain Python: probabilities carried forward step by step."""

import cmath
import math
from collections import defaultdict


def normal_between(low, high, mean, sd, parts=200):
    """The mass of a normal on an interval, by Simpson's rule."""
    wide = (high - low) / parts
    total = 0.0
    for i in range(parts + 1):
        z = (low + i * wide - mean) / sd
        weight = 1 if i in (0, parts) else 4 if i % 2 else 2
        total += weight * math.exp(-z * z / 2)
    return total * wide / 3 / (sd * math.sqrt(2 * math.pi))


def bounded_normal(sd, bound):
    """{x: mass} of a normal cut to cells and to bounds."""
    raw = {x: normal_between(x - 0.5, x + 0.5, 0, sd) for x in range(-bound, bound + 1)}
    total = sum(raw.values())
    return {x: mass / total for x, mass in raw.items()}


def trend(v, d, time, slope, intercept, noise):
    line = math.floor(intercept + slope * (time + d) + 0.5)
    return sum(mass for x, mass in noise.items() if line + x == v)


def walk(v, d, here, step):
    """All ways of d steps, merged by where they lead."""
    places = {here: 1.0}
    for _ in range(d):
        places = moved(places, step)
    return places.get(v, 0.0)


def moved(places, step):
    after = defaultdict(float)
    for place, mass in places.items():
        for move, chance in step.items():
            after[place + move] += mass * chance
    return after


def walk_visits(v, d, here, step):
    """The mass that has been at v within d steps: what arrives there is taken out."""
    places, arrived = {here: 1.0}, 0.0
    for _ in range(d):
        places = moved(places, step)
        arrived += places.pop(v, 0.0)
    return arrived


def ar1(v, d, here, phi0, phi1, sigma, unit):
    """Mean and variance carried forward; then the mass around v."""
    mean, variance = here, 0.0
    for _ in range(d):
        mean, variance = phi0 + phi1 * mean, phi1 * phi1 * variance + sigma * sigma
    return normal_between(v - unit / 2, v + unit / 2, mean, math.sqrt(variance))


def season(time, period, mean, cosines, sines):
    total = complex(mean)
    for h, (a, b) in enumerate(zip(cosines, sines), start=1):
        total += (a - 1j * b) * cmath.exp(2j * math.pi * h * time / period)
    return total.real


def seasonal(v, d, time, here, period, mean, cosines, sines, phi, sigma, unit):
    """As an autoregression whose constant changes with the time."""
    centre, variance = here, 0.0
    for t in range(time + 1, time + d + 1):
        before, after = (season(x, period, mean, cosines, sines) for x in (t - 1, t))
        centre, variance = after + phi * (centre - before), phi * phi * variance + sigma * sigma
    return normal_between(v - unit / 2, v + unit / 2, centre, math.sqrt(variance))


def joining(probabilities):
    """Expected matches after 1, 2, ... steps."""
    return [sum(probabilities[:d]) for d in range(1, len(probabilities) + 1)]


def caching(probabilities):
    """The chance of a first reference by step 1, 2, ... of independent references."""
    curve, untouched, touched = [], 1.0, 0.0
    for p in probabilities:
        touched += untouched * p
        untouched *= 1 - p
        curve.append(touched)
    return curve
