"""A join with an archive in a process of its own, which kills itself in the middle of its writing.

    python -m tests.spark.archive_driver '{"folder": ..., "how": ..., "die_at": 7, ...}'

`die_at` counts the steps that write something: files, which take a while, so that the process is
killed while tasks write them, and what makes these count. A process that survives prints the
figures of its query.
"""

import json
import os
import signal
import sys
from pathlib import Path
from threading import Timer


def die_at(steps: int) -> None:
    """Let the process be killed as it is about to make such a step for the so manieth time."""
    from penstock.spark.archive.folders import Folders

    left = [steps]

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def dying(name):
        step = getattr(Folders, name)

        def made(self, *given, **options):
            left[0] -= 1
            if left[0] == 0 and name == "stage":
                Timer(0.02 * (steps % 8), die).start()
            elif left[0] == 0:
                die()
            return step(self, *given, **options)

        setattr(Folders, name, made)

    for name in ("stage", "_move", "claim"):
        dying(name)


def main(given: dict) -> None:
    from penstock.spark import metrics, reconcile
    from tests.spark import archives
    from tests.spark.driver import read, session

    spark = session("local[2]", {})
    die_at(given["die_at"])
    folder = Path(given["folder"])
    if (folder / "archive").exists():
        reconcile(spark, folder / "archive")
    frames = read(spark.readStream.option("maxFilesPerTrigger", 1), folder)
    query = archives.start(spark, folder, frames, given["how"], **given["options"])
    query.awaitTermination()
    print(json.dumps({"evicted": sum(metrics(query).evicted)}))
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
