"""What processes take in memory when keys never end: budgets in bytes, and long streams.

python bench/soak.py table            # every policy and auto, 1, 10 and 100 MB, N and 10 N arrivals
python bench/soak.py long             # 10^8 arrivals through the kernel, for some policies
python bench/soak.py spark            # 10^7 arrivals through a streaming query

Each case runs in a process of its own, and all that it takes counts: its memory as the system sees
it, above what it has after imports and a small run (1 MB, or 500 rows) that loads the compiled
kernels; with `auto` one small run of each policy that it may choose. The peak is the system's own
(VmHWM), so that it knows of temporaries too: those of a push of 50,000 rows, and of the growth of
tables. Payloads are not held by the engine: those of the rows held are added as if they were.
"""

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

from penstock import policies
from penstock.engine import Join, Lookup
from penstock.policies import BUILT_IN

MB = 2**20
BUDGETS = (1, 10, 100)
ALLOWED, SPARE = 1.25, 20  # times the budget, and MB
PUSHED = 50_000
SIZE = 100  # bytes of a payload, on average
LONG = ("prob", "lfu", "lba", "rate", "lru", "auto")
PARTS = (1, 10, 25, 50, 75, 100)  # percent of a long stream at which memory is looked at
SECONDS = 240  # for the table, after which a slow policy has seen enough


def rows_of(first: int, rows: int, size: int = SIZE) -> tuple[np.ndarray, ...]:
    """Return sides, keys, times and sizes: three keys of four never came before."""
    random = np.random.default_rng(first)
    key = 10_000 + first + np.arange(rows)
    kind = random.random(rows)
    lately, often = np.flatnonzero(kind < 0.15), np.flatnonzero(kind > 0.9)
    key[lately] -= random.integers(1, 2_000, len(lately))
    key[often] = 10_000 * random.random(len(often)) ** 2
    return np.arange(rows) % 2, key, first + np.arange(rows), random.integers(1, 2 * size, rows)


class Engine:
    """A join or a cache that is fed ever new keys."""

    def __init__(self, case: dict[str, Any], **changes: Any):
        case = case | changes
        self.in_bytes, self.size = case["in_bytes"], case.get("size", SIZE)
        self.join = case["kind"] == "join"
        make: Any = Join if self.join else Lookup
        options = {"within": 10_000_000, "layout": case["layout"]} if self.join else {}
        self.engine = make(case["policy"], case["budget"], in_bytes=self.in_bytes, **options)
        self.taken = 0

    def take(self, rows: int) -> None:
        side, key, at, size = rows_of(self.taken, rows, self.size)
        sizes = size if self.in_bytes else None
        if self.join:
            self.engine.push(side, key, at, size=sizes, emit=False)
        else:
            self.engine.push(key, size=sizes, emit=False)
        self.taken += rows

    @property
    def payload(self) -> int:
        """The bytes of the payloads of the rows held."""
        if not self.in_bytes:
            return 0
        footprint = self.engine.footprint
        return self.engine.used - footprint.fixed - self.engine.held * footprint.charge


def warm_up(case: dict[str, Any]) -> None:
    """Load what is compiled, by small runs: of every policy that may rule."""
    small = 1 * MB if case["in_bytes"] else 500
    names, layouts = [case["policy"]], ["unified"]
    if case["policy"] == "auto":
        joins = case["kind"] == "join"
        families = policies.families("joining" if joins else "caching", joins, joins)
        names = [str(each) for family in families for each in family]
        layouts = ["unified", "split"] if joins else layouts
        small_auto = Engine(case, budget=min(8 * small, case["budget"]))
        for _ in range(4):
            small_auto.take(PUSHED)
    for name in names:
        for layout in layouts:
            engine = Engine(case, policy=name, layout=layout, budget=small)
            for _ in range(4):
                engine.take(5_000)
            engine.engine.save()


def resident() -> int:
    return psutil.Process().memory_info().rss


