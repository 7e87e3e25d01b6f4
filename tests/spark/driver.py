"""A query in a process of its own, to be killed or to have another kind of session.

    python -m tests.spark.driver '{"folder": ..., "master": ..., "options": {...}}'

Prints one line of JSON with the figures of the join.
"""

import dataclasses
import json
import os
import sys
import time
import urllib.request
from contextlib import nullcontext
from pathlib import Path

from pyspark import cloudpickle

from tests import patience
from tests.patience import PATIENCE, until
from tests.spark import processes
from tests.spark.processes import STILL, commits

SCHEMA = "k string, ts timestamp, v int"
SECOND = "second"  # the file that a second attempt leaves


def session(master: str, settings: dict):
    from pyspark.sql import SparkSession

    from penstock.spark.session import SETTINGS

    kind = SparkSession.builder
    kind = kind.remote("local[2]") if master == "connect" else kind.master(master)
    for name, value in (SETTINGS | {"spark.sql.shuffle.partitions": "2"} | settings).items():
        kind = kind.config(name, value)
    return kind.getOrCreate()


def begin(given: dict):
    """Return the session of a driver, with what its executors need."""
    from penstock.spark.session import package_zip

    for name in (patience.__name__, processes.__name__, __name__):  # executors have no tests
        cloudpickle.register_pickle_by_value(sys.modules[name])
    spark = session(given.get("master", "local[2]"), given.get("settings", {}))
    if given.get("ship"):
        spark.addArtifacts(str(package_zip(given["folder"])), pyfile=True)
    return spark


def read(reader, folder: Path) -> list:
    """Return two frames: from a folder each, or both from one source, which keeps them in step."""
    if (folder / "both").exists():
        both = reader.schema("side int, " + SCHEMA).parquet(str(folder / "both"))
        return [both.where(f"side = {side}").drop("side") for side in range(2)]
    return [reader.schema(SCHEMA).parquet(str(folder / side)) for side in "ab"]


def stands_still(frame, folder: Path, after: int):
    """Let a query stand still, until it is killed, in the micro-batch after so many commits.

    One partition does its work to the end; the others give their rows and end no more.
    """

    def give(batches):
        from pyspark import TaskContext

        yield from batches
        if commits(folder / "out-checkpoint") == after and TaskContext.get().partitionId():
            (folder / STILL).touch()
            time.sleep(PATIENCE)

    return frame.mapInArrow(give, frame.schema)


def is_slow(frame, folder: Path, after: int):
    """Let the first attempt of a task take long in the micro-batch after so many commits.

    It leaves a file that names its executor; a second attempt, which Spark starts when the first
    takes too long or is killed, leaves another one. Spark's numbers of attempts do not tell them
    apart: with an executor rows of the shuffle are lost, and the stage is run anew from number 0.
    """

    def give(batches):
        from pyspark import TaskContext

        task = TaskContext.get()
        mine = task.partitionId() and commits(folder / "out-checkpoint") == after
        first = mine and not (folder / STILL).exists()
        if mine and not first:
            (folder / SECOND).touch()
        for batch in batches:
            yield batch
            if first:
                # The executor has started the daemon, which has started this worker.
                part = folder / f"{STILL}.part"
                part.write_text(str(processes.parent(os.getppid())))
                part.replace(folder / STILL)  # never seen half written
                time.sleep(PATIENCE)  # until Spark ends it

    return frame.mapInArrow(give, frame.schema)


def fails_once(frame, folder: Path, after: int):
    """Let each task fail when it has ended, in the micro-batch after so many commits.

    Its state is committed by then: a file tells of which versions of the state there were files.
    """

    def give(batches):
        from pyspark import TaskContext

        yield from batches
        task = TaskContext.get()
        if commits(folder / "out-checkpoint") == after and not task.attemptNumber():
            part = str(task.partitionId())
            state = folder / "out-checkpoint" / "state" / "0" / part
            seen = sorted(path.name for path in state.rglob("*.*"))
            (folder / f"failed-{part}").write_text("\n".join(seen))
            raise RuntimeError("this task fails after its commit")

    return frame.mapInArrow(give, frame.schema)


def disturbed(frame, folder: Path, given: dict):
    """Return the frame of a query that is disturbed where that is asked for."""
    ways = {"still_after": stands_still, "slow_after": is_slow, "fails_after": fails_once}
    for name, disturb in ways.items():
        if name in given:
            frame = disturb(frame, folder, given[name])
    return frame


def fetch(url: str) -> str:
    with urllib.request.urlopen(url) as answer:
        return answer.read().decode()


def refused_by_connect(spark, frames, folder: Path, options: dict) -> list[str]:
    """Return what is said of an archive that Spark Connect would have to write or read."""
    from penstock import BadInput
    from penstock.spark import join, reconcile, write

    said = []
    for refused in (
        lambda: write(join(*frames, on="k", **options), results=folder / "r", archive=folder / "a"),
        lambda: reconcile(spark, folder / "a"),
    ):
        try:
            refused()
        except BadInput as error:
            said.append(str(error))
    return said


def main(given: dict) -> None:
    from penstock.spark import join, metrics, monitor
    from tests.spark.streams import bag, run

    spark = begin(given)
    folder = Path(given["folder"])
    frames = read(spark.readStream.option("maxFilesPerTrigger", 1), folder)
    joined = join(*frames, on="k", **given["options"])
    joined = disturbed(joined, folder, given)
    with monitor(spark, every=0) if given.get("monitor") else nullcontext() as watching:
        query = run(joined, folder, given.get("name", "out"))
        told = dataclasses.asdict(metrics(query))
        if watching is not None:
            until(lambda: '"ended"' in fetch(watching.url + "data.json"), "the end of the query")
            told["served"] = fetch(watching.url + "metrics")
    if given.get("master") == "connect":
        told["refused"] = refused_by_connect(spark, frames, folder, given["options"])
    still = read(spark.read, folder)
    told["batch_rows"] = sum(bag(join(*still, on="k", **given["options"])).values())
    print(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
