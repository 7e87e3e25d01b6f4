"""Spark's own stream-stream join and Penstock's side by side, in one run.

Every contender joins the same files in a fresh process, so that the memory one takes is not held
against the next. Reported are medians of the steady micro-batches; the machine is shared, so only
ratios within one run mean much. Below the tables is a line for each figure that has a target.

    python bench/spark_join.py --json bench/results/spark_join.json      # an hour and more
    python bench/spark_join.py --only flat --json ...                    # one part of it
    python bench/spark_join.py --only sizes --beside OTHER               # and another checkout

Parts, each of some minutes: `large window` and `small batches` beside Spark's own joins; `profile`,
where the time of a small micro-batch goes; `flat`, by how much is held; `bytes`, what is written to
the checkpoint in 100 micro-batches; `rebuild`, the first micro-batch after a SIGKILL; `workers`,
the memory of 2 and 4 worker processes; `how`, outer and semi joins; `sizes`, `buckets`, `stress`
and `long`.
"""

import argparse
import contextlib
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.memory import Peak, workers_pss
from bench.spark_events import Events
from bench.spark_report import draw, judge, show
from bench.spark_streams import SCHEMAS, Workload, write_files

MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STORE = "spark.sql.streaming.stateStore.providerClass"
FORMAT = "spark.sql.streaming.join.stateFormatVersion"
MAINTENANCE = "spark.sql.streaming.stateStore.maintenanceInterval"
IMAGES = "PENSTOCK_IMAGE_DIR"
SETTINGS = {
    "spark.sql.streaming.numRecentProgressUpdates": 1000,
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.streaming.minBatchesToRetain": 1000,  # so that no file is removed while we count
}


BESIDE: Path | None = None  # another checkout, whose join runs beside


@dataclass(frozen=True)
class Contender:
    """One way to run the join: Spark's own by its store and format, ours by its budget."""

    name: str
    settings: tuple[tuple[str, str], ...] = ()
    ours: bool = False
    share: float | None = None  # of the window that may be held; None: all of it
    buckets: int | None = None
    former: bool = False  # the code of another checkout, given by --beside
    how: str = "inner"
    cores: int = 2


OWN = (
    Contender("spark, in memory", ((STORE, MEMORY),)),
    Contender("spark, RocksDB, format 2", ((STORE, ROCKS), (FORMAT, "2"))),
    Contender("spark, RocksDB, format 4", ((STORE, ROCKS), (FORMAT, "4"))),
)
EXACT = Contender("penstock, exact", ours=True)
FORMER = Contender("penstock before, exact", ours=True, former=True)
TENTH = Contender("penstock, 10 %", ours=True, share=0.10)
HUNDREDTH = Contender("penstock, 1 %", ours=True, share=0.01)


@dataclass(frozen=True)
class Case:
    """One contender at one workload, and how many micro-batches it runs."""

    part: str
    work: Workload
    contender: Contender
    warm: int
    steady: int

    @property
    def batches(self) -> int:
        """How many micro-batches there must be files for, those before a SIGKILL among them."""
        return self.warm + self.steady + 2 + (self.warm + 2) * (self.part == "rebuild")


def cases() -> list[Case]:
    """Return everything that can be measured, part by part."""
    return [
        *(*_sizes(), *_against_large_windows(), *_flat(), *_bytes(), *_rebuild(), *_workers()),
        *(*_how(), *_buckets(), *_stress(), *_long()),
    ]


def _sizes() -> list[Case]:
    made = []
    lengths = {1_000_000: (3, 5), 100_000: (6, 6), 10_000: (12, 10)}  # warm, steady
    for kind in ("numeric", "strings"):
        for rows, (warm, steady) in lengths.items():
            work = Workload(f"{kind}, {rows:,} rows a batch", kind, rows)
            made += [Case("sizes", work, own, warm, steady) for own in OWN]
            for ours in (FORMER, EXACT, TENTH, HUNDREDTH):  # cheap, so more of them
                made.append(Case("sizes", work, ours, 2 * warm, 2 * steady))
    return made


