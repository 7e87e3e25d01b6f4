"""Streams drawn by popularity: skewed ones, those of the GDJ paper, those that repeat themselves.

**Skewed streams** with temporal correlation (`zipf`): Zipf popularity, Pareto gaps between
repetitions. The popularity of the value of rank r (1, 2, ...) is proportional to r ** -alpha. How
often each value occurs is drawn first, from exactly that law (a multinomial). The occurrences of
each value are then laid on a circle of the stream's length: the gaps between them are drawn from a
Pareto distribution and scaled to close the circle, so that their mean is the one that the value's
popularity demands, and the circle is turned by a random angle. All values are merged in the order
of their places; the place in that order is the arrival time.

So the popularity keeps the law, with the sampling error of independent draws, whatever the gaps
do; and the gaps do not know where the stream starts or ends. The Pareto is the one that begins at
zero (type II, Lomax): short gaps are the likeliest and the tail falls as a power, `pareto`. A
smaller `pareto` means tighter clusters and longer silences. Towards infinity the gaps become
exponential, which on a circle is nothing but independent draws: `pareto=None`.

Source: section 5.1.1 of the GreedyDual-Join paper (GDJ, BUCS-TR-2004-028), itself after GISMO.
The paper's one "skewness parameter", 0.75, is the default of both laws. Departure: the paper names
neither the kind of Pareto nor how gaps and popularity are made to agree.

**GDJ.** `gdj` has the settings of that paper's experiments, made by `zipf`. What differs is which
streams meet:

- figure 7, left: `streams` from 2 to 5 in one join, all with the same skewed popularity;
- figure 7, right: `attributes` from 1 up, one join on each. In the first stream each further
  attribute is more skewed, by `rise`; in the others all values are equally popular (`others=0`);
- figure 6: `pairs=true` with four streams: two joins of two streams. In the first pair both streams
  prefer the same values. In the second pair the most popular value of one stream is the least
  popular of the other, and so on in turns.

Source: sections 5.3.3 and 5.3.4 of the same paper. Departures: it names no skews for several
attributes, so they start at `alpha` and rise by 0.25; and its streams for the left of figure 7 are
stock trades, which are not available.

**Streams that repeat themselves** (`locality`), drawn from the model of `profile.locality`.
*Dealt*, the two streams are one stream whose tuples go left and right in turn, so that a key that
is frequent now on one side is frequent on the other, as with orders and their trades. Otherwise the
streams are independent of each other.

Source: section 3.1 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference
Locality in Data Stream Applications" (ICDE 2006).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import BadInput
from ..kernel.options import at_least, check_word
from ..kernel.rng import source
from ..kernel.shape import all_streams, in_pairs
from ..numeric import Ints
from ..profile.locality import Locality
from .traces import JoinTrace, interleave

CORRELATIONS = ("direct", "inverse", "independent")
SKEWNESS = 0.75  # alpha in the paper, section 5.1.1
RISE = 0.25  # of the skew, from one attribute to the next


def zipf(
    length: int,
    seed: int,
    *,
    domain: int = 100,
    alpha: float = SKEWNESS,
    pareto: float | None = SKEWNESS,
    attributes: int = 1,
    correlation: str = "direct",
    streams: int = 2,
    alphas: Sequence[float] | Sequence[Sequence[float]] | None = None,
) -> JoinTrace:
    """Return `length` time units of skewed streams; each brings one tuple a unit, in stream order.

    Keys are 0 .. domain - 1; in stream 0 the smaller is the more popular.

    domain: how many values there are.
    alpha: the skew of the popularity; 0 makes all values equally popular.
    pareto: the shape of the gaps, from 0.1 up: smaller is more clustered; None: independent draws.
    attributes: how many key columns a tuple has, each drawn by itself.
    correlation: the popularity ranks of the streams are the same in all (direct), turned round in
        every second stream (inverse), or shuffled in each but the first (independent).
    alphas: instead of alpha, one skew for each attribute, or a row of them for each stream.

    >>> trace = zipf(1440, seed=1)
    >>> trace.key.shape, np.bincount(trace.key).argmax().item()
    ((2880,), 0)
    >>> zipf(1440, seed=1, attributes=2, alphas=[[0.5, 1.0], [0, 0]]).key.shape
    (2880, 2)
    """
    at_least("attributes", attributes, 1)
    at_least("streams", streams, 2)
    check_word("correlation", correlation, CORRELATIONS)
    skew = _skews(alpha if alphas is None else alphas, streams, attributes)
    columns = []
    for stream in range(streams):
        drawn = []
        for attribute in range(attributes):
            random = source(seed, stream, attribute)
            rank = _ranks(length, random, domain, float(skew[stream, attribute]), pareto)
            drawn.append(_keys(rank, random, domain, correlation, stream))
        columns.append(drawn[0] if attributes == 1 else np.stack(drawn, axis=1))
    side, key, time = interleave(columns)
    return JoinTrace(side, key, time, streams=streams, name="zipf", value=key)


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
    pairs: instead, stream 0 meets 1, and 2 meets 3; in every second pair popularity is reversed.
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
    key = trace.key
    if pairs:  # in streams 3, 7, ... the values are counted from the other end
        turned = trace.side % 4 == 3
        key = key.copy()
        key[turned] = domain - 1 - key[turned]
    joins = (in_pairs if pairs else all_streams)(streams, attributes)
    return replace(trace, key=key, value=key, joins=joins, name="gdj")


def popularity(domain: int, alpha: float) -> NDArray[np.float64]:
    """Return the probabilities of the ranks, the most popular first.

    >>> popularity(3, alpha=1).round(3).tolist()
    [0.545, 0.273, 0.182]
    """
    weight = np.arange(1, domain + 1) ** -float(alpha)
    return np.asarray(weight / weight.sum())


def _ranks(
    length: int, random: np.random.Generator, domain: int, alpha: float, pareto: float | None
) -> Ints:
    """Return the rank, from 0, of the value at each time unit."""
    at_least("length", length, 1)
    at_least("domain", domain, 1)
    count = random.multinomial(length, popularity(domain, alpha))
    rank = np.repeat(np.arange(domain), count)
    place = random.random(length) if pareto is None else _places(count, random, pareto)
    return rank[np.argsort(place, kind="stable")]


def _places(count: Ints, random: np.random.Generator, pareto: float) -> NDArray[np.float64]:
    """Return where on a circle of length 1 the occurrences of each value lie, value by value."""
    if not 0.1 <= pareto < np.inf:  # below, the gaps overflow
        raise BadInput(
            f"pareto must be a number of at least 0.1, got {pareto!r}; None gives independent draws"
        )
    count = count[count > 0]
    first = np.cumsum(count) - count
    gap = random.pareto(pareto, count.sum())
    # Scaled before they are summed up: one long gap would swallow the short ones of other values.
    gap /= np.repeat(np.add.reduceat(gap, first), count)
    turn = random.random(len(count))  # a value's gaps sum to 1, so its start needs no other shift
    return (np.cumsum(gap) + np.repeat(turn, count)) % 1.0


def _keys(
    rank: Ints, random: np.random.Generator, domain: int, correlation: str, stream: int
) -> Ints:
    if correlation == "inverse" and stream % 2 == 1:
        return domain - 1 - rank
    if correlation == "independent" and stream > 0:
        return random.permutation(domain)[rank]
    return rank


def _skews(
    alphas: float | Sequence[float] | Sequence[Sequence[float]], streams: int, attributes: int
) -> NDArray[np.float64]:
    """Return the skew of every attribute of every stream, [streams, attributes]."""
    try:
        skew = np.broadcast_to(np.asarray(alphas, dtype=np.float64), (streams, attributes))
    except ValueError:
        raise BadInput(
            f"alphas must hold {attributes} skew(s), or {streams} rows of them, got {alphas!r}"
        ) from None
    if not (np.isfinite(skew) & (skew >= 0)).all():
        raise BadInput(f"alpha must be a number of at least 0, got {alphas!r}")
    return skew


def locality(
    length: int,
    seed: int,
    *,
    b: float = 0.3,
    h: int = 50,
    fall: float = 15.0,
    domain: int = 500,
    alpha: float = 0.0,
    dealt: bool = True,
) -> JoinTrace:
    """Return `length` steps of two streams that repeat themselves, one tuple of each a step.

    b: the share of tuples that are drawn afresh; 1: all of them.
    h: how far back a tuple may be repeated.
    fall: how fast the chance to be repeated falls: a_i is proportional to exp(-i / fall).
    domain: how many keys there are.
    alpha: the Zipf skew of their popularity; 0 makes all equally popular.
    dealt: the streams are one, dealt in turn.

    >>> len(locality(1000, seed=1))
    2000
    """
    at_least("length", length, 1)
    model = falling(b, h, fall, domain, alpha)
    if dealt:
        stream = model.sample(2 * length, seed)
        streams = [stream[0::2], stream[1::2]]
    else:
        streams = [model.sample(length, seed, side) for side in (0, 1)]
    side, key, time = interleave(streams)
    return JoinTrace(side, key, time, name="locality", value=key)


def falling(b: float, h: int, fall: float, domain: int, alpha: float) -> Locality:
    """Return the model whose a_i fall as exp(-i / fall), over keys of Zipf popularity.

    >>> falling(b=0.3, h=50, fall=15, domain=500, alpha=0)
    Locality(h=50, b=0.3, keys=500)
    """
    at_least("h", h, 1)
    at_least("domain", domain, 1)
    if not 0 <= b <= 1:
        raise BadInput(f"b must be from 0 to 1, got {b}")
    if not fall > 0:
        raise BadInput(f"fall must be above 0, got {fall}")
    a = np.exp(-np.arange(1, h + 1) / fall)
    return Locality(a * ((1 - b) / a.sum()), b, popularity(domain, alpha))
