"""What it costs to take a join over from another process by its image, by how much it holds.

Two processes take turns: one loads the image, pushes 5,000 rows and saves it, then the other does.
Time that grows with the state would show here; so would memory that the processes do not share.

    python -m bench.image [--base FOLDER ...] [--rows 20000 ...] [--turns 10]
"""

import argparse
import multiprocessing
import shutil
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bench.memory import pss
from penstock.engine import Join
from penstock.spark.runtime.image import Image, image_folder

BATCH = 5_000
BASES = (Path("/dev/shm"), Path("/var/tmp"))
ROWS = (20_000, 200_000, 1_000_000)
KEYS = 4  # rows held for each key, about
PAYLOAD = 10  # columns of numbers with --payload, a table for each batch

_images: dict[Path, Image] = {}


class BatchCost(NamedTuple):
    """One micro-batch: milliseconds of processor time, and in all by the clock; bytes after it."""

    load: float
    push: float
    save: float
    clock: float
    pss: int


def rows(number: int, held: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a batch: sides, keys, times."""
    rng = np.random.default_rng(number)
    side, key = rng.integers(0, 2, BATCH), rng.integers(0, max(1, held // KEYS), BATCH)
    return side, key, number * BATCH + np.arange(BATCH)


def begin(folder: Path, policy: str, held: int, payload: bool) -> int:
    """Fill a join, save it, and return the bytes of its image."""
    budget = None if policy == "keep" else held
    join = Join("prob" if budget is None else policy, budget, within=held)
    tables: list[pa.Table] = []
    for number in range(held // BATCH + 1):
        join.push(*rows(number, held), emit=False)
        if payload:
            tables = kept(tables, number)
    image = Image(folder)
    with image.lock():
        image.save((join, tables), "token")
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def kept(tables: list[pa.Table], number: int) -> list[pa.Table]:
    """Return the payloads with those of a batch; the last 40 batches stay."""
    new = pa.table({f"c{each}": np.arange(BATCH) + number for each in range(PAYLOAD)})
    return [*tables, new][-40:]


def turn(folder: Path, number: int, held: int, keep: bool) -> BatchCost:
    """Take a micro-batch."""
    image = _images.setdefault(folder, Image(folder)) if keep else Image(folder)
    batch, clock = rows(number, held), time.perf_counter()
    times = [time.process_time()]
    with image.lock():
        join, tables = image.load("token")
        times.append(time.process_time())
        join.push(*batch, emit=False)
        if tables:
            tables = kept(tables, number)
        times.append(time.process_time())
        image.save((join, tables), "token")
        times.append(time.process_time())
    clock = time.perf_counter() - clock
    del join, tables
    load, push, save = (1e3 * (b - a) for a, b in pairwise(times))
    return BatchCost(load, push, save, 1e3 * clock, pss())


def alone(number: int, held: int, policy: str, turns: int) -> float:
    """Return how long a push takes in a join that never leaves its process."""
    budget = None if policy == "keep" else held
    join = Join("prob" if budget is None else policy, budget, within=held)
    for each in range(number):
        join.push(*rows(each, held), emit=False)
    times = []
    for each in range(number, number + turns):
        batch, start = rows(each, held), time.process_time()
        join.push(*batch, emit=False)
        times.append(1e3 * (time.process_time() - start))
    return statistics.median(times)


def measure(base: Path, policy: str, held: int, turns: int, keep: bool, payload: bool) -> str:
    """Let two processes take turns, and return a line of figures."""
    context: Any = multiprocessing.get_context("spawn")
    tiny, folder = (image_folder("bench", number, base) for number in range(2))
    first = held // BATCH + 1
    try:
        with ProcessPoolExecutor(1, context) as one:
            one.submit(begin, tiny, policy, BATCH, payload).result()
            size = one.submit(begin, folder, policy, held, payload).result()
            plain = one.submit(alone, first, held, policy, turns).result()
        with ProcessPoolExecutor(1, context) as one, ProcessPoolExecutor(1, context) as two:
            before = [
                each.submit(turn, tiny, 2 + number, BATCH, False).result().pss
                for number, each in enumerate((one, two))
            ]
            found = [
                (one, two)[number % 2].submit(turn, folder, first + number, held, keep).result()
                for number in range(2 * turns)
            ]
    finally:
        shutil.rmtree(folder.parent)
    late = found[turns:]
    load, push, save, clock = (statistics.median(turn[at] for turn in late) for at in range(4))
    memory = sum(each.pss for each in found[-2:]) - sum(before)
    return (
        f"{base!s:>10} {policy:>6} {held:>9,} {load:>7.2f} {save:>7.2f} {push:>7.2f} {plain:>7.2f} "
        f"{clock:>7.2f} {size / 1e6:>7.1f} {memory / size:>6.2f}"
    )


def main() -> None:
    """Print a line for each base, policy and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--base", type=Path, nargs="*", default=[Path("/dev/shm"), Path("/var/tmp")]
    )
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--forget", action="store_true", help="map the files anew in each turn")
    parser.add_argument("--payload", action="store_true", help="keep tables beside the join")
    given = parser.parse_args()
    print("Milliseconds of processor time, medians: load, save, push, push in a join that stays in")
    print("one process; by the clock: load, push and save; then the image in MB, and the memory of")
    print("both processes beside that of the same with a tiny join, in times of the image.")
    for base in given.base:
        for policy in ("keep", "prob"):
            for held in given.rows:
                line = measure(base, policy, held, given.turns, not given.forget, given.payload)
                print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
