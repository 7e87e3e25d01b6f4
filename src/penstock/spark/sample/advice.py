"""How much memory a join or a cache of frames needs: Spark counts and draws, the advisor replays.

Rows come as columns `key` (64 bits) and `time` (a number). They are read three times: how many each
key has, and from when to when; how many came in each bin of time; and the rows of the sample
itself. What was counted of each key is kept meanwhile.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ...advisor import advise as advising
from ...advisor import draw
from ...advisor.advice import Advice, Streams
from ...advisor.draw import KeyTable, Split, Stretch
from ...advisor.sample import FINE, join_sample, live_by_bins, live_rows, lookup_sample
from ...errors import BadInput
from ...kernel.durations import microseconds
from ...kernel.gains import PAIRS
from ...kernel.policy import CACHING, JOINING
from ...simulate.scenario import refuse_join_options
from ..checks import Span, whole
from ..frames import Names, as_names, check_frame, check_same_types, read_input, refuse_stream
from .keyed import KEY, TIME, keyed_rows

Drawn = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]

LOOKED_AT = 1000  # rows whose size is measured
SIDE, LEFT, RIGHT, ALIKE, STANDS = "side", "left", "right", "alike", "stands"
FIRST, LAST = "first", "last"
BINS = 1_000_000  # of time
MOST_KEYS = 20_000_000  # whose counts are laid out on the driver
TICKS = 1 << 20  # steps in which a share of the keys can be given


def advise(
    left: DataFrame,
    right: DataFrame | None = None,
    *,
    on: Names,
    time: str | tuple[str, str],
    within: Span | None = None,
    delay: Span = "10 seconds",
    target: float = 0.95,
    goal: str = PAIRS,
    policies: Sequence[str] = (),
    work: int | None = None,
    seed: int = 0,
) -> Advice:
    """Say how much memory the join of two batch frames needs to find a share of all results.

    With one frame: how much a cache needs, that looks up the row of each event's key, to hit with a
    share of the events.

    Parameters:
        left: the batch frame of one side of a join; the events of a cache.
        right: the batch frame of the other side; none for a cache.
        on: as for `join`.
        time: as for `join`.
        within: as for `join`.
        delay: how late rows of the streams may come, for the line to paste.
        target: the share of all results (recall), or of all events (hit ratio), to be found.
        goal: what a join gets the most of, and the target counts: `pairs`, that is results, or
            `rows` that find at least one partner.
        policies: those to try; by default all that are worth a trial.
        work: how many rows, or as much in matches, every replay may take. The more, the smaller
            the errors.
        seed: decides which keys and stretches of time are sampled.

    The frames are read three times; if they are expensive to make, or random, store them first.
    """
    whole(seed, "seed", 0)
    size = draw.WORK if work is None else whole(work, "work", 10_000)
    for frame, which in ((left, "left"), (right, "right")):
        if frame is not None:
            check_frame(frame, which)
            refuse_stream(frame, "advise", "read the same source with spark.read")
    if isinstance(policies, str):
        raise BadInput(f"policies must be a list of names, got {policies!r}; write [{policies!r}]")
    asked = advising.Asked(target, goal, tuple(policies), seed).checked()
    keys = as_names(on, "on")
    if right is not None:
        sides = _read_sides([left, right], keys, time)
        microseconds(delay, "delay")
        call = advising.join_call(keys, time, within, delay)
        span = None if within is None else microseconds(within, "within")
        payload = (_row_bytes(left) + _row_bytes(right)) / 2
        with _counted(sides) as (rows, per_key):
            return _join(rows, per_key, span, size, payload, call, asked)
    refuse_join_options(within, goal)
    if not isinstance(time, str):
        raise BadInput(f"time must name a column of the events, got {time!r}")
    with _counted([keyed_rows(left, list(keys), time)]) as (rows, per_key):
        return _cache(rows, per_key, size, advising.lookup_call(keys), asked)


def _read_sides(
    frames: list[DataFrame], keys: tuple[str, ...], time: str | tuple[str, str]
) -> list[DataFrame]:
    """Return the keys and times of both sides of a join, refusing keys of different types."""
    clocks = (time, time) if isinstance(time, str) else as_names(time, "time")
    if len(clocks) != 2:
        raise BadInput(f"time must name a column, or one of each frame, got {time!r}")
    given = list(zip(frames, ("left", "right"), clocks, strict=True))
    check_same_types({who: read_input(frame, who, keys, at) for frame, who, at in given})
    return [keyed_rows(frame, list(keys), at) for frame, _, at in given]


def _cache(
    rows: DataFrame, per_key: DataFrame, work: int, call: str, asked: advising.Asked
) -> Advice:
    """Return advice for a cache that the rows refer to."""
    counts = _counts(per_key)
    total = int(counts.total(counts.left))
    if total == counts.keys:
        raise BadInput(
            "every key of the events comes once, or there are none, so that no cache finds "
            "anything; choose another key"
        )
    table = counts.table(np.zeros(len(counts.left)))
    split = draw.plan_lookup(table, work, draw.ERROR)
    hot_keys = _hot_keys(per_key, table, split, 0.0, np.inf)
    _, key, _, weight, hot = _drawn(rows, hot_keys, split, draw.WHOLE, asked.seed)
    counted = (total,), *(counts.keys,) * 3, 1 - counts.keys / total
    hottest = int(counts.left.max()) / total
    streams = Streams(CACHING, "events", *counted, counts.skew, hottest, call=call)
    return advising.from_lookup_sample(lookup_sample(key, weight, hot), streams, asked)


def _join(
    rows: DataFrame,
    per_key: DataFrame,
    within: int | None,
    work: int,
    payload: float,
    call: str,
    asked: advising.Asked,
) -> Advice:
    """Return advice for a join of rows of both sides."""
    counts, seed = _counts(per_key), asked.seed
    count = tuple(int(counts.total(each)) for each in (counts.left, counts.right))
    if not all(count):
        raise BadInput("both frames must have rows with a key and a time, and one has none")
    first, last = per_key.agg(F.min(FIRST), F.max(LAST)).collect()[0]
    span = last - first
    advising.check_span(span, within)
    if not ((counts.left > 0) & (counts.right > 0)).any():
        advising.refuse_disjoint(
            *(int(counts.alike[n > 0].sum()) for n in (counts.left, counts.right))
        )
    width = max(1, -(-span // BINS), (within or 0) // FINE)
    binned = _binned(rows, first, span, width)
    live = live_by_bins(binned, float(width), within)
    # As many matches as there would be if each key came evenly over the time.
    chance = 1.0 if within is None else min(1.0, 2 * within / span)
    matches = counts.left * counts.right * chance
    table = counts.table(matches)
    split, part = draw.plan(table, live.mean, work, draw.ERROR, within, asked.goal)
    stretches = draw.WHOLE
    if part < 1:
        edges = first + width * np.arange(len(binned) + 1)
        stretches = draw.choose_stretches(edges, binned, part, live.mean, within, seed)
    hot = _hot_keys(per_key, table, split, chance, sum(count) / max(1.0, live.mean))
    drawn = _drawn(rows, hot, split, stretches, seed)
    sample = join_sample(*drawn, within, stretches, split)
    if sample.whole:
        live = live_rows(sample.time, within)
    hottest = float(matches.max() / max(1.0, counts.total(matches)))
    facts = live.mean, live.peak, 1.0, counts.skew, hottest, payload, call
    streams = Streams(JOINING, "left and right", count, counts.keys, *facts)
    doubts = advising.window_doubts(span, within)
    return advising.from_join_sample(sample, streams, live, doubts, asked)


def _row_bytes(frame: DataFrame) -> float:
    """Return how many bytes a row takes, from the first ones."""
    table = frame.limit(LOOKED_AT).toArrow()
    return table.nbytes / max(1, table.num_rows)


@contextmanager
def _counted(frames: list[DataFrame]) -> Iterator[tuple[DataFrame, DataFrame]]:
    """Return the rows of all sides that have a key and a time, and what is counted of each key."""
    sides = [
        frame.where(F.col(KEY).isNotNull()).withColumn(SIDE, F.lit(side).cast("byte"))
        for side, frame in enumerate(frames)
    ]
    rows = sides[0] if len(sides) == 1 else sides[0].unionByName(sides[1])
    right = F.sum(F.col(SIDE).cast("long"))
    per_key = rows.groupBy(KEY).agg(
        (F.count(F.lit(1)) - right).alias(LEFT),
        right.alias(RIGHT),
        F.min(TIME).alias(FIRST),
        F.max(TIME).alias(LAST),
    )
    per_key = per_key.persist()
    try:
        yield rows, per_key
    finally:
        per_key.unpersist()


class _Counts(NamedTuple):
    """How many keys have so many rows on the left and on the right."""

    left: np.ndarray
    right: np.ndarray
    alike: np.ndarray

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return int(self.alike.sum())

    def total(self, values: np.ndarray) -> float:
        """Add up over all keys."""
        return float((values * self.alike).sum())

    def table(self, matches: np.ndarray) -> KeyTable:
        """Return the keys one by one, as far as the driver has room; their numbers mean nothing."""
        alike = self.alike
        if self.keys > MOST_KEYS:
            alike = np.maximum(1, alike * MOST_KEYS // self.keys)
        rows = np.repeat(self.left + self.right, alike)
        return KeyTable(np.arange(len(rows)), rows, np.repeat(matches, alike))

    @property
    def skew(self) -> float | None:
        """The exponent of a Zipf law, where there are keys enough to fit one."""
        rows, place = np.unique(-self.left - self.right, return_inverse=True)
        return advising.skew_of(-rows, np.bincount(place, self.alike).astype(np.int64))


def _counts(per_key: DataFrame) -> _Counts:
    table = per_key.groupBy(LEFT, RIGHT).agg(F.count(F.lit(1)).alias(ALIKE)).toArrow()
    return _Counts(*(table[name].to_numpy().astype(np.int64) for name in (LEFT, RIGHT, ALIKE)))


def _binned(rows: DataFrame, first: int, span: int, width: int) -> np.ndarray:
    """Return how many rows came in each bin of time."""
    number = F.floor((F.col(TIME) - F.lit(first)) / F.lit(width)).cast("long")
    table = rows.groupBy(number.alias("bin")).agg(F.count(F.lit(1)).alias("rows")).toArrow()
    binned = np.zeros(int(span // width) + 1, np.int64)
    binned[table["bin"].to_numpy()] = table["rows"].to_numpy()
    return binned


def _hot_keys(
    per_key: DataFrame, table: KeyTable, split: Split, chance: float, windows: float
) -> DataFrame | None:
    """Return the keys whose share is as large as that of the least of the hot ones.

    Where all keys are in the sample, only those of which not all rows are; None if there are none.
    """
    if split.everything:
        return None
    count = F.col(LEFT) + F.col(RIGHT)
    crowding = F.pow(count / F.lit(windows * split.limits.rush), F.lit(draw.SLOPE))
    stands = F.greatest(F.lit(1.0), F.rint(F.lit(draw.STEP) * crowding) / F.lit(draw.STEP))
    named = per_key.select(KEY, LEFT, RIGHT, stands.alias(STANDS))
    if split.weight == 1:
        return named.where(F.col(STANDS) > 1).select(KEY, STANDS)
    least = float(table.share[split.hot].min()) if split.hot.any() else 2.0
    rows, matches = (max(1.0, float(each.sum())) for each in (table.rows, table.matches))
    share = F.greatest(
        count / F.lit(rows), F.col(LEFT) * F.col(RIGHT) * F.lit(chance) / F.lit(matches)
    )
    return named.where(share >= F.lit(least * (1 - 1e-9))).select(KEY, STANDS)


def _drawn(
    rows: DataFrame,
    hot: DataFrame | None,
    split: Split,
    stretches: tuple[Stretch, ...],
    seed: int,
) -> Drawn:
    """Return side, key, time, weight and whether its key is hot, of the rows in the sample.

    They are in (time, side) order. hot: the keys that are always in; None where all are.
    """
    wanted = rows if len(stretches) == 1 else rows.where(_within(stretches))
    if hot is None:
        wanted = wanted.withColumn(STANDS, F.lit(1.0))
    else:
        share = F.lit(TICKS // split.weight)
        drawn = F.pmod(F.xxhash64(F.col(KEY), F.lit(seed)), F.lit(TICKS)) < share
        comes = F.rand(seed) * F.col(STANDS) < 1
        wanted = wanted.join(F.broadcast(hot), KEY, "left")
        wanted = wanted.where(F.coalesce(comes, drawn))  # whose key is not hot stands for nothing
    names = (SIDE, KEY, TIME, STANDS)
    table = wanted.select(*names).toArrow()
    side, key, time, stands = (table[name].to_numpy(zero_copy_only=False) for name in names)
    order = np.lexsort((side, time))
    stands = stands[order].astype(np.float64)  # what is missing becomes nan
    is_hot = ~np.isnan(stands) | (split.weight == 1)
    weight = np.where(np.isnan(stands), float(split.weight), stands)
    return side[order].astype(np.int8), key[order], time[order].astype(np.int64), weight, is_hot


def _within(stretches: tuple[Stretch, ...]) -> Column:
    """Tell whether a time lies in a stretch: by halves, so that few of them are looked at."""
    middle = len(stretches) // 2
    if middle == 0:
        only = stretches[0]
        return (F.col(TIME) >= F.lit(only.warm)) & (F.col(TIME) < F.lit(only.stop))
    early = F.col(TIME) < F.lit(stretches[middle].warm)
    return F.when(early, _within(stretches[:middle])).otherwise(_within(stretches[middle:]))
