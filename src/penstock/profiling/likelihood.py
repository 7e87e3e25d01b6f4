"""The locality model by maximum likelihood: the a and b that make the matches likeliest.

A tuple c has the probability b P(c) + sum of a_j [x_{n-j} = c]: a mixture whose parts are known and
whose weights are not. P is what was counted over the whole stream. Expectation-maximisation asks of
each tuple how likely each part brought it, and takes the mean answer for the next weights. The
likelihood is concave in the weights, so there is one summit, and every step climbs; pairs of steps
are extrapolated (SQUAREM), for EM alone takes hundreds.

Unlike least squares on ranks it does not take names for numbers: that two tuples are equal tells
much about the model, that they are near in rank tells nothing.

The tuples that match x_n are found by following the chain of earlier tuples with the same key, so
a step costs as much as there are matches.

Sources: the model: see `locality.py`. Dempster, Laird and Rubin, "Maximum likelihood from
incomplete data via the EM algorithm" (1977); Varadhan and Roland, "Simple and globally convergent
methods for accelerating the convergence of any EM algorithm" (2008).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.jit import kernel
from ..numeric import Ints
from .locality import Weights
from .stretches import Stretches, whole

TOLERANCE = 1e-5  # of any weight, between one step and the next
MOST = 200  # pairs of steps
FLOOR = 1e-12  # an extrapolated weight of nothing could never come back

Floats = NDArray[np.float64]


class _Matches(NamedTuple):
    places: Ints  # the tuples that match one of the h before them
    before: Ints  # of every tuple of the stream, see `links.previous`
    popularity: Floats  # P of every tuple of the stream
    alone: int  # tuples that match none: drawn afresh for sure
    alone_log: float  # the sum of log P over them


def fit_likelihood(
    rank: Ints, h: int, before: Ints | None = None, start: Weights | None = None
) -> Weights:
    """Return the likeliest a and b for one h; `start` may be those of a smaller h.

    >>> from .locality import Locality
    >>> stream = Locality([0.3, 0.2], 0.5, [0.4, 0.3, 0.2, 0.1]).sample(20_000, seed=1)
    >>> found = fit_likelihood(stream, h=2)
    >>> found.a.round(1).tolist(), round(found.b, 1)
    ([0.3, 0.2], 0.5)
    """
    return likeliest(whole(rank, before), h, start)


def likeliest(known: Stretches, h: int, start: Weights | None = None) -> Weights:
    """Return the likeliest a and b by stretches of a stream."""
    known.check_h(h)
    matches = _find(known, h)
    weights = _start(h, start)
    for _ in range(MOST):
        once, likely = _step(matches, weights)
        twice, _ = _step(matches, once)
        ahead = _extrapolated(weights, once, twice)
        settled, now_likely = _step(matches, ahead)
        if not now_likely >= likely:  # too far
            settled = twice
        done = np.abs(twice - once).max() < TOLERANCE
        weights = settled
        if done:
            break
    return Weights(weights[1:], float(weights[0]))


def log_likelihood(rank: Ints, weights: Weights) -> float:
    """Return the log-probability of all tuples after the first h, given those before each."""
    matches = _find(whole(rank), weights.h)
    return _step(matches, np.append(weights.b, weights.a))[1]


def _find(known: Stretches, h: int) -> _Matches:
    popularity = known.share[known.key]
    place = np.arange(len(known.key))
    told = known.after_first(h)
    near = told & (known.before >= 0) & (place - known.before <= h)
    alone = popularity[told & ~near]
    return _Matches(
        np.flatnonzero(near), known.before, popularity, len(alone), float(np.log(alone).sum())
    )


def _start(h: int, start: Weights | None) -> Floats:
    """Return weights to begin with, none of them nothing: b first, as everywhere below."""
    weights = np.full(h + 1, 0.1 / h)
    if start is None:
        weights[0] = 1.0
    else:
        weights[0] += start.b
        weights[1 : start.h + 1] += start.a
    return weights / weights.sum()


def _step(matches: _Matches, weights: Floats) -> tuple[Floats, float]:
    """Return the next weights, and the log-likelihood of the present ones."""
    brought = np.zeros_like(weights)
    likely = _expect(matches.places, matches.before, matches.popularity, weights, brought)
    brought[0] += matches.alone
    if matches.alone:
        likely += matches.alone_log + matches.alone * np.log(weights[0])
    return brought / (matches.alone + len(matches.places)), float(likely)


def _extrapolated(weights: Floats, once: Floats, twice: Floats) -> Floats:
    step = once - weights
    bend = twice - once - step
    length = np.linalg.norm(bend)
    if length < FLOOR:
        return twice
    far = max(1.0, float(np.linalg.norm(step) / length))
    ahead = np.maximum(weights + 2 * far * step + far**2 * bend, FLOOR)
    return np.asarray(ahead / ahead.sum())


@kernel
def _expect(places, before, popularity, weights, brought):
    """Add to `brought` how many tuples each part brought; return their log-likelihood."""
    h = weights.shape[0] - 1
    likely = 0.0
    for index in range(places.shape[0]):
        now = places[index]
        afresh = weights[0] * popularity[now]
        chance = afresh
        match = before[now]
        while match >= 0 and now - match <= h:
            chance += weights[now - match]
            match = before[match]
        likely += np.log(chance)
        brought[0] += afresh / chance
        match = before[now]
        while match >= 0 and now - match <= h:
            brought[now - match] += weights[now - match] / chance
            match = before[match]
    return likely
