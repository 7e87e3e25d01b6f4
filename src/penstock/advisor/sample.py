"""The rows that are replayed: some keys, some stretches of time, each row with its weight.

Of crowded keys all rows come, and only some of them may be kept. `live_rows` says how many rows an
exact join holds: those that a later row can still match.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernel.gains import PAIRS
from ..numeric import Floats, Ints
from ..simulate.optimum import exact_results, first_matches
from . import draw
from .draw import STEP, WHOLE, KeyTable, Split, Stretch


def may_be_kept(
    side: NDArray, time: Ints, number: Ints, within: int | None, crowd: float
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which rows may be kept, and for each row how many of its key one that is stands for.

    Of each key and side every g-th row, so that about `crowd` rows of a key are live.

    number: of each row's key.

    >>> kept, stands = may_be_kept(np.zeros(6), np.arange(6), np.zeros(6, int), None, crowd=3)
    >>> kept.tolist(), stands.tolist()
    ([False, True, False, True, False, True], [2.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    """
    rows = np.bincount(number)
    part = 1.0 if within is None or not len(time) else live_rows(time, within).mean / len(time)
    stands = np.maximum(1.0, np.rint(STEP * (rows * part) / crowd) / STEP)[number]
    if not (stands > 1).any():
        return np.ones(len(time), bool), stands
    order = np.lexsort((side, number))
    group = (2 * number + side)[order].astype(np.int64)
    first = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.r_[first, len(order)]))
    each = stands[order]
    kept = np.empty(len(order), bool)
    kept[order] = np.floor((rank + 1) / each) > np.floor(rank / each)
    return kept, stands


FINE = 32  # bins of time within a window, where times are known by bins only


class Live(NamedTuple):
    """The live rows at a time."""

    mean: float  # as an arriving row finds them, itself among them
    peak: int  # the most at any time: with so many the join is exact


def live_rows(time: Ints, within: int | None) -> Live:
    """Return how many rows are live.

    >>> live_rows(np.array([0, 1, 2, 9]), within=1)
    Live(mean=1.5, peak=2)
    """
    gone = 0 if within is None else np.searchsorted(time, time - within, side="left")
    live = np.arange(1, len(time) + 1) - gone
    return Live(float(live.mean()), int(live.max()))


def live_by_bins(rows: Ints, width: float, within: float | None) -> Live:
    """Return about how many rows are live, from how many came in each bin of time.

    >>> live_by_bins(np.array([4, 4, 4, 4]), width=5, within=10)
    Live(mean=6.0, peak=10)
    """
    came = np.concatenate(([0.0], np.cumsum(rows)))
    edges = np.arange(len(came)) * width
    middle = edges[:-1] + width / 2
    start = np.zeros(len(middle)) if within is None else middle - within
    live = np.interp(middle, edges, came) - np.interp(start, edges, came)
    peak = live.max() + (width / 2 if within else 0) / width * rows[int(live.argmax())]
    return Live(float(np.average(live, weights=rows)), int(np.ceil(peak)))


BINS = 65_536  # of time


@dataclass(frozen=True, eq=False)
class SampledKeys:
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
    keys: SampledKeys
    within: int | None
    parts: tuple[tuple[int, int, int], ...]  # of each stretch: first row, first that counts, end
    exact: Floats  # of each row that counts: what an unlimited memory finds, in what it stands for
    comes: Floats  # how many rows each one that comes stands for
    matchable: Floats  # rows that an unlimited memory first matches when this one comes, likewise
    live: float  # live rows on average, in weights
    whole: bool  # whether every row of the streams is in it

    @property
    def weighted(self) -> bool:
        """Whether some rows stand for more than themselves."""
        return bool((self.weight > 1).any())

    def top(self, keys: int) -> float:
        """Return the part of all results that so many keys make, those with most of them."""
        by_key = np.bincount(self.keys.number, self.exact) / self.keys.alike
        order = np.argsort(-by_key)
        taken = np.minimum(np.cumsum(self.keys.alike[order]), keys)
        return float(by_key[order] @ np.diff(taken, prepend=0) / max(1.0, self.exact.sum()))

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
    columns = side, keys.number, time, None if within is None else time + within
    pairs = exact_results(*columns, kept=kept)
    first_match = first_matches(*columns, kept=kept, found=pairs)
    exact = pairs[0] * worth
    comes, weight = weight, weight * held
    matchable = _matchable(first_match, comes, weight)
    for first, start, _ in parts:
        exact[first:start] = matchable[first:start] = 0
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
        comes,
        matchable,
        _live(time, np.where(kept, weight, 0), within, parts),
        split.everything and bool(kept.all()) and len(parts) == 1 and parts[0][1] == 0,
    )


