"""How far back the locality model must look: b as a function of h, and the h that suffices.

The more tuples the model looks back on, the more repetitions it explains, and b falls. Where b has
come to rest a larger h costs space and explains nothing. The advice is the smallest h whose
likeliest b lies within `REST` of the one at the longest horizon. Where that is the longest but one
or the longest itself b may still be falling, and `settled` says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..numeric import Ints
from .likelihood import likeliest
from .locality import Weights
from .squares import squares_each
from .stretches import Stretches, whole

REST = 0.02  # of b
LONGEST = 32
STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256)


@dataclass(frozen=True, eq=False)
class Horizon:
    """Estimates for growing h, and the advice."""

    h: tuple[int, ...]
    likelihood: list[Weights]
    squares: list[Weights]
    advice: int  # the h that suffices
    settled: bool  # b has come to rest before the longest h

    def b(self) -> list[float]:
        """Return the likeliest b for each h."""
        return [each.b for each in self.likelihood]


def horizon(
    rank: Ints,
    longest: int = LONGEST,
    before: Ints | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Horizon:
    """Fit the model for several h up to the longest; `progress` is told of each.

    >>> from .locality import Locality
    >>> stream = Locality([0, 0.3, 0.3], 0.4, np.full(100, 0.01)).sample(20_000, seed=1)
    >>> found = horizon(stream, longest=8)
    >>> found.advice, [round(b, 1) for b in found.b()]
    (3, [0.9, 0.6, 0.4, 0.4, 0.4, 0.4, 0.4])
    """
    return look_back(whole(rank, before), longest, progress)


def look_back(
    known: Stretches, longest: int, progress: Callable[[int, int], None] | None = None
) -> Horizon:
    """Fit the model for several h to stretches of a stream."""
    known.check_h(longest)
    tried = [h for h in STEPS if h < longest] + [longest]
    likely: list[Weights] = []
    for h in tried:
        likely.append(likeliest(known, h, likely[-1] if likely else None))
        if progress is not None:
            progress(len(likely), len(tried))
    advice = advise(tried, [each.b for each in likely])
    settled = len(tried) > 2 and advice not in tried[-2:]
    return Horizon(tuple(tried), likely, squares_each(known, tried), advice, settled)


def advise(tried: Sequence[int], b: Sequence[float]) -> int:
    """Return the smallest h from which on b stays within `REST` of where it ends.

    >>> advise([1, 2, 3, 4], [0.9, 0.5, 0.41, 0.4])
    3
    """
    away = np.flatnonzero(np.abs(np.asarray(b) - b[-1]) > REST)
    return tried[int(away[-1]) + 1] if len(away) else tried[0]
