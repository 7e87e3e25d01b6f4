"""Joins with an archive, drawn at random: what is found live and later is Spark's own batch join.

A case is drawn from a seed: kind of join and window, a band, types and number of keys, disorder and
rows that come too late, budgets of 1 to 50 % of the rows alive, in rows or bytes, which a restart
changes, micro-batches that are repeated, steps of reconciling meanwhile, and the inputs as archive.
`PENSTOCK_DIFFERENTIAL=archive-17` runs the case of this seed only, and a failure prints its own.
"""

import os
import random
import time
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import functions as F

from penstock.spark import join, metrics, reconcile, settled, write
from tests.naive.how import HOWS
from tests.spark.streams import DELAY, Files, arrivals, at, bag, cut
from tests.spark.test_how import WINDOWS

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ASKED = os.environ.get("PENSTOCK_DIFFERENTIAL", "12")
FRESH = int(ASKED) if ASKED.isdigit() else 0
KEYS = {
    "string": lambda number: "abcdefgh"[number],
    "bigint": lambda number: number - 4,
    "decimal(12,3)": lambda number: Decimal(number) / 8,
    "timestamp": lambda number: at(3_600 * number),
    "date": lambda number: at(86_400 * number).date(),
    "binary": lambda number: bytes(number),
}
BANDS = {"double": 0.3, "float": 0.3, "int": 2, "decimal(9,2)": Decimal("0.30")}
POLICIES = ("clock", "lru", "prob")  # few, since every one is a kernel to compile
SPAN = 200  # seconds
LATE, FAR = 1_000_000, 100_000  # from where late rows are numbered; seconds, after all others


class Case(NamedTuple):
    """A join: what never changes of it, and what is drawn as it runs."""

    how: str
    window: tuple[int, int]
    kinds: tuple[str, ...]  # of the keys
    band: str | None
    in_bytes: bool
    from_inputs: bool
    buckets: int
    rng: random.Random

    @property
    def rows(self) -> int:
        return 2_000 if self.in_bytes else 400

    @property
    def schema(self) -> str:
        keys = [f"k{number} {kind}" for number, kind in enumerate(self.kinds)]
        return ", ".join([*keys, f"x {self.band or 'int'}", "ts timestamp", "v int"])

    def budget(self) -> int | str:
        """Draw 1 to 50 % of the rows that are alive at a time."""
        low, high = self.window
        alive = self.rows * (high - low + DELAY) / SPAN
        share = self.rng.uniform(0.01, 0.5)
        if self.in_bytes:
            return f"{12 * self.buckets + int(share * alive * 0.1)} KB"  # 9 KB before any row
        return max(self.buckets, int(share * alive))


def drawn(rng: random.Random) -> Case:
    """Draw a case."""
    buckets = rng.choice([1, 2])
    band = rng.choice([None, None, *BANDS])
    kinds = rng.sample([*KEYS], rng.choice([1, 1, 2]))
    if band is not None and rng.random() < 0.3:
        kinds, buckets = [], 1  # nothing must be equal
    in_bytes, from_inputs = rng.random() < 0.25, rng.random() < 0.25
    window = rng.choice([*WINDOWS.values(), (0, 0), (-20, 0)])
    return Case(rng.choice(HOWS), window, tuple(kinds), band, in_bytes, from_inputs, buckets, rng)


def row(case: Case, when: float | None, number: int, side: int) -> tuple[Any, ...]:
    """Draw a row; there may be no key, no value, and on some no time."""
    rng = case.rng
    keys = [None if rng.random() < 0.05 else KEYS[kind](rng.randrange(8)) for kind in case.kinds]
    value = rng.randrange(-9, 9) if case.band in (None, "int") else rng.randrange(-90, 90) / 10
    value = Decimal(str(value)) if (case.band or "").startswith("decimal") else value
    value = None if rng.random() < 0.05 else value
    return (*keys, value, None if when is None else at(when), number)


def parts(case: Case, folder: Path):
    """Write the files of both sides one after the other; return both after each part.

    A file is a micro-batch. Spark judges late rows by the watermark of the micro-batch before, so
    they lie behind what the files before that one have reached.
    """
    rng = case.rng
    sides = [Files(folder / name, case.schema) for name in "ab"]
    newest = [None, None]
    number, late = 0, LATE
    reached = told = None  # by the files before the last one, and by all so far
    for part in cut(rng, arrivals(rng, case.rows, SPAN), rng.randrange(2, 6)):
        reached, told = told, None if None in newest else min(newest) - DELAY
        for side, files in enumerate(sides):
            times = [t for s, t in part if s == side]
            rows = [row(case, t, number + n, side) for n, t in enumerate(times)]
            number += len(rows)
            for _ in range(rng.randrange(3) if reached is not None and rng.random() < 0.5 else 0):
                before = reached - rng.choice([0.1, 1, 15])
                rows.insert(rng.randrange(len(rows) + 1), row(case, before, late, side))
                late += 1
            if rng.random() < 0.1:
                rows.append(row(case, None, number, side))
                number += 1
            files.add(rows)
            newest[side] = max(
                [*times, *([] if newest[side] is None else [newest[side]])], default=None
            )
        yield sides
    for far in (FAR, 2 * FAR):  # so that every row leaves the memory
        for side, files in enumerate(sides):
            files.add([row(case, far + 1_000 * side, -1, side)])
        yield sides