def _matchable(first: Ints, comes: Floats, weight: Floats) -> Floats:
    """Return for each row how many rows are first matched when it comes.

    first: at whose arrival each row is. Itself a row counts for those that come; a row that was
    kept counts for those that it was kept for.
    """
    rows = np.arange(len(first))
    counts = np.where(first == rows, comes, weight)
    return np.bincount(first, counts, len(first) + 1)[:-1].astype(np.float64)


def number_keys(key: Ints, weight: Floats, hot: NDArray[np.bool_]) -> SampledKeys:
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
    return SampledKeys(number, alike, np.where(mine, left_out * np.minimum(1, 4 / rows), left_out))


def _live(
    time: Ints, weight: Floats, within: int | None, parts: tuple[tuple[int, int, int], ...]
) -> float:
    """Return the mean of the live rows, in weights, at the rows that count."""
    total = live = 0.0
    for first, start, stop in parts:
        came = np.concatenate(([0.0], np.cumsum(weight[first:stop])))
        at = time[first:stop]
        gone = 0 if within is None else np.searchsorted(at, at - within, side="left")
        live += float((came[1:] - came[gone])[start - first :] @ weight[start:stop])
        total += float(weight[start:stop].sum())
    return live / total if total else 0.0


@dataclass(frozen=True, eq=False)
class LookupSample:
    """References in their order."""

    key: Ints
    weight: Floats  # how many references, and cached rows, each one stands for
    keys: SampledKeys
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


def draw_join(
    side: NDArray,
    key: Ints,
    time: Ints,
    within: int | None,
    work: int,
    error: float,
    seed: int,
    goal: str = PAIRS,
) -> tuple[JoinSample, Live]:
    """Return a sample of rows in (time, side) order, and how many are live in the whole."""
    live = live_rows(time, within)
    table, number = key_table(side, key, time, within)
    split, part = draw.plan(table, live.mean, work, error, within, goal)
    stretches = WHOLE
    if part < 1:
        rows, edges = np.histogram(time, min(BINS, max(1, int(time[-1] - time[0]))))
        stretches = draw.choose_stretches(edges, rows, part, live.mean, within, seed)
    weight = draw.weights_of(table, split, seed)[number]
    hot = split.hot[number]
    inside = (weight > 0) & _inside(time, stretches)
    if (split.thin > 1).any():
        inside &= ~hot | (np.random.default_rng(seed).random(len(key)) * weight < 1)
    kept = np.flatnonzero(inside)
    taken = side[kept], key[kept], time[kept], weight[kept], hot[kept]
    return join_sample(*taken, within, stretches, split), live


def key_table(
    side: NDArray, key: Ints, time: Ints, within: int | None
) -> tuple[KeyTable, NDArray[np.int64]]:
    """Return what is known of each key, and the number of each row's key."""
    keys, number = np.unique(key, return_inverse=True)
    end = None if within is None else time + within
    found = exact_results(side, key, time, end)[0]
    matches = np.bincount(number, found).astype(np.float64)
    return KeyTable(keys, np.bincount(number), matches), number


def _inside(time: Ints, stretches: tuple[Stretch, ...]) -> NDArray[np.bool_]:
    inside = np.zeros(len(time), bool)
    for each in stretches:
        first, stop = np.searchsorted(time, [each.warm, each.stop])
        inside[first:stop] = True
    return inside


def draw_lookup(key: Ints, work: int, error: float, seed: int) -> LookupSample:
    """Return a sample of references."""
    keys, number, rows = np.unique(key, return_inverse=True, return_counts=True)
    table = KeyTable(keys, rows, np.zeros(len(keys)))
    split = draw.plan_lookup(table, work, error)
    weight = draw.weights_of(table, split, seed)[number]
    kept = np.flatnonzero(weight > 0)
    return lookup_sample(key[kept], weight[kept], split.hot[number[kept]])
