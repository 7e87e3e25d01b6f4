"""The profile of a frame: the same record as `penstock.profiling.profile` gives of arrays."""

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import BadInput
from ..profiling import Profile, fit_zipf
from ..sampling import Sketch, describe
from ..sampling.popular import Counted
from ..workloads.draws import at_least
from ..workloads.trace import Ints
from .ordered import KEY, collected, keyed_rows, spread_out, surveyed
from .profile_stream import STREAM_ROWS, ProfileStream, start

ROWS = 1_000_000
FEWEST = 10_000  # rows: with fewer the errors would be larger than what they are errors of
BINS = 1 << 21  # of time


def profile(
    frame: DataFrame,
    key: str | list[str],
    time: str,
    *,
    h: int | None = None,
    seed: int = 0,
    name: str = "stream",
    rows: int | None = None,
    checkpoint: str | None = None,
    trigger: dict[str, Any] | None = None,
) -> Profile | ProfileStream:
    """Return what a stream of keys is like; of a streaming frame, a query that will tell.

    key: a column or several, of any type that can be grouped by but maps, variants and texts with a
        collation. Rows where one of them or the time is null are left out, and counted.
    time: timestamps, dates or numbers. Rows are taken in its order; of a streaming frame batch by
        batch, so that a row that comes late has its place where it came.
    h: how many rows the locality model looks back on; None: as many as suffice.
    seed: decides which keys are sampled.
    rows: how many rows a sample holds; a frame that has no more is profiled as a whole. The errors
        fall as its square root. By default 1,000,000, and 250,000 of a streaming frame.
    checkpoint: of a streaming frame: a folder for the query's checkpoint and the samples. A query
        that is started again with the same folder goes on where it was.
    trigger: of a streaming frame: arguments for Spark's `trigger`, such as {"availableNow": True}.

    A batch frame is read four times; if it is expensive to make, or random, store it first.
    """
    numbers = keyed_rows(frame, key, time)
    if h is not None:
        at_least("h", h, 1)
    default = STREAM_ROWS if frame.isStreaming else ROWS
    size = default if rows is None else rows
    at_least("rows", size, FEWEST)
    if frame.isStreaming:
        about = {"key": key, "time": time, "rows": size, "seed": seed}
        return start(numbers, about, checkpoint, trigger or {}, name, h)
    if checkpoint is not None or trigger is not None:
        raise BadInput("checkpoint and trigger are for streaming frames, got a batch frame")
    return _profile_batch(numbers, size, seed, h, name)


def _profile_batch(numbers: DataFrame, size: int, seed: int, h: int | None, name: str) -> Profile:
    found = surveyed(numbers)
    if not found.rows:
        raise BadInput(
            "the frame must hold at least one row with a key and a time,"
            f" got {found.skipped or 'no'} rows{' that lack one' if found.skipped else ''};"
            " choose other columns or another frame"
        )
    sketch = Sketch(size, 4 * size, seed, bins=BINS, counting=False)
    sketch.expect(found)
    plan = sketch.plan(found, size)
    if found.rows <= size:
        sketch.push(collected(numbers, plan, 0))
        return describe(sketch, h=h, name=name)
    counts = numbers.where(F.col(KEY).isNotNull()).groupBy(KEY).count().persist()
    try:
        counted = _counted(counts)
        sketch.push(spread_out(numbers, found, plan))
        return describe(sketch, h=h, name=name, counted=counted)
    finally:
        counts.unpersist()


def _counted(counts: DataFrame) -> Counted:
    """Return the popularity of all keys."""
    table = counts.groupBy("count").agg(F.count(F.lit(1)).alias("alike")).toArrow()
    table = table.sort_by([("count", "descending")])

    def often(key: Ints, in_runs: Ints) -> np.ndarray:
        wanted = counts.sparkSession.createDataFrame(pa.table({KEY: key}))
        found = counts.join(F.broadcast(wanted), KEY).toArrow().sort_by(KEY)
        if found.num_rows != len(key):
            raise BadInput(
                "the frame must hold the same rows each time it is read, and did not;"
                " store it first, or persist it"
            )
        return found["count"].to_numpy().astype(np.float64)

    return Counted(fit_zipf(table["count"].to_numpy(), table["alike"].to_numpy()), often)