def _against_large_windows() -> list[Case]:
    """Small batches against a state of two million rows, and smaller ones against a tenth of it.

    Both begin late: for the first hundred micro-batches Java's compilers take most of two cores.
    """
    made = []
    whom = (OWN[0], OWN[2], FORMER, EXACT, TENTH)
    for part, rows, window, warm in (
        ("large window", 10_000, 1_000, 60),
        ("small batches", 1_000, 100, 120),
        ("profile", 1_000, 100, 120),
    ):
        name = f"numeric, {rows:,} rows a batch, window of {window:,} s"
        work = Workload(name, "numeric", rows, window)
        some = [who for who in whom if part != "profile" or who != TENTH]
        made += [Case(part, work, who, warm, 25) for who in some]
    return made


def _flat() -> list[Case]:
    """Ten thousand rows a batch against ever larger windows: 20,000 rows to 10 million."""
    made = []
    for seconds in (10, 100, 1_000, 5_000):
        made.append(Case("flat", _window_of(seconds), EXACT, 60, 25))
    return made


def _window_of(seconds: int, rows: int = 10_000) -> Workload:
    """Return a workload that holds the rows of so many seconds, 2,000 a second."""
    work = Workload("", "numeric", rows, seconds - 5, delay=5)
    return replace(work, name=f"{rows:,} rows a batch, {work.window_rows:,} rows in the window")


def _bytes() -> list[Case]:
    """A hundred batches against a window of 2 million rows and of a tenth of it.

    Spark uploads a snapshot of RocksDB when a thread finds ten versions without one. Once a minute
    it looks, as it does by default, and once a second, as a query with long triggers would see it.
    """
    made = []
    for seconds, every in itertools.product((100, 1_000), ("60s", "1s")):
        who = replace(EXACT, name=f"maintenance every {every}", settings=((MAINTENANCE, every),))
        # The first snapshot, of all that fills the window, is over when it begins.
        made.append(Case("bytes", _window_of(seconds), who, 25, 100))
    return made


def _rebuild() -> list[Case]:
    """The first micro-batch after a SIGKILL, by how much is held; a tiny window to compare with."""
    return [Case("rebuild", _window_of(seconds), EXACT, 6, 4) for seconds in (10, 500, 1_000)]


def _workers() -> list[Case]:
    """The memory of the worker processes; again with a tiny window beside."""
    return [
        Case(
            "workers", _window_of(seconds), replace(EXACT, name=f"{cores} cores", cores=cores), 8, 8
        )
        for cores in (2, 4)
        for seconds in (10, 1_000)
    ]


def _how() -> list[Case]:
    """Outer and semi joins beside Spark's, in large and small batches."""
    made = []
    for rows, warm, steady in ((1_000_000, 3, 4), (10_000, 12, 20)):
        for how in ("left", "semi"):
            work = Workload(f"{how}, numeric, {rows:,} rows a batch", "numeric", rows)
            whom = (OWN[0], OWN[2], EXACT)
            made += [Case("how", work, replace(who, how=how), warm, steady) for who in whom]
    return made


def _buckets() -> list[Case]:
    made = []
    for rows in (1_000_000, 10_000):
        work = Workload(f"numeric, {rows:,} rows a batch", "numeric", rows)
        for count in (1, 2, 4, 8, 16):
            who = replace(EXACT, name=f"{count} buckets", buckets=count)
            made.append(Case("buckets", work, who, 8, 8))
    return made


def _stress() -> list[Case]:
    calm = Workload("calm", "numeric", 1_000_000)
    made = [Case("stress", calm, TENTH, 6, 6)]
    for work in (
        replace(calm, name="one key has half of all rows", hot=0.5),
        replace(calm, name="20 quiet batches, then one 50 times as large", rows=20_000, burst=50),
        replace(calm, name="a million rows expire at once", window=500, jump=2_000),
    ):
        made.append(Case("stress", work, TENTH, 6, 36 if work.burst > 1 else 6))
    wide = replace(calm, name="calm, window of 500 s", window=500)
    whole = replace(calm, name="a million rows expire at once", window=500, jump=2_000)
    return [*made, Case("stress", wide, EXACT, 6, 6), Case("stress", whole, EXACT, 6, 6)]


