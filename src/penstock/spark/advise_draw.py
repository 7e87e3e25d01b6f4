"""Samples for the advisor, drawn from frames: Spark counts, and the sampled rows come here.

Rows come as columns `key` (64 bits) and `time` (a number). Three times they are looked at: how many
each key has, and from when to when; how many came in each bin of time; and the rows of the sample
itself. What was counted of each key is kept meanwhile.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..advisor.advice import Advice, Streams
from ..advisor.advise import (
    check_span,
    from_join_sample,
    from_lookup_sample,
    refuse_strangers,
    window_doubts,
)
from ..advisor.draw import ERROR, plan, plan_lookup
from ..advisor.hot import SLOPE, STEP, KeyTable, Split
from ..advisor.live import FINE, live_by_bins, live_rows
from ..advisor.sample import join_sample, lookup_sample
from ..advisor.sizes import PAYLOAD
from ..advisor.stretches import WHOLE, Stretch, choose_stretches
from ..core.policy import CACHING, JOINING
from ..errors import BadInput
from ..profile.popularity import fit_zipf
from .keyed import KEY, TIME

SIDE, LEFT, RIGHT, ALIKE, STANDS = "side", "left", "right", "alike", "stands"
FIRST, LAST = "first", "last"
BINS = 1_000_000  # of time
MOST_KEYS = 20_000_000  # whose counts are laid out on the driver
TICKS = 1 << 20  # steps in which a share of the keys can be given


class Wanted(NamedTuple):
    """What is asked for."""

    within: int | None
    work: int
    payload: float | None
    call: str


class Counts(NamedTuple):
    """How many keys have so many rows on the left and on the right."""

    left: np.ndarray
    right: np.ndarray
    alike: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """Rows of such a key."""
        return self.left + self.right

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return int(self.alike.sum())

    def total(self, values: np.ndarray) -> float:
        """Add up over all keys."""
        return float((values * self.alike).sum())


def advise_frames(
    frames: list[DataFrame],
    wanted: Wanted,
    *,
    target: float,
    goal: str,
    tried: Sequence[str],
    seed: int,
) -> Advice:
    """Return advice for a join."""
    rows = _present(frames[0], 0).unionByName(_present(frames[1], 1))
    per_key = _per_key(rows).persist()
    try:
        return _from_keys(rows, per_key, wanted, target, goal, tried, seed)
    finally:
        per_key.unpersist()


def _from_keys(
    rows: DataFrame,
    per_key: DataFrame,
    wanted: Wanted,
    target: float,
    goal: str,
    tried: Sequence[str],
    seed: int,
) -> Advice:
    counts = _counts(per_key)
    count = tuple(int(counts.total(each)) for each in (counts.left, counts.right))
    if not all(count):
        raise BadInput("both frames must have rows with a key and a time, and one has none")
    first, last = per_key.agg(F.min(FIRST), F.max(LAST)).collect()[0]
    span, within = last - first, wanted.within
    check_span(span, within)
    together = (counts.left > 0) & (counts.right > 0)
    if not together.any():
        keys = [int(counts.alike[each > 0].sum()) for each in (counts.left, counts.right)]
        refuse_strangers(*keys)
    edges, binned = _binned(rows, first, span, within)
    live = live_by_bins(binned, float(edges[1] - edges[0]), within)
    # As many matches as there would be if each key came evenly over the time.
    chance = 1.0 if within is None else min(1.0, 2 * within / span)
    matches = counts.left * counts.right * chance
    table = _table(counts, matches)
    split, part = plan(table, live.mean, wanted.work, ERROR, within, goal)
    stretches = WHOLE
    if part < 1:
        stretches = choose_stretches(edges, binned, part, live.mean, within, seed)
    windows = sum(count) / max(1.0, live.mean)
    hot = _hot_keys(per_key, table, split, chance, windows)
    drawn = _drawn(rows, hot, split, stretches, seed)
    sample = join_sample(*_columns(drawn, split), within, stretches, split)
    if sample.whole:
        live = live_rows(sample.time, within)
    streams = Streams(
        JOINING,
        "left and right",
        count,
        counts.keys,
        live.mean,
        max(1, live.peak),
        1.0,
        _skew(counts),
        float(matches.max() / max(1.0, counts.total(matches))),
        PAYLOAD if wanted.payload is None else wanted.payload,
        wanted.call,
    )
    doubts = window_doubts(span, within)
    return from_join_sample(sample, streams, live, target, goal, tried, seed, doubts, None)


def advise_events(
    frame: DataFrame, wanted: Wanted, *, target: float, tried: Sequence[str], seed: int
) -> Advice:
    """Return advice for a cache."""
    rows = _present(frame, 0)
    per_key = _per_key(rows).persist()
    try:
        return _from_event_keys(rows, per_key, wanted, target, tried, seed)
    finally:
        per_key.unpersist()


def _from_event_keys(
    rows: DataFrame,
    per_key: DataFrame,
    wanted: Wanted,
    target: float,
    tried: Sequence[str],
    seed: int,
) -> Advice:
    counts = _counts(per_key)
    total = int(counts.total(counts.left))
    if total == counts.keys:
        raise BadInput(
            "every key of the events comes once, or there are none, so that no cache finds "
            "anything; choose another key"
        )
    table = _table(counts, np.zeros(len(counts.left)))
    split = plan_lookup(table, wanted.work, ERROR)
    drawn = _drawn(rows, _hot_keys(per_key, table, split, 0.0, np.inf), split, WHOLE, seed)
    _, key, _, weight, hot = _columns(drawn, split)
    sample = lookup_sample(key, weight, hot)
    streams = Streams(
        CACHING,
        "events",
        (total,),
        counts.keys,
        float(counts.keys),
        counts.keys,
        1 - counts.keys / total,
        _skew(counts),
        float(counts.left.max() / total),
        PAYLOAD,
        wanted.call,
    )
    return from_lookup_sample(sample, streams, target, tried, seed, None)


def _present(frame: DataFrame, side: int) -> DataFrame:
    return frame.where(F.col(KEY).isNotNull()).withColumn(SIDE, F.lit(side).cast("byte"))


def _per_key(rows: DataFrame) -> DataFrame:
    right = F.sum(F.col(SIDE).cast("long"))
    return rows.groupBy(KEY).agg(
        (F.count(F.lit(1)) - right).alias(LEFT),
        right.alias(RIGHT),
        F.min(TIME).alias(FIRST),
        F.max(TIME).alias(LAST),
    )


def _counts(per_key: DataFrame) -> Counts:
    table = per_key.groupBy(LEFT, RIGHT).agg(F.count(F.lit(1)).alias(ALIKE)).toArrow()
    return Counts(*(table[name].to_numpy().astype(np.int64) for name in (LEFT, RIGHT, ALIKE)))


def _binned(
    rows: DataFrame, first: int, span: int, within: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of bins of time, and how many rows came in each."""
    width = max(1, -(-span // BINS), (within or 0) // FINE)
    number = F.floor((F.col(TIME) - F.lit(first)) / F.lit(width)).cast("long")
    table = rows.groupBy(number.alias("bin")).agg(F.count(F.lit(1)).alias("rows")).toArrow()
    binned = np.zeros(int(span // width) + 1, np.int64)
    binned[table["bin"].to_numpy()] = table["rows"].to_numpy()
    return first + width * np.arange(len(binned) + 1), binned


def _table(counts: Counts, matches: np.ndarray) -> KeyTable:
    """Return the keys one by one, as far as the driver has room; their numbers mean nothing."""
    alike = counts.alike
    if counts.keys > MOST_KEYS:
        alike = np.maximum(1, alike * MOST_KEYS // counts.keys)
    return KeyTable(
        np.arange(int(alike.sum())), np.repeat(counts.rows, alike), np.repeat(matches, alike)
    )


def _drawn(
    rows: DataFrame,
    hot: DataFrame | None,
    split: Split,
    stretches: tuple[Stretch, ...],
    seed: int,
) -> pa.Table:
    """Return side, key and time of the rows in the sample, and what a row of a hot key stands for.

    hot: the keys that are always in; None where all are.
    """
    wanted = rows
    if stretches is not WHOLE:
        wanted = wanted.where(_within(stretches))
    if hot is None:
        return wanted.select(SIDE, KEY, TIME, F.lit(1.0).alias(STANDS)).toArrow()
    share = F.lit(TICKS // split.weight)
    drawn = F.pmod(F.xxhash64(F.col(KEY), F.lit(seed)), F.lit(TICKS)) < share
    comes = F.rand(seed) * F.col(STANDS) < 1
    wanted = wanted.join(F.broadcast(hot), KEY, "left")
    wanted = wanted.where(F.coalesce(comes, drawn))  # whose key is not hot stands for nothing
    return wanted.select(SIDE, KEY, TIME, STANDS).toArrow()


def _hot_keys(
    per_key: DataFrame, table: KeyTable, split: Split, chance: float, windows: float
) -> DataFrame | None:
    """Return the keys whose share is as large as that of the least of the hot ones.

    Where all keys are in the sample, only those of which not all rows are; None if there are none.
    """
    if split.everything:
        return None
    count = F.col(LEFT) + F.col(RIGHT)
    crowding = F.pow(count / F.lit(windows * split.limits.rush), F.lit(SLOPE))
    stands = F.greatest(F.lit(1.0), F.rint(F.lit(STEP) * crowding) / F.lit(STEP))
    named = per_key.select(KEY, LEFT, RIGHT, stands.alias(STANDS))
    if split.weight == 1:
        return named.where(F.col(STANDS) > 1).select(KEY, STANDS)
    least = float(table.share[split.hot].min()) if split.hot.any() else 2.0
    rows, matches = (max(1.0, float(each.sum())) for each in (table.rows, table.matches))
    share = F.greatest(
        count / F.lit(rows), F.col(LEFT) * F.col(RIGHT) * F.lit(chance) / F.lit(matches)
    )
    return named.where(share >= F.lit(least * (1 - 1e-9))).select(KEY, STANDS)


def _within(stretches: tuple[Stretch, ...]) -> Column:
    """Tell whether a time lies in a stretch: by halves, so that few of them are looked at."""
    middle = len(stretches) // 2
    if middle == 0:
        only = stretches[0]
        return (F.col(TIME) >= F.lit(only.warm)) & (F.col(TIME) < F.lit(only.stop))
    early = F.col(TIME) < F.lit(stretches[middle].warm)
    return F.when(early, _within(stretches[:middle])).otherwise(_within(stretches[middle:]))


def _columns(
    table: pa.Table, split: Split
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return side, key, time, weight and whether its key is hot, in (time, side) order."""
    side, key, time, stands = (
        table[name].to_numpy(zero_copy_only=False) for name in (SIDE, KEY, TIME, STANDS)
    )
    order = np.lexsort((side, time))
    stands = stands[order].astype(np.float64)  # what is missing becomes nan
    hot = ~np.isnan(stands) | (split.weight == 1)
    weight = np.where(np.isnan(stands), float(split.weight), stands)
    return side[order].astype(np.int8), key[order], time[order].astype(np.int64), weight, hot


def _skew(counts: Counts) -> float | None:
    if counts.keys < 3:
        return None
    rows, place = np.unique(-counts.rows, return_inverse=True)
    alike = np.bincount(place, counts.alike).astype(np.int64)
    return round(float(fit_zipf(-rows, alike).exponent.value), 3)
