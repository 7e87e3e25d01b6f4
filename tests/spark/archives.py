"""Two streams with too little memory, an archive, and what must come out in the end."""

import random
from collections import Counter

from penstock.spark import join, metrics, reconcile, settled, write
from tests.spark.streams import Files, arrivals, at, bag, cut

SCHEMA = "k string, ts timestamp, v int"
DELAY, WINDOW = "10 seconds", (-5, 20)
FAR = 100_000  # seconds; after rows of this time all others have expired


def steps(folder, seed, count=400, parts=4, span=200, keys="abcdefghijkl"):
    """Write the files of both streams, in which no row is late; return these after each one.

    In the end every row has left the memory: rows with v < 0 only move the watermark.
    """
    rng = random.Random(seed)
    sides = [Files(folder / name, SCHEMA) for name in "ab"]
    number = 0
    for part in cut(rng, arrivals(rng, count, span), parts):
        for side, files in enumerate(sides):
            mine = [t for s, t in part if s == side]
            files.add([(rng.choice([None, *keys]), at(t), number + n) for n, t in enumerate(mine)])
            number += len(mine)
        yield sides
    for far in (FAR, 2 * FAR):
        for name, files in zip("ab", sides, strict=True):
            files.add([(f"far {name}", at(far), -1)])
        yield sides


def draw(folder, seed, **options):
    """Write all files of both streams."""
    *_, sides = steps(folder, seed, **options)
    return sides


def start(spark, folder, frames, how, archive=None, **options):
    """Start a join with an archive over all that is there."""
    settings = {"within": tuple(f"{s} seconds" for s in WINDOW), "delay": DELAY, "how": how}
    joined = join(*frames, on="k", **settings | {"time": "ts"} | options)
    paths = {"results": folder / "results", "checkpoint": folder / "checkpoint"}
    return write(joined, **paths, archive=archive or folder / "archive", availableNow=True)


def run(spark, folder, sides, how, **options):
    """Run a join with an archive over all that is there, and return its figures."""
    query = start(spark, folder, [files.stream(spark) for files in sides], how, **options)
    query.awaitTermination()
    return metrics(query)


def live(spark, folder) -> Counter:
    return without_far(spark.read.parquet(str(folder / "results")).drop("batch"))


def exact(spark, folder, archive="archive") -> Counter:
    """Return the live results with all corrections."""
    return without_far(settled(spark, folder / archive))


def without_far(frame) -> Counter:
    values = [name for name in frame.columns if name.startswith("v")]
    return bag(frame.where(" and ".join(f"coalesce({name}, 0) >= 0" for name in values)))


def corrected(spark, folder, archive="archive", **options) -> list:
    return reconcile(spark, folder / archive, **options).corrections.collect()


def corrected_by(spark, folder, sides) -> list:
    """Return the corrections that the inputs tell of."""
    left, right = (files.batch(spark) for files in sides)
    return corrected(spark, folder, "results", left=left, right=right)
