"""The profile of a batch frame: keys are counted, the rest comes from samples."""

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import BadInput
from ..numeric import Ints
from ..profile.popularity import fit_zipf
from ..profile.sampled_popularity import Counted
from ..profile.sampled_profile import describe
from ..profile.sketch import Sketch
from ..profile.stream_profile import Profile
from .keyed import KEY
from .ordered import collected, spread_out, surveyed

BINS = 1 << 21  # of time


def profile_batch(numbers: DataFrame, size: int, seed: int, h: int | None, name: str) -> Profile:
    """Return the profile of a batch frame; `size` is how many rows a sample holds."""
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
