"""An experiment of a paper: its grid, its picture, and a verdict on each claim of the text."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .lab import Lab

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold here"
NAMED = 8  # cases in which a claim does not hold


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
