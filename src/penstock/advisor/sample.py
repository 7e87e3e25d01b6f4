"""The rows that miniatures replay: some keys, some stretches of time, each row with its weight."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numeric import Ints
from .crowd import may_be_kept, pairs_with
from .hot import STEP, Split
from .stretches import Stretch

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys of a sample, numbered."""

    number: Ints  # of each row
    alike: Floats  # of each key: how many keys it stands for
    doubt: Floats  # of each key: how much of the square of what it adds is variance

    def variance(self, apart: Floats) -> float:
        """Return what chance does to a sum, to which each row adds so much."""
        by_key = np.bincount(self.number, apart, len(self.doubt))
        return float((self.doubt * by_key**2).sum())


@dataclass(frozen=True, eq=False)
class JoinSample:
    """Rows of two streams in (time, side) order."""

    side: NDArray[np.int8]
    key: Ints
    time: Ints
    weight: Floats  # how many rows each one that may be kept stands for
    kept: NDArray[np.bool_]  # whether it may be kept; the others only come
    worth: Floats  # how many results each result of a row stands for
    keys: Keys
    within: int | None
    parts: tuple[tuple[int, int, int], ...]  # of each stretch: first row, first that counts, end
    exact: Floats  # of each row that counts: what an unlimited memory finds, in what it stands for
    live: float  # rows alive on average, in weights
    whole: bool  # whether every row of the streams is in it

    @property
    def weighted(self) -> bool:
        """Whether some rows stand for more than themselves."""
        return bool((self.weight > 1).any())

    @property
    def hottest(self) -> float:
        """The part of all results that one key makes."""
        by_key = np.bincount(self.keys.number, self.exact) / self.keys.alike
        return float(by_key.max() / max(1.0, self.exact.sum()))

    @property
    def matches(self) -> Floats:
        """What an unlimited memory would find in each stretch."""
        return self.by_part(self.exact)

    def by_part(self, values: Floats) -> Floats:
        """Add up over the rows of each stretch that count."""
        return np.array([values[start:stop].sum() for _, start, stop in self.parts], np.float64)


def join_sample(
    side: NDArray,
    key: Ints,
    time: Ints,
    weight: Floats,
    hot: NDArray[np.bool_],
    within: int | None,
    stretches: tuple[Stretch, ...],
    split: Split,
) -> JoinSample:
    """Return the sample of rows that lie in the stretches, in (time, side) order.

    weight: how many rows each one stands for: of its own key if that is `hot`, else of other keys.
    """
    cuts = [np.searchsorted(time, [each.warm, each.start, each.stop]) for each in stretches]
    parts = tuple((int(first), int(start), int(stop)) for first, start, stop in cuts)
    keys = number_keys(key, weight, hot)
    kept, held = may_be_kept(side, time, keys.number, within, split.limits.crowd)
    worth = np.where(hot, weight**2, weight) * held
    exact = pairs_with(kept, side, keys.number, time, within) * worth
    for first, start, _ in parts:
        exact[first:start] = 0
    weight = weight * held
    return JoinSample(
        side,
        key,
        time,
        weight,
        kept,
        worth,
        keys,
        within,
        parts,
        exact,
        _live(time, np.where(kept, weight, 0), within, parts),
        split.everything and bool(kept.all()) and len(parts) == 1 and parts[0][1] == 0,
    )


def number_keys(key: Ints, weight: Floats, hot: NDArray[np.bool_]) -> Keys:
    """Number the keys, and tell how much of the square of what each adds is variance.

    A key that is in the sample with the chance 1 / w: 1 - 1 / w of it. One of which n rows are
    left, 1 of e: the number of its pairs varies by 2 / sqrt(n) of itself, less where e is small.
    """
    _, first, number, rows = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    mine = hot[first]
    left_out = 1 - 1 / weight[first]
    alike = np.where(mine, 1.0, weight[first])
    return Keys(number, alike, np.where(mine, left_out * np.minimum(1, 4 / rows), left_out))


def _live(
    time: Ints, weight: Floats, within: int | None, parts: tuple[tuple[int, int, int], ...]
) -> float:
    """Return the mean of the rows alive, in weights, at the rows that count."""
    total = alive = 0.0
    for first, start, stop in parts:
        came = np.concatenate(([0.0], np.cumsum(weight[first:stop])))
        at = time[first:stop]
        gone = 0 if within is None else np.searchsorted(at, at - within, side="left")
        alive += float((came[1:] - came[gone])[start - first :] @ weight[start:stop])
        total += float(weight[start:stop].sum())
    return alive / total if total else 0.0


@dataclass(frozen=True, eq=False)
class LookupSample:
    """References in their order."""

    key: Ints
    weight: Floats  # how many references, and cached rows, each one stands for
    keys: Keys
    whole: bool  # whether every reference is in it


def lookup_sample(key: Ints, weight: Floats, hot: NDArray[np.bool_]) -> LookupSample:
    """Return the sample of these references."""
    keys = number_keys(key, weight, hot)
    return LookupSample(np.ascontiguousarray(key), weight, keys, bool(hot.all()))


def sizes(weight: Floats) -> tuple[Ints, int]:
    """Return the weights as whole numbers, and which of them stands for one row.

    >>> sizes(np.array([1.0, 4.0])), sizes(np.array([1.0, 2.5]))
    ((array([1, 4]), 1), (array([16, 40]), 16))
    """
    unit = 1 if (weight % 1 == 0).all() else STEP
    return np.rint(weight * unit).astype(np.int64), unit
