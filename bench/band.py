"""Band joins: recall under a budget, policy by policy, and seconds beside Spark's own join.

Values of both streams are those of one random walk, each with noise of its own; rows match when
values are near and times lie in the window. Spark cannot join streams on a range alone, so that its
own join gets the cells by hand: the left rows are exploded into three, and results are verified.

    python -m bench.band recall
    python -m bench.band spark
"""

import argparse
import time
from typing import Any

import numpy as np

from penstock import Join

ROWS, WINDOW, NEAR = 200_000, 20_000, 0.25
POLICIES = ("fifo", "rand", "lru", "prob", "rate", "auto")


def stream(rows: int = ROWS, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return sides and values: a walk whose steps have sd 0.02, with noise of sd 2 and 4."""
    rng = np.random.default_rng(seed)
    side = rng.integers(0, 2, rows)
    noise = rng.normal(0, np.where(side == 0, 2.0, 4.0))
    return side, np.cumsum(rng.normal(0, 0.02, rows)) + noise


def found(policy: str, budget: int | None) -> tuple[int, float]:
    """Return results, and rows a second of a join that is compiled."""
    side, value = stream()
    for _ in range(2):
        join = Join(policy, budget, within=WINDOW, near=NEAR)
        started = time.process_time()
        join.push(side, None, np.arange(len(side)), value=value, emit=False)
        seconds = time.process_time() - started
    return join.results, len(side) / seconds


def recall() -> None:
    """Print the share of all results that each policy finds with 5 and 20 % of the window."""
    exact, speed = found("fifo", None)
    print(f"exact: {exact:,} results, {speed:,.0f} rows/s")
    for policy in POLICIES:
        line = [f"{policy:6}"]
        for part in (0.05, 0.2):
            results, speed = found(policy, int(part * WINDOW))
            line.append(f"{results / exact:7.1%} {speed:12,.0f} rows/s")
        print(*line)


def spark(rows: int) -> None:
    """Print the seconds of an exact join of two batches: ours, and Spark's own on cells."""
    import pandas as pd
    from pyspark.sql import functions as F

    from penstock.spark import join
    from penstock.spark.session import local

    session = local()
    side, value = stream(rows)
    frames: list[Any] = []
    for number, name in enumerate("ab"):
        mine = np.flatnonzero(side == number)
        columns = {"v": value[mine], name: mine}
        frame = session.createDataFrame(pd.DataFrame(columns))
        at = F.timestamp_micros(F.col(name) * 1000)
        frames.append(frame.withColumn("at", at).cache())
        frames[-1].count()
    left, right = frames
    cell = F.floor(F.col("v") / NEAR)
    exploded = left.withColumn("cell", F.explode(F.array(cell - 1, cell, cell + 1))).alias("a")
    near = f"abs(a.v - b.v) <= {NEAR}D and abs(a.a - b.b) <= {WINDOW}"
    own = exploded.join(right.withColumn("cell", cell).alias("b"), "cell").where(near)
    ours = join(left, right, near={"v": NEAR}, time="at", within=f"{WINDOW} milliseconds")
    for name, frame in (("Spark, cells", own), ("near=", ours)) * 3:
        started = time.perf_counter()
        count = frame.count()
        print(f"{name:13} {count:,} results in {time.perf_counter() - started:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("recall", "spark"))
    parser.add_argument("--rows", type=int, default=ROWS)
    chosen = parser.parse_args()
    recall() if chosen.what == "recall" else spark(chosen.rows)


if __name__ == "__main__":
    main()
