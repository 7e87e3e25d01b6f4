"""A profile in words: the lines of its tables, and what they come to in a sentence."""

from typing import NamedTuple

import numpy as np

from .bursts import Bursts
from .profile import Profile, spread
from .sampled import Sampling

LOCAL, POPULAR = 0.5, 0.95  # of b: below the first most tuples repeat a recent one
CHANCE = 0.02  # of b: what a model may find in random order, where there is nothing to find
APART = 0.05  # between the CDFs of distances, in order and in random order


class Row(NamedTuple):
    """One line of a table."""

    part: str
    what: str
    value: str
    meaning: str


def verdict(made: Profile) -> str:
    """Return in a sentence why keys come back."""
    b, h = made.likelihood.b, made.likelihood.h
    last = "the last tuple" if h == 1 else f"one of the last {h} tuples"
    longest = made.horizon.h[-1]
    popular = b >= min(POPULAR, made.permuted_b - CHANCE)
    if popular and _apart(made) >= APART:
        few = "the last tuple tells" if longest == 1 else f"the last {longest} tuples tell"
        return (
            f"{few} little, but keys do not come in random"
            f" order: at the median they come again after {made.distances.median:,} tuples,"
            f" in random order after {made.permuted.median:,}"
        )
    if popular:
        return "keys come back because they are popular; what came a moment ago tells little"
    if b >= LOCAL:
        return f"{1 - b:.0%} of tuples repeat {last}, the rest are drawn by popularity"
    return f"most tuples, {1 - b:.0%}, repeat {last}; popularity brings the rest"


def _apart(made: Profile) -> float:
    """Return the largest gap between the CDFs of distances of the stream and its random order."""
    k = spread(made.length - 1)
    return float(np.abs(made.distances.within(k) - made.permuted.within(k)).max())


def rows(made: Profile) -> list[Row]:
    """Return the lines of the tables."""
    lines = _popularity(made) + _reuse(made) + _locality(made) + _entropy(made)
    lines += _bursts(made.bursts) if made.bursts is not None else []
    return lines + (_sample(made, made.sampling) if made.sampling is not None else [])


def _off(error: float | None, form: str) -> str:
    """Return how far a value may be off, to be put behind it; nothing if it was counted."""
    return f" ± {error:{form}}" if error else ""


def _popularity(made: Profile) -> list[Row]:
    exponent, error = made.popularity.exponent
    keys_error = made.sampling.keys_error if made.sampling is not None else None
    misfit = made.popularity.misfit
    top = made.popularity.top(max(1, made.keys // 100))
    part = "Popularity"
    skipped = f"{made.skipped:,} more have no key or no time" if made.skipped else ""
    return [
        Row(part, "tuples", f"{made.length:,}", skipped),
        Row(part, "different keys", f"{made.keys:,}{_off(keys_error, ',.0f')}", ""),
        Row(
            part,
            "share of the top 1 % of keys",
            f"{top:.1%}",
            "or of the top key, if fewer than 100",
        ),
        Row(
            part,
            "Zipf exponent",
            f"{exponent:.3f}{_off(error, '.2g')}",
            "0: all keys alike; 1: the classic law",
        ),
        Row(part, "misfit of the Zipf law", f"{misfit:.1%}", "largest gap to the shares counted"),
    ]


def _reuse(made: Profile) -> list[Row]:
    part = "Distances and LRU"
    unlimited = made.reuse.hit_ratio(made.keys)
    half, most = made.reuse.size_for(0.5), made.reuse.size_for(0.9)
    near, chance = made.distances.within(10), made.permuted.within(10)
    near_error = float(made.distances.error(10))
    return [
        Row(
            part,
            "come again within 10 tuples",
            f"{near:.1%}{_off(near_error, '.1%')}",
            f"{chance:.1%} in random order",
        ),
        Row(
            part,
            "median distance",
            f"{made.distances.median:,}",
            f"{made.permuted.median:,} in random order; of keys that come again",
        ),
        Row(part, "hit ratio, unlimited cache", f"{unlimited:.1%}", "all but the first of a key"),
        Row(
            part, "LRU rows for 50 % of these hits", f"{half:,}", f"{half / made.keys:.1%} of keys"
        ),
        Row(
            part, "LRU rows for 90 % of these hits", f"{most:,}", f"{most / made.keys:.1%} of keys"
        ),
    ]


def _locality(made: Profile) -> list[Row]:
    part = "Locality model"
    likely, squares, seen = made.likelihood, made.squares, made.horizon
    enough = f"{seen.advice} suffices" if seen.settled else f"b may still fall at {seen.h[-1]}"
    strongest = int(likely.a.argmax()) + 1
    b_error = made.sampling.b_error if made.sampling is not None else None
    return [
        Row(part, "h", f"{likely.h}", f"tuples looked back on; {enough}"),
        Row(
            part, "b", f"{likely.b:.3f}{_off(b_error, '.3f')}", "drawn by popularity; by likelihood"
        ),
        Row(part, "b, least squares", f"{squares.b:.3f}", "the paper's; takes ranks for numbers"),
        Row(part, "b in random order", f"{made.permuted_b:.3f}", "1, but for chance"),
        Row(
            part,
            "strongest lag",
            f"{strongest}",
            f"{likely.a[strongest - 1]:.1%} of tuples repeat the one so many before",
        ),
    ]


def _entropy(made: Profile) -> list[Row]:
    part = "Entropy, bits a tuple"
    found = made.entropy
    error = made.sampling.entropy_error if made.sampling is not None else None
    return [
        Row(part, "by popularity alone", f"{found.popularity:.2f}", "nothing known of the past"),
        Row(
            part,
            "given the past",
            f"{found.stream:.2f}{_off(error, '.2f')}",
            f"the last h = {made.likelihood.h} tuples known",
        ),
        Row(part, "in random order", f"{found.permuted:.2f}", "as by popularity, but for chance"),
    ]


def _number(value: float) -> str:
    """Return a number with as many digits as a reader wants.

    >>> _number(1e6), _number(99.84), _number(0.33391)
    ('1,000,000', '99.8', '0.334')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _bursts(found: Bursts) -> list[Row]:
    part = "Arrival rate"
    lines = [
        Row(part, "tuples in a unit of time", _number(found.rate), f"over {_number(found.span)}")
    ]
    for scale in found.scales:
        lines.append(
            Row(
                part,
                f"dispersion, windows of {_number(scale.window)}",
                f"{scale.dispersion:,.2f}",
                f"Poisson: 1; peak {scale.peak:,.1f} x the mean of {_number(scale.mean)}",
            )
        )
    return lines


def _sample(made: Profile, found: Sampling) -> list[Row]:
    part = "Sample"
    worst = made.reuse.error(spread(made.keys)).max()
    return [
        Row(part, "keys followed", f"{found.rate:.2%}", "of all, each through the whole stream"),
        Row(
            part,
            "stretches read",
            f"{found.stretches}",
            f"{found.tuples:,} tuples that follow each other, in all",
        ),
        Row(
            part,
            "error of the hit ratio",
            f"± {worst:.1%}",
            "where it is largest; 95 of 100 times the truth lies within ±",
        ),
    ]
