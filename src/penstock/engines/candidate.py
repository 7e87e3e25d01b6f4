"""What can be tried out: a policy with its parameters, and a layout of the memory."""

from collections.abc import Sequence
from typing import NamedTuple

from ..core.policy import Chosen

FIRSTS = (0.2, 0.35, 0.5, 0.65, 0.8)  # shares of the first of two streams


class Candidate(NamedTuple):
    """A policy, in one memory for all or in one for each stream."""

    chosen: Chosen
    shares: tuple[float, ...] | None = None  # of the memory, by stream; None: one memory for all
    family: int = 0  # policies that differ in parameters only are one family

    @property
    def layout(self) -> str:
        return "unified" if self.shares is None else "split"

    def __str__(self) -> str:
        if self.shares is None:
            return str(self.chosen)
        return f"{self.chosen}, split " + ":".join(f"{100 * share:.0f}" for share in self.shares)


def layouts(streams: int) -> list[tuple[float, ...]]:
    """Return the ways to give each stream a memory of its own.

    >>> layouts(2)[1:3], [round(share, 2) for share in layouts(3)[0]]
    ([(0.35, 0.65), (0.5, 0.5)], [0.33, 0.33, 0.33])
    """
    if streams == 2:
        return [(first, round(1 - first, 2)) for first in FIRSTS]
    return [(1 / streams,) * streams]


def candidates(
    families: Sequence[Sequence[Chosen]], streams: int, split: bool
) -> tuple[Candidate, ...]:
    """Return everything that may be tried: first the families, then the same split."""
    whole = [Candidate(each, None, n) for n, family in enumerate(families) for each in family]
    if not split:
        return tuple(whole)
    parts = layouts(streams)
    return (*whole, *(each._replace(shares=shares) for each in whole for shares in parts))


def are_neighbours(one: Candidate, two: Candidate) -> bool:
    """Tell whether they differ by one step: in parameters, or in layout.

    >>> from penstock.policies import choose
    >>> lru = Candidate(choose("lru"))
    >>> even, uneven = lru._replace(shares=(0.5, 0.5)), lru._replace(shares=(0.2, 0.8))
    >>> are_neighbours(lru, even), are_neighbours(lru, uneven), are_neighbours(even, uneven)
    (True, False, False)
    """
    if one.family != two.family:
        return False
    if one.shares == two.shares:
        return one.chosen != two.chosen
    return one.chosen == two.chosen and _one_step(one.shares, two.shares)


def _one_step(one: tuple[float, ...] | None, two: tuple[float, ...] | None) -> bool:
    """Tell whether two layouts follow each other: one memory, even shares, less even ones."""
    if one is None or two is None:
        shares = one or two or (0.0, 1.0)
        return max(shares) == min(shares)
    return abs(one[0] - two[0]) < 0.16