def begin() -> int:
    """Return what this process takes at least, and let its peak begin anew."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return resident()


def peak() -> int:
    """Return the most that this process has taken since `begin`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def one(case: dict[str, Any]) -> dict[str, Any]:
    """Run one case in this process, and return what it took."""
    warm_up(case)
    before, found, payload = begin(), [], 0
    engine, began = Engine(case), time.monotonic()
    for stop in case["stops"]:
        while engine.taken < stop and time.monotonic() - began < case["seconds"]:
            engine.take(min(PUSHED, stop - engine.taken))
            payload = max(payload, engine.payload)
        took, most = resident() - before + engine.payload, peak() - before + payload
        found.append({"arrivals": engine.taken, "bytes": took, "peak": most})
    seconds = time.monotonic() - began
    saved = engine.engine.save(copy=False)
    facts = {
        "held": engine.engine.held,
        "arrays": engine.engine.nbytes + engine.payload,
        "import": before,
        "saved": sum(array.nbytes for array in saved.values()),
        "save_peak": peak() - before + payload,
        "in_force": str(engine.engine.in_force),
        "took_seconds": round(seconds, 1),
    }
    return case | {"found": found} | facts


def apart(case: dict[str, Any], again: bool = True) -> dict[str, Any]:
    """Run a case in a process of its own.

    `auto` changes policies when it will, and so compiles when it will: it runs twice, so that the
    second run, which is the one that counts, finds all kernels on disk.
    """
    if case["policy"] == "auto" and again:
        short = case["stops"][-1] if case["in_bytes"] else case["stops"][-1] // 20
        apart(case | {"stops": [short]}, again=False)
    command = [sys.executable, __file__, "case", json.dumps(case)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return case | {"failed": (done.stderr.strip().splitlines() or [str(done.returncode)])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def table(
    console: Console, names: list[str], budgets: list[int], size: int, seconds: int
) -> list[Any]:
    """Show what every policy takes under budgets in bytes, at N and at 10 N arrivals."""
    columns = ("engine", "policy", "budget", "arrays", "at N", "at 10 N", "peak", "allowed", "save")
    shown, report = Table(*columns, "arrivals", "ok"), []
    for kind, problem in (("join", "joining"), ("cache", "caching")):
        known = [each.name for each in BUILT_IN if problem in each.problems] + ["auto"]
        for policy in [each for each in known if each in names]:
            for budget in budgets:
                first = max(100_000, 5_000 * budget)
                case = {"kind": kind, "policy": policy, "budget": budget * MB, "in_bytes": True}
                case |= {"layout": "unified", "size": size, "seconds": seconds}
                found = apart(case | {"stops": [first, 10 * first]})
                report.append(found)
                if "failed" in found:
                    shown.add_row(kind, policy, f"{budget} MB", found["failed"][:60])
                    console.print(kind, policy, budget, found["failed"])
                    continue
                at, most = [each["bytes"] for each in found["found"]], found["found"][-1]["peak"]
                allowed = (ALLOWED * budget + SPARE) * MB
                found["ok"] = most <= allowed
                sizes = (found["arrays"], *at, most, allowed, found["save_peak"])
                cells = [f"{each / MB:.1f}" for each in sizes]
                cells += [f"{found['found'][-1]['arrivals']:,}", "yes" if found["ok"] else "NO"]
                shown.add_row(kind, policy, f"{budget} MB", *cells)
                console.print(kind, policy, f"{budget} MB", *cells, found["took_seconds"])
    console.print(shown)
    return report


def long(console: Console, names: list[str], arrivals: int, rows: int) -> list[dict[str, Any]]:
    """Show that the memory stays as it is over a long stream, under a budget in rows."""
    shown = Table("engine", "policy", *(f"at {part} %" for part in PARTS), "peak", "seconds")
    report = []
    for policy in names:
        kind = "cache" if policy == "lfu" else "join"
        stops = [arrivals * part // 100 for part in PARTS]
        case = {"kind": kind, "policy": policy, "budget": rows, "in_bytes": False}
        found = apart(case | {"layout": "unified", "stops": stops, "seconds": 86_400})
        report.append(found)
        if "failed" in found:
            console.print(kind, policy, found["failed"])
            continue
        sizes = [each["bytes"] for each in found["found"]]
        cells = [f"{each / MB:.1f}" for each in (*sizes, found["found"][-1]["peak"])]
        shown.add_row(kind, policy, *cells, str(found["took_seconds"]))
        console.print(kind, policy, f"{arrivals:,}", *cells, found["took_seconds"])
    console.print(shown)
    return report


def below(session: Any) -> dict[str, Any]:
    """Return what the processes below this one take, in MB: Spark's JVM and the Python workers.

    What the JVM has reserved says little: `heap` is what it still uses after its garbage is
    collected.
    """
    java, workers = 0, []
    for child in psutil.Process().children(recursive=True):
        try:
            size, name = child.memory_info().rss, child.name()
        except psutil.Error:  # it has just ended
            continue
        if name == "java":
            java = max(java, size)
        elif name.startswith("python"):
            workers.append(size)
    session._jvm.java.lang.System.gc()
    runtime = session._jvm.java.lang.Runtime.getRuntime()
    sizes = {"python": sum(workers), "largest": max(workers, default=0), "jvm": java}
    sizes["heap"] = runtime.totalMemory() - runtime.freeMemory()
    return {name: round(size / MB, 1) for name, size in sizes.items()} | {"workers": len(workers)}


def spark(console: Console, arrivals: int, batches: int, policy: str) -> dict[str, Any]:
    """Show the memory of Spark's processes in a streaming join of ever new keys, by batch.

    The workers' is that of all Python processes: pages that they share count several times.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    from penstock.spark import join

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    rows, sizes = arrivals // batches, []
    with tempfile.TemporaryDirectory() as folder:
        frames = []
        for side in (0, 1):
            source = Path(folder) / f"side{side}"
            source.mkdir()
            for batch in range(batches):
                sides, key, at, _ = rows_of(batch * rows, rows)
                mine = sides == side
                columns = {
                    "k": pa.array(key[mine]),
                    "t": pa.array(at[mine] * 1000, pa.timestamp("us", "UTC")),
                    "v": pa.array(key[mine] * 7),
                }
                path = source / f"{batch:05d}.parquet"
                pq.write_table(pa.table(columns), path)
                os.utime(path, (1_600_000_000 + batch, 1_600_000_000 + batch))
            schema = "k long, t timestamp, v long"
            stream = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            frames.append(stream.parquet(str(source)).withWatermark("t", "1 second"))
        options = {"within": "10 minutes", "budget": "16 MB", "buckets": 4, "policy": policy}
        joined = join(*frames, "k", time="t", **options)
        query = (
            joined.writeStream.format("noop")
            .option("checkpointLocation", f"{folder}/checkpoint")
            .start()
        )
        seen = -1
        while query.isActive and seen < batches - 1:
            progress = query.lastProgress
            if progress is not None and progress["batchId"] > seen:
                seen = progress["batchId"]
                sizes.append({"batch": seen, "rows": (seen + 1) * rows} | below(session))
                if seen % max(1, batches // 10) == 0 or seen == batches - 1:
                    console.print(sizes[-1])
            time.sleep(0.2)
        query.stop()
    session.stop()
    return {"arrivals": arrivals, "batches": batches, "policy": policy, "sizes": sizes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["table", "long", "spark", "case"])
    parser.add_argument("case", nargs="?", help="for a process of its own")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--policies", nargs="+")
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS), help="MB")
    parser.add_argument("--size", type=int, default=SIZE, help="bytes of a payload, on average")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="for one case of the table")
    parser.add_argument("--arrivals", type=int)
    parser.add_argument("--rows", type=int, default=10_000, help="the budget of `long`")
    parser.add_argument("--batches", type=int, default=100)
    asked = parser.parse_args()
    if asked.what == "case":
        print(json.dumps(one(json.loads(asked.case))))
        return
    console = Console(width=120)
    everything = [policy.name for policy in BUILT_IN] + ["auto"]
    if asked.what == "table":
        report: Any = table(
            console, asked.policies or everything, asked.budgets, asked.size, asked.seconds
        )
    elif asked.what == "long":
        report = long(console, asked.policies or list(LONG), asked.arrivals or 10**8, asked.rows)
    else:
        policy = (asked.policies or ["auto"])[0]
        report = spark(console, asked.arrivals or 10**7, asked.batches, policy)
    if asked.json:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
