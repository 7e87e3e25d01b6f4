"""A profile in words: a sentence that sums it up, and the lines of its tables."""

from typing import NamedTuple

import numpy as np
from rich.table import Table
from rich.text import Text

from .bursts import Bursts
from .stream_profile import Profile, Sampling, spread

LOCAL, POPULAR = 0.5, 0.95  # of b: below the first, most rows repeat a recent one
CHANCE = 0.02  # of b: how far it may be below 1 by chance, in random order
APART = 0.05  # between the CDFs of distances, of the stream and of its random order


class Row(NamedTuple):
    """One line of a table."""

    part: str
    what: str
    value: str
    meaning: str


Lines = list[tuple[str, str, str]]  # what, value, meaning


def verdict(made: Profile) -> str:
    """Return in a sentence why keys are repeated."""
    b, h, longest = made.likelihood.b, made.likelihood.h, made.horizon.h[-1]
    last = "the preceding row" if h == 1 else f"one of the last {h} rows"
    if b < min(POPULAR, made.permuted_b - CHANCE):
        if b >= LOCAL:
            return f"{1 - b:.0%} of the rows repeat {last}; the others are drawn by popularity"
        return f"most rows ({1 - b:.0%}) repeat {last}; the others are drawn by popularity"
    k = spread(made.length - 1)
    if np.abs(made.distances.within(k) - made.permuted.within(k)).max() < APART:
        return (
            "keys are repeated because they are popular; preceding rows say little about the next"
        )
    few = "the preceding row says" if longest == 1 else f"the last {longest} rows say"
    return (
        f"{few} little about the next, but the order of the keys is not random: the median"
        f" distance until a key is repeated is {made.distances.median:,} rows, and"
        f" {made.permuted.median:,} rows in random order"
    )


def rows(made: Profile) -> list[Row]:
    """Return the lines of the tables."""
    parts = {
        "Popularity": _popularity(made),
        "Distances and LRU": _distances(made),
        "Locality model": _locality(made),
        "Entropy": _entropy(made),
        "Arrival rate": [] if made.bursts is None else _arrivals(made.bursts),
        "Sample": [] if made.sampling is None else _sample(made, made.sampling),
    }
    return [Row(part, *line) for part, lines in parts.items() for line in lines]


def overview(made: Profile) -> Table:
    """Return the profile as a table for the terminal."""
    table = Table(title=Text(f"{made.name}: {verdict(made)}"), title_justify="left")
    table.add_column("what")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("meaning", style="dim")
    lines = rows(made)
    for row, following in zip(lines, [*lines[1:], lines[-1]], strict=True):
        table.add_row(row.what, row.value, row.meaning, end_section=row.part != following.part)
    return table


def _errors(made: Profile) -> Sampling:
    """Return the errors of the estimates, which are 0 if every row was examined."""
    return made.sampling or Sampling(1.0, 1, made.length, 0.0, 0.0, 0.0)


def _plus_minus(error: float | None, form: str) -> str:
    """Return an error to be written after a value; nothing if the value was counted."""
    return f" ± {error:{form}}" if error else ""


def _popularity(made: Profile) -> Lines:
    exponent, error = made.popularity.exponent
    keys = f"{made.keys:,}" + _plus_minus(_errors(made).keys_error, ",.0f")
    skipped = f"{made.skipped:,} more rows have no key or no time" if made.skipped else ""
    top = f"{made.popularity.top(max(1, made.keys // 100)):.1%}"
    z = f"{exponent:.3f}" + _plus_minus(error, ".2g")
    misfit = f"{made.popularity.misfit:.1%}"
    return [
        ("rows", f"{made.length:,}", skipped),
        ("different keys", keys, ""),
        ("share of the top 1 % of keys", top, "of the top key, if there are fewer than 100 keys"),
        ("Zipf exponent", z, "0 if all keys are equally popular; 1 for the classic law"),
        ("misfit of the Zipf law", misfit, "largest difference between counted and fitted shares"),
    ]


