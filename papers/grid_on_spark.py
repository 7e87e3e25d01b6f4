"""A grid of simulations on Spark: each row of a frame is one of them, made by the compiled engine.

The cells are cut into parts, each of which is a job of its own, and a few of these run at the same
time, so that no core waits for the last task of a job. What a job brings is written down at once: a
sweep that was stopped goes on where it was. A job that fails because a worker was lost is started
anew, also where Spark itself does not do so (`local[2]` gives a task one chance).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import BadInput, PenstockError
from penstock.profile.stream_profile import Progress
from penstock.spark.session import check_workers, partitions

from .grid import (
    Done,
    Given,
    Work,
    find_work,
    key_of,
    name_of,
    simulate_cell,
    sweep_by,
)

AT_ONCE = 3  # jobs
PARTS = 12  # jobs in all, unless they would be too small or too large
SMALLEST, LARGEST = 8, 4096  # cells of a job, for each partition
RETRIES = 3  # of a job whose worker was lost
SCHEMA = "cell string, given string, found string, error string"

Batches = Iterator[pa.RecordBatch]


def sweep(
    session: SparkSession,
    cells: Sequence[Given],
    *,
    work: Work = simulate_cell,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> list[Given]:
    """Return what each cell of a grid finds, in their order, as `papers.grid.sweep` does.

    cells: what each simulation is given, as `papers.grid.product` makes them.
    work: what is done with a cell; the workers must be able to import it.
    folder: where the driver writes down what is done; what is found there is not done again.
    """
    check_workers(session)

    def do(todo: list[tuple[str, Given]]) -> Iterator[list[Done]]:
        return _in_jobs(session, work, [given for _, given in todo])

    return sweep_by(do, work, cells, folder, progress)


def grid_frame(
    session: SparkSession, cells: Sequence[Given], work: Work = simulate_cell
) -> DataFrame:
    """Return the frame whose rows are simulated when it is read: cell, given, found and error.

    `given` and `found` are JSON texts; `cell` is the key that both are written down under.
    """
    rows = [(key_of(work, given), json.dumps(given)) for given in cells]
    frame = session.createDataFrame(rows, "cell string, given string")
    name = name_of(work)

    def simulate(batches: Batches) -> Batches:
        for batch in batches:
            yield _simulated(name, batch)

    return frame.mapInArrow(simulate, SCHEMA)


def _simulated(name: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch of cells with what the work found, or why it refused."""
    work = find_work(name)
    found: list[str | None] = []
    error: list[str | None] = []
    for given in batch.column("given").to_pylist():
        try:
            found.append(json.dumps(work(json.loads(given))))
            error.append(None)
        except PenstockError as refused:  # to do it again would not help
            found.append(None)
            error.append(str(refused))
    columns = [batch.column("cell"), batch.column("given")]
    texts = [pa.array(each, pa.string()) for each in (found, error)]
    return pa.RecordBatch.from_arrays([*columns, *texts], ["cell", "given", "found", "error"])


def _in_jobs(session: SparkSession, work: Work, cells: list[Given]) -> Iterator[list[Done]]:
    """Yield what each job found, a few of them being under way at any time."""
    waiting = iter(_cut(cells, partitions(session)))
    with ThreadPoolExecutor(AT_ONCE) as threads:

        def start(parts: Iterable[list[Given]]) -> set[Future]:
            return {threads.submit(_job, session, work, part) for part in parts}

        running = start(islice(waiting, AT_ONCE))
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for job in ended:
                running |= start(islice(waiting, 1))
                yield job.result()


def _job(session: SparkSession, work: Work, part: list[Given]) -> list[Done]:
    for attempt in range(1 + RETRIES):
        try:
            rows: list[Any] = grid_frame(session, part, work).collect()
            break
        except Exception:  # classic Spark and Connect raise different errors for a lost worker
            if attempt == RETRIES:
                raise
    for row in rows:
        if row["error"] is not None:
            raise BadInput(f"{row['error']} (in the cell {row['given']})")
    return [(row["cell"], json.loads(row["given"]), json.loads(row["found"])) for row in rows]


def _cut(cells: list, width: int) -> list[list]:
    size = min(max(len(cells) // PARTS, SMALLEST * width), LARGEST * width)
    return [cells[start : start + size] for start in range(0, len(cells), size)]
