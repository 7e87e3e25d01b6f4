"""The settings of GreedyDual-Join's experiments: many streams, pairs of them, several attributes.

All are made by `zipf`, the paper's own generator; what differs is who meets whom:

- figure 7, left: `streams` from 2 to 5 in one join, all with the same skewed popularity;
- figure 7, right: `attributes` from 1 up, one join on each. In the first stream each further
  attribute is more skewed, by `rise`; in the others all values are equally popular (`others=0`);
- figure 6: `pairs=true` with four streams: two joins of two streams. In the first pair both streams
  like the same values, in the second the one likes best what the other likes least, and so on in
  turns.

Source: sections 5.3.3 and 5.3.4 of the GreedyDual-Join paper (BUCS-TR-2004-028). Departures: it
names no skews for several attributes, so they start at `alpha` and rise by 0.25; and its streams
for the left of figure 7 are stock trades, which are not to be had.
"""

from dataclasses import replace

import numpy as np

from ..core.shape import all_streams, in_pairs
from .draws import at_least
from .trace import JoinTrace, LookupTrace
from .zipf import SKEWNESS, zipf, zipf_references

RISE = 0.25


def gdj(
    length: int,
    seed: int,
    *,
    streams: int = 2,
    attributes: int = 1,
    pairs: bool = False,
    domain: int = 100,
    alpha: float = SKEWNESS,
    rise: float = RISE,
    others: float | None = None,
    pareto: float | None = SKEWNESS,
) -> JoinTrace:
    """Return `length` time units of skewed streams; each brings one tuple a unit, in stream order.

    streams: how many there are; all meet in one join for each attribute.
    pairs: instead, stream 0 meets 1, and 2 meets 3; every second pair likes opposite values.
    alpha: the skew of the first attribute.
    rise: by how much each further attribute is more skewed.
    others: the skew of all streams but the first; None: that of the first, or with several
        attributes 0.
    domain, pareto: as of `zipf`.

    >>> gdj(100, seed=1, streams=3).joins
    (((0, 0), (1, 0), (2, 0)),)
    >>> gdj(100, seed=1, streams=4, pairs=True).joins
    (((0, 0), (1, 0)), ((2, 0), (3, 0)))
    >>> gdj(100, seed=1, attributes=2).key.shape
    (200, 2)
    """
    at_least("attributes", attributes, 1)
    at_least("streams", streams, 2)
    joins = (in_pairs if pairs else all_streams)(streams, attributes)
    rising = [alpha + rise * number for number in range(attributes)]
    if others is None:
        others = alpha if attributes == 1 else 0.0
    trace = zipf(
        length,
        seed,
        domain=domain,
        pareto=pareto,
        attributes=attributes,
        streams=streams,
        alphas=[rising, *[[others] * attributes] * (streams - 1)],
    )
    key = _every_second_pair_turned(trace, domain) if pairs else trace.key
    return replace(trace, key=key, value=key, joins=joins, name="gdj")


def gdj_references(
    length: int,
    seed: int,
    *,
    domain: int = 100,
    alpha: float = SKEWNESS,
    pareto: float | None = SKEWNESS,
) -> LookupTrace:
    """Return the first stream of `gdj` with the same seed, as references.

    >>> bool((gdj_references(9, seed=1).key == gdj(9, seed=1).key[::2]).all())
    True
    """
    trace = zipf_references(length, seed, domain=domain, alpha=alpha, pareto=pareto)
    return replace(trace, name="gdj")


def _every_second_pair_turned(trace: JoinTrace, domain: int) -> np.ndarray:
    """Return the keys with those of streams 3, 7, ... counted from the other end."""
    key = trace.key.copy()
    turned = trace.side % 4 == 3
    key[turned] = domain - 1 - key[turned]
    return key