def _distances(made: Profile) -> Lines:
    half, most = made.reuse.size_for(0.5), made.reuse.size_for(0.9)
    near = f"{made.distances.within(10):.1%}"
    near += _plus_minus(float(made.distances.error(10)), ".1%")
    chance, median = f"{made.permuted.within(10):.1%}", f"{made.distances.median:,}"
    unlimited = f"{made.reuse.hit_ratio(made.keys):.1%}"
    mixed = f"of the keys that are repeated; {made.permuted.median:,} in random order"
    return [
        ("repeated within 10 rows", near, f"{chance} in random order"),
        ("median distance in rows", median, mixed),
        ("hit ratio, unlimited cache", unlimited, "all rows except the first of each key"),
        ("LRU rows for 50 % of these hits", f"{half:,}", f"{half / made.keys:.1%} of the keys"),
        ("LRU rows for 90 % of these hits", f"{most:,}", f"{most / made.keys:.1%} of the keys"),
    ]


def _locality(made: Profile) -> Lines:
    likely, seen = made.likelihood, made.horizon
    enough = f"{seen.advice} is enough" if seen.settled else f"b may still fall at {seen.h[-1]}"
    b = f"{likely.b:.3f}" + _plus_minus(_errors(made).b_error, ".3f")
    lag = int(likely.a.argmax()) + 1
    repeated = "the preceding row" if lag == 1 else f"the row {lag} rows before"
    strength = f"{likely.a[lag - 1]:.1%} of the rows repeat {repeated}"
    squares = "the paper's estimate, which treats ranks as quantities"
    return [
        ("h", f"{likely.h}", f"preceding rows that the model looks back on; {enough}"),
        ("b", b, "share of the rows drawn by popularity; by maximum likelihood"),
        ("b by least squares", f"{made.squares.b:.3f}", squares),
        ("b in random order", f"{made.permuted_b:.3f}", "differs from 1 only by chance"),
        ("strongest lag", f"{lag}", strength),
    ]


def _entropy(made: Profile) -> Lines:
    alone, given, mixed = made.entropy
    stream = f"{given:.2f}" + _plus_minus(_errors(made).entropy_error, ".2f")
    last = f"bits; the last h = {made.likelihood.h} rows are known"
    return [
        ("entropy by popularity", f"{alone:.2f}", "bits; no preceding rows are known"),
        ("entropy given preceding rows", stream, last),
        ("entropy in random order", f"{mixed:.2f}", "differs from the first only by chance"),
    ]


def _number(value: float) -> str:
    """Return a number with a readable count of digits.

    >>> _number(1e6), _number(99.84), _number(0.33391)
    ('1,000,000', '99.8', '0.334')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _arrivals(found: Bursts) -> Lines:
    unit, units, short = ("unit of time", "units", "")
    if found.seconds:
        unit, units, short = ("second", "seconds", " s")
    lines = [(f"rows per {unit}", _number(found.rate), f"over {_number(found.span)} {units}")]
    for scale in found.scales:
        what = f"dispersion, windows of {_number(scale.window)}{short}"
        mean = f"{scale.peak:,.1f} times the mean of {_number(scale.mean)} rows"
        meaning = f"1 for a Poisson process; the fullest window has {mean}"
        lines.append((what, f"{scale.dispersion:,.2f}", meaning))
    return lines


def _sample(made: Profile, found: Sampling) -> Lines:
    worst = made.reuse.error(spread(made.keys)).max()
    examined = f"of consecutive rows, {found.tuples:,} rows in total"
    error = "where it is largest; in 95 of 100 cases the true value lies within ±"
    return [
        ("keys followed", f"{found.rate:.2%}", "of all keys, through the whole stream"),
        ("stretches examined", f"{found.stretches}", examined),
        ("error of the hit ratio", f"± {worst:.1%}", error),
    ]
