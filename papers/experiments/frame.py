"""An experiment of a paper: its grid, its picture, and a verdict on each claim of the text."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any, NamedTuple

from .lab import Lab, Rows

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold here"
NAMED = 8  # cases in which a claim does not hold
# Student's t: within so many standard errors a mean lies with 99 %, by runs from 2 to 10; beyond
# them, where it is less, as for 10.
STUDENT = (63.66, 9.92, 5.84, 4.60, 4.03, 3.71, 3.50, 3.36, 3.25)


class Verdict(NamedTuple):
    """A claim of a paper's text, and what became of it."""

    claim: str
    verdict: str  # HOLDS, IN_PART or FAILS
    ours: str  # the numbers behind it


@dataclass(frozen=True)
class Found:
    """What an experiment brought."""

    rows: list[dict[str, Any]]  # of the table
    draw: Callable[[Any], None]  # into a figure of matplotlib
    verdicts: list[Verdict]
    notes: list[str] = field(default_factory=list)  # where it departs from the paper
    size: tuple[float, float] = (7.0, 4.0)  # of the figure, in inches


@dataclass(frozen=True)
class Experiment:
    """One of the papers' experiments."""

    name: str  # as in `python -m papers reproduce NAME`
    paper: str
    figure: str  # as the paper numbers it
    what: str
    run: Callable[[Lab], Found]
    needs: tuple[str, ...] = ()  # files of the data folder without which it cannot run


def judge(
    claim: str, parts: Mapping[str, bool] | Iterable[bool], ours: str, why: str = ""
) -> Verdict:
    """Return the verdict on a claim about several cases: it holds if it does in all of them.

    Where it does in some only, those in which it does not are named, if they have names.
    why: what is known of the reason, said where the claim does not hold in all of them.

    >>> judge("never below zero", {"tower": True, "roof": False}, "-3 to 5")
    Verdict(claim='never below zero', verdict='holds in part', ours='-3 to 5; not: roof')
    >>> judge("never below zero", [True, True], "2 to 5", why="it snowed").ours
    '2 to 5'
    >>> judge("never below zero", [False], "-3", why="it snowed").ours
    '-3. It snowed'
    """
    named = dict(parts) if isinstance(parts, Mapping) else dict(enumerate(parts))
    if not named:
        raise ValueError(f"nothing is known about the claim {claim!r}")
    bad = [str(name) for name, holds in named.items() if not holds]
    if not bad:
        return Verdict(claim, HOLDS, spaced(ours))
    if len(bad) < len(named) and isinstance(parts, Mapping):
        more = f" and {len(bad) - NAMED} more" if len(bad) > NAMED else ""
        ours += f"; not: {', '.join(bad[:NAMED])}{more}"
    reason = f". {why[0].upper()}{why[1:]}" if why else ""
    return Verdict(claim, IN_PART if len(bad) < len(named) else FAILS, spaced(ours + reason))


class Ratio(NamedTuple):
    """How many times as much one is as another, in the mean of runs on the same arrivals."""

    mean: float
    error: float  # it lies within the mean ± so much with 99 %; 0: there is one run

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.error:.3f}" if self.error else f"{self.mean:.3f}"

    def above(self, limit: float = 1.0) -> bool:
        """Tell whether it is above a limit, by more than runs differ."""
        return self.mean - self.error > limit

    def below(self, limit: float = 1.0) -> bool:
        """Tell whether it is below a limit, by more than runs differ."""
        return self.mean + self.error < limit


def ratio(one: Sequence[float], other: Sequence[float]) -> Ratio:
    """Return the ratio of two means, of runs that were paired; of one recorded stream there is one.

    >>> str(ratio([12, 11, 13], [10, 10, 10])), ratio([12], [10])
    ('1.200 ± 0.573', Ratio(mean=1.2, error=0.0))
    >>> ratio([12, 11, 13], [10, 10, 10]).above(), ratio([12, 11.9, 12.1], [10, 10, 10]).above()
    (False, True)
    """
    if len(one) != len(other):
        raise ValueError(f"runs must be paired, got {len(one)} and {len(other)}")
    base = max(fmean(other), 1e-12)
    mean = fmean(one) / base
    if len(one) == 1:
        return Ratio(mean, 0.0)
    rest = [(a - mean * b) / base for a, b in zip(one, other, strict=True)]
    times = STUDENT[min(len(one) - 2, len(STUDENT) - 1)]
    return Ratio(mean, times * stdev(rest) / math.sqrt(len(one)))


def beside(rows: Rows, what: str, one: dict[str, Any], other: dict[str, Any]) -> Ratio:
    """Return how many times as much of a column some rows have as others, paired by their runs.

    >>> found = (("a", 1, 6), ("a", 0, 4), ("b", 0, 2), ("b", 1, 3))
    >>> rows = Rows({"policy": p, "run": n, "results": x} for p, n, x in found)
    >>> beside(rows, "results", {"policy": "a"}, {"policy": "b"})
    Ratio(mean=2.0, error=0.0)
    """
    runs = (sorted(rows.where(**each), key=lambda row: row.get("run", 0)) for each in (one, other))
    return ratio(*([row[what] for row in each] for each in runs))


def spaced(text: str) -> str:
    """Return text with a space before each sign of percent, as people write it.

    >>> spaced("5% to 10 %")
    '5 % to 10 %'
    """
    return re.sub(r"(?<=\d)%", " %", text)


def span(values: Iterable[float], form: str = ".2f") -> str:
    """Return the smallest and the largest of some values as words.

    >>> span([0.5, 2, 1]), span([0.5], ".0%")
    ('0.50 to 2.00', '50%')
    """
    low, high = (format(each(values), form) for values in [list(values)] for each in (min, max))
    return low if low == high else f"{low} to {high}"