def _long() -> list[Case]:
    work = Workload("ten times as long: 200 batches of 100,000 rows", "numeric", 100_000)
    return [Case("long", work, who, 20, 200) for who in (EXACT, TENTH)]


def measure(case: Case, folder: Path, checkpoint: Path) -> dict:
    """Run one contender over the files, and return its figures."""
    from penstock.spark import metrics
    from penstock.spark.session import local

    events = Events(folder / "events") if case.part in ("profile", "bytes") else None
    settings = SETTINGS | (events.settings if events else {})
    spark = local(case.contender.cores, memory="8g", **settings)
    spark.sparkContext.setLogLevel("ERROR")
    for name, value in case.contender.settings:
        spark.conf.set(name, value)
    wanted = case.warm + case.steady
    before = 0
    with Peak() as peak:
        query = (
            _joined(spark, case, folder)
            .writeStream.format("noop")
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        while query.isActive and len(_with_data(query)) < wanted + 1:
            query.awaitTermination(0.2)
            if not before and len(_with_data(query)) > case.warm:
                before = _bytes_in(checkpoint / "state")
        pss = workers_pss()
        images = _bytes_in(Path(os.environ[IMAGES]))  # they are removed when the executor ends
        query.stop()
        done = _with_data(query)[:wanted]
        ours = metrics(query) if case.contender.ours else None
    spark.stop()
    steady = done[case.warm :]
    state = ours.bytes_held if ours else steady[-1]["stateOperators"][0]["memoryUsedBytes"]
    seconds = [batch["durationMs"]["triggerExecution"] / 1000 for batch in steady]
    figures = {
        "seconds": seconds,
        "rows": [batch["numInputRows"] for batch in steady],
        "seconds_a_batch": statistics.median(seconds),
        "rows_per_second": statistics.median(
            batch["numInputRows"] / taken for batch, taken in zip(steady, seconds, strict=True)
        ),
        "first_seconds": done[0]["durationMs"]["triggerExecution"] / 1000,
        "milliseconds": {
            name: statistics.median(batch["durationMs"].get(name, 0) for batch in steady)
            for name in steady[0]["durationMs"]
        },
        "state_bytes": state,
        "state_rows": ours.rows_held if ours else steady[-1]["stateOperators"][0]["numRowsTotal"],
        "peak_jvm_bytes": peak.jvm,
        "peak_python_bytes": peak.python,
        "workers": len(pss),
        "workers_pss_bytes": sum(pss),
        "image_bytes": images,
        "recall": ours.recall if ours else None,
        "checkpoint_bytes": _bytes_in(checkpoint / "state") - before,
        "all_rows": sum(batch["numInputRows"] for batch in done),
    }
    batches = {batch["batchId"] for batch in steady}
    return figures | (events.read(batches) if events else {})


def _bytes_in(folder: Path) -> int:
    """Return the bytes of all files; those that vanish meanwhile count nothing."""
    found = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            found += path.stat().st_size if path.is_file() else 0
    return found


def _with_data(query) -> list:
    return [batch for batch in query.recentProgress if batch["numInputRows"]]


def _joined(spark, case: Case, folder: Path):
    """Return the joined stream of one contender."""
    from pyspark.sql import functions as F

    from penstock.spark import join

    work, who = case.work, case.contender
    sides = [
        spark.readStream.schema(SCHEMAS[work.kind])
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / f"side{side}"))
        for side in (0, 1)
    ]
    if who.ours:
        budget = None if who.share is None else int(work.window_rows * who.share)
        options = {"within": f"{work.window} seconds", "delay": f"{work.delay} seconds"}
        if not who.former:
            options["how"] = who.how
        return join(*sides, "k", time="ts", budget=budget, buckets=who.buckets, **options)
    left, right = (
        side.withWatermark("ts", f"{work.delay} seconds").alias(name)
        for side, name in zip(sides, "lr", strict=True)
    )
    span = f"interval {work.window} seconds"
    near = F.expr(f"l.k = r.k and l.ts between r.ts - {span} and r.ts + {span}")
    return left.join(right, near, who.how)


