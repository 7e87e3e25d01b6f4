"""How far a policy's results are from being a fair sample of all results.

Both are spread over the values of the join attribute (`tally`). Divided by their sums, p of all
results and q of those produced, these spreads are compared by

- SSE, the sum of (p - q)^2: 0 where they agree, below 2. Where nothing was produced q is 0;
- KL, the sum of p ln(p / q), in nats: how surprised somebody is by all results who knows those
  produced. It would be infinite as soon as one value is missing from these, so half a result is
  added to each value that has any, on both sides; so it is 0 for the exact join, and always finite.

Source: section 5.4, figures 9 and 10, of the GreedyDual-Join paper (BUCS-TR-2004-028). Departure:
it does not tell which way round its KL goes, nor what is done about missing values (decision 14).
"""

from typing import NamedTuple

import numpy as np

ADDED = 0.5  # of a result, for each value: the estimate of Krichevsky and Trofimov


class Distortion(NamedTuple):
    """The distance of a policy's results from all of them, in two measures."""

    sse: float
    kl: float


def distortion(exact: np.ndarray, found: np.ndarray) -> Distortion:
    """Return how far the tally `found` is from that of all results, of which it has a part.

    >>> distortion(np.array([2, 2]), np.array([1, 1]))
    Distortion(sse=0.0, kl=0.0)
    >>> distortion(np.array([1, 1]), np.array([1, 0])).sse
    0.5
    """
    exact, found = (each[exact > 0].astype(np.float64) for each in (exact, found))
    p, q = exact / max(exact.sum(), 1), found / max(found.sum(), 1)
    sse = float(((p - q) ** 2).sum())
    p, q = (_shares(each + ADDED) for each in (exact, found))
    return Distortion(sse, max(0.0, float((p * np.log(p / q)).sum())))


def _shares(weight: np.ndarray) -> np.ndarray:
    return weight / weight.sum()