def right_names(case: Case) -> dict[str, str]:
    """Return how the keys are called on the right."""
    return {f"k{number}": f"r{number}" for number in range(len(case.kinds))}


def frames(spark, case: Case, sides, stream: bool):
    """Return the frames of both sides, in which keys have names of their own."""
    left, right = (files.stream(spark) if stream else files.batch(spark) for files in sides)
    return left, right.withColumnsRenamed(right_names(case))


def options(case: Case) -> dict[str, Any]:
    low, high = (f"{seconds} seconds" for seconds in case.window)
    found = {"on": right_names(case), "time": "ts", "within": (low, high), "how": case.how}
    return found | ({} if case.band is None else {"near": {"x": BANDS[case.band]}})


def run(spark, case: Case, folder: Path, sides) -> Any:
    """Run the join over all that is there, and return its figures."""
    joined = join(
        *frames(spark, case, sides, stream=True),
        **options(case),
        delay=f"{DELAY} seconds",
        budget=case.budget(),
        policy=case.rng.choice(POLICIES[:2] if case.in_bytes else POLICIES),  # prob takes 34 KB
        buckets=case.buckets,
    )
    archive = "inputs" if case.from_inputs else folder / "archive"
    paths = {"results": folder / "results", "checkpoint": folder / "checkpoint"}
    query = write(joined, **paths, archive=archive, availableNow=True)
    query.awaitTermination()
    return metrics(query)


def truth(spark, case: Case, sides):
    """Return Spark's own batch join of the rows that are no later than the delay.

    Where the inputs are the archive, they hold late rows, too, and nothing tells these.
    """
    kept = "v >= 0" if case.from_inputs else f"v between 0 and {LATE - 1}"
    left, right = (frame.where(kept) for frame in frames(spark, case, sides, stream=False))
    (low, high), names = case.window, right_names(case)
    on = [F.col(f"a.{one}") == F.col(f"b.{other}") for one, other in names.items()]
    on.append(F.col("b.ts") >= F.col("a.ts") + F.expr(f"interval {low} seconds"))
    on.append(F.col("b.ts") <= F.col("a.ts") + F.expr(f"interval {high} seconds"))
    if case.band is not None:
        on.append(F.abs(F.col("a.x") - F.col("b.x")) <= F.lit(BANDS[case.band]))
    found = left.alias("a").join(right.alias("b"), on, case.how)
    return bag(found.select("a.v", *(() if case.how in ("semi", "anti") else ("b.v",))))


def numbers(frame):
    """Return the numbers of the rows of results, without those that have let others leave."""
    names = [name for name in frame.columns if name in ("v", "v_left", "v_right")]
    here = " and ".join(f"coalesce({name}, 0) >= 0" for name in names)
    return bag(frame.where(here).select(*names))


def corrected(spark, case: Case, folder: Path, sides, **given):
    if case.from_inputs:
        left, right = frames(spark, case, sides, stream=False)
        return reconcile(spark, folder / "results", left=left, right=right, **given)
    return reconcile(spark, folder / "archive", **given)


def repeat_last(folder: Path) -> None:
    """Let Spark take the last micro-batch for one that it has not committed."""
    commits = folder / "checkpoint" / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    for name in (f"{last}", f".{last}.crc"):
        (commits / name).unlink(missing_ok=True)


def check(spark, folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    case, told = drawn(rng), None
    print(f"PENSTOCK_DIFFERENTIAL=archive-{seed}: {case}")
    for sides in parts(case, folder):
        if rng.random() < 0.6:
            continue
        told = run(spark, case, folder, sides) or told
        if rng.random() < 0.3:
            repeat_last(folder)
        elif rng.random() < 0.5 and not case.from_inputs:  # late rows would come too late
            until = at(rng.uniform(0, SPAN)) if rng.random() < 0.3 else None
            append = case.how in ("inner", "semi") and rng.random() < 0.3
            corrected(spark, case, folder, sides, until=until, append=append)
    told = run(spark, case, folder, sides) or told  # None where nothing new came
    assert told.budget is not None
    corrected(spark, case, folder, sides)
    found = settled(spark, folder / ("results" if case.from_inputs else "archive"))
    assert numbers(found) == truth(spark, case, sides)
    assert not corrected(spark, case, folder, sides).corrections.count()


@pytest.fixture(scope="module")
def fresh():
    return random.Random(time.time_ns())


@pytest.mark.parametrize("number", range(FRESH))
def test_a_drawn_join_is_exact_in_the_end(spark, tmp_path, fresh, number):
    check(spark, tmp_path, fresh.randrange(10**9))


@pytest.mark.skipif(not ASKED.startswith("archive-"), reason="asks for no single case")
def test_the_case_that_was_asked_for(spark, tmp_path):
    check(spark, tmp_path, int(ASKED.removeprefix("archive-")))