def run(chosen: list[Case], out: Path) -> dict:
    """Measure all cases; what is done is on disk at once."""
    report: dict = {"when": time.strftime("%Y-%m-%d"), "results": []}
    console = Console(stderr=True)
    works = dict.fromkeys(case.work for case in chosen)
    for work in track(works, "measuring", console=console):
        mine = [case for case in chosen if case.work == work]
        with tempfile.TemporaryDirectory(prefix="penstock-data-") as folder:
            write_files(Path(folder), work, max(case.batches for case in mine))
            for case in mine:
                figures = apart(case, folder)
                console.print(
                    f"{work.name}: {case.contender.name}: {figures['seconds_a_batch']:.2f} s"
                )
                about = {"part": case.part, "workload": asdict(work), "who": case.contender.name}
                report["results"].append(about | figures)
                out.parent.mkdir(parents=True, exist_ok=True)
                out.write_text(json.dumps(report, indent=1) + "\n")
    return report


def apart(case: Case, folder: str) -> dict:
    """Measure one case in a process of its own, whose JVM may hang at its end: it is ended.

    For a rebuild another process goes before, which is killed in the middle of a micro-batch.
    """
    memory = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as checkpoint,
        tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=memory) as images,
    ):
        number, said = str(cases().index(case)), Path(folder) / "said"
        root = BESIDE if case.contender.former and BESIDE else Path(__file__).resolve().parents[1]
        command = [sys.executable, __file__, "--one", number, "--folder", folder, checkpoint]
        environment = os.environ | {"PYTHONPATH": str(root / "src"), IMAGES: images}
        if case.part == "rebuild":
            done = Path(checkpoint, "commits", str(case.warm))
            _in_group(command, environment, said, done.exists)
        code = _in_group(command, environment, said)
    lines = said.read_text().splitlines()
    if code:
        raise RuntimeError("\n".join([f"{case.work.name}: {case.contender.name}", *lines[-30:]]))
    return json.loads(next(line for line in reversed(lines) if line.startswith("{")))


def _in_group(
    command: list[str],
    environment: dict[str, str],
    said: Path,
    enough: Callable[[], bool] = lambda: False,
) -> int:
    """Run a process, until it is `enough`, and then end all that it started; return its code."""
    with open(said, "w+") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=file, env=environment, start_new_session=True
        )
        try:
            while process.poll() is None and not enough():
                time.sleep(0.05)
            return process.returncode or 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def main() -> None:
    parts = list(dict.fromkeys(case.part for case in cases()))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("bench/results/spark_join.json"))
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--rows", type=int, nargs="+", help="only these sizes of batches")
    parser.add_argument("--kind", choices=list(SCHEMAS), help="only this kind of payload")
    parser.add_argument("--who", nargs="+", default=[""], help="only whose name holds one of these")
    parser.add_argument("--beside", type=Path, help="another checkout, whose join runs beside")
    parser.add_argument("--show", action="store_true", help="show an earlier report again")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    global BESIDE
    BESIDE = given.beside
    if given.one is not None:
        print(json.dumps(measure(cases()[given.one], *given.folder)))
        return
    if given.show:
        report = json.loads(given.json.read_text())
    else:
        chosen = [c for c in cases() if c.part in given.only]
        chosen = [c for c in chosen if not given.rows or c.work.rows in given.rows]
        chosen = [c for c in chosen if any(who in c.contender.name for who in given.who)]
        chosen = [c for c in chosen if given.kind in (None, c.work.kind)]
        chosen = [c for c in chosen if given.beside or not c.contender.former]
        report = run(chosen, given.json)
    show(report, Console())
    judge(report, Console())
    draw(report, given.json.with_suffix(".png"))


if __name__ == "__main__":
    main()
