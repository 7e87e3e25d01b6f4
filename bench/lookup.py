"""Enrichment on Spark from PostgreSQL: events a second, calls and hits, beside what users do today.

Every contender serves the same files in a fresh process, from one server. Rates are those of the
steady micro-batches (their median); the machine is shared, so only ratios within one run mean much.

    python bench/lookup.py --json bench/results/lookup.json      # an hour
    python bench/lookup.py --quick --only habit                  # minutes, small sizes
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.lookup_streams import SCHEMA, Stream, database, write_stream
from bench.memory import Peak

POLICIES = ("lru", "lfu", "wtinylfu", "gdj", "heeb")
PARTITIONS = 2
HEADS = (
    "events/s",
    "x first",
    "calls",
    "rows fetched",
    "x first",
    "hit ratio",
    "Python MB",
    "JVM MB",
)


@dataclass(frozen=True)
class Case:
    """One contender at one stream."""

    part: str
    who: str
    stream: Stream
    memory: int  # rows
    policy: str = ""
    warm: int = 2  # micro-batches before the steady ones


def cases(quick: bool) -> list[Case]:
    """Return everything that can be measured, part by part."""
    scale = 20 if quick else 1
    events, rows = 2_000_000 // scale, 1_000_000 // scale
    zipf = Stream("zipf", events, 100_000 // scale, rows, rows)
    drift = Stream("drift", events, 5_000 // scale, rows, 60_000 // scale)
    made = []
    for policy in POLICIES:
        made.append(Case("zipf", f"lookup, {policy}", zipf, 50_000 // scale, policy))
    for policy in POLICIES:
        named = "heeb:model=trend" if policy == "heeb" else policy
        made.append(Case("drift", f"lookup, {named}", drift, drift.keys // 3, named, 10))
    made.append(Case("zipf", "broadcast join", zipf, 0, "", 1))
    half = replace(zipf, events=zipf.events // 2)
    few = replace(zipf, events=zipf.events // 10, batch=zipf.batch // 5)
    for part, stream in (("habit", half), ("habit, small batches", few)):
        made.append(Case(part, "lookup, lru", stream, 50_000 // scale, "lru"))
        made.append(Case(part, "lru_cache, row by row", stream, 50_000 // scale, "", 1))
    for times in (100, 10, 1):
        spread = Stream("spread", events // 2, 50_000 // scale, rows // times, 10_000 // scale)
        made.append(Case("size", f"{rows // times:,} rows", spread, 2_000 // scale, "lru"))
    for batch, memory in ((100_000, 50_000), (10_000, 50_000), (10_000, 500_000)):
        one = Stream("zipf", 40 * batch // scale, batch // scale, zipf.rows, zipf.keys)
        who = f"cache of {memory // scale:,} rows, {batch // scale:,} a batch"
        made.append(Case("state", who, one, memory // scale, "lru", 20))
    return made


def measure(case: Case, folder: Path, uri: str) -> dict:
    """Run one contender over the files, and return its figures."""
    from penstock.spark.session import local

    settings = {
        "spark.sql.streaming.numRecentProgressUpdates": 1000,
        "spark.ui.showConsoleProgress": "false",
    }
    spark = local(cores=PARTITIONS, memory="4g", **settings)
    spark.sparkContext.setLogLevel("ERROR")
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as checkpoint, Peak() as peak:
        query = (
            _contender(case, reader.parquet(str(folder)), uri)
            .writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        done = [batch for batch in query.recentProgress if batch["numInputRows"]]
        figures = _figures(case, query, done)
    total = time.perf_counter() - began
    spark.stop()
    seconds = [batch["durationMs"]["triggerExecution"] / 1000 for batch in done]
    steady = seconds[case.warm :]
    return figures | {
        "events": sum(batch["numInputRows"] for batch in done),
        "seconds": seconds,
        "total_seconds": total,
        "events_per_second": case.stream.batch / statistics.median(steady),
        "peak_jvm_bytes": peak.jvm,
        "peak_python_bytes": peak.python,
    }


def _contender(case: Case, stream, uri: str):
    from bench import lookup_rivals as rivals
    from penstock.spark import Relation, lookup

    table = f"customers_{case.stream.rows}"
    if case.who.startswith("lru_cache"):
        return rivals.habit(stream, uri, table, case.memory, PARTITIONS)
    if case.who == "broadcast join":
        return rivals.broadcast(stream, uri, table)
    relation = Relation(uri, table=table, key="id")
    return lookup(stream, relation, "k", budget=case.memory, policy=case.policy)


def _figures(case: Case, query, done: list) -> dict:
    """Return calls, rows fetched and hits, as far as a contender tells."""
    from bench.lookup_rivals import HABIT
    from penstock.spark import metrics

    if case.who == "broadcast join":
        return {}
    if case.who.startswith("lru_cache"):
        asked = sum(batch["observedMetrics"][HABIT]["asked"] for batch in done)
        return {"calls": asked, "rows_fetched": asked, "hit_ratio": 1 - asked / case.stream.events}
    told = metrics(query)
    return {
        "calls": told.calls,
        "rows_fetched": told.rows_fetched,
        "hit_ratio": told.hit_ratio,
        "rows_held": told.rows_held,
        "state_bytes": told.bytes_held,
        "staleness_p50": told.staleness_p50,
        "staleness_p99": told.staleness_p99,
    }


def run(chosen: list[Case], out: Path, quick: bool) -> dict:
    """Measure all cases; what is done is on disk at once."""
    report: dict = {"when": time.strftime("%Y-%m-%d"), "quick": quick, "results": []}
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="penstock-data-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the server has a user of its own
        sizes = sorted({case.stream.rows for case in chosen})
        console.print(f"loading tables of {', '.join(f'{size:,}' for size in sizes)} rows")
        with database(folder / "server", sizes) as uri:
            written: dict[Stream, Path] = {}
            for case in chosen:
                if case.stream not in written:
                    place = folder / f"stream{len(written)}"
                    written[case.stream] = write_stream(place, case.stream)
                figures = apart(case, written[case.stream], uri, quick)
                said = f"{figures['events_per_second']:,.0f} events/s"
                console.print(f"{case.part}: {case.who}: {said}")
                report["results"].append(asdict(case) | figures)
                out.parent.mkdir(parents=True, exist_ok=True)
                out.write_text(json.dumps(report, indent=1) + "\n")
    return report


def apart(case: Case, folder: Path, uri: str, quick: bool) -> dict:
    """Measure one case in a process of its own, whose JVM may hang at its end: it is ended."""
    number, said = str(cases(quick).index(case)), folder.with_suffix(".said")
    command = [sys.executable, __file__, "--one", number, "--folder", str(folder), "--uri", uri]
    command += ["--quick"] * quick
    with open(said, "w+") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
        try:
            code = process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    lines = said.read_text().splitlines()
    if code:
        raise RuntimeError("\n".join([f"{case.part}: {case.who}", *lines[-30:]]))
    return json.loads(next(line for line in reversed(lines) if line.startswith("{")))


def show(report: dict, console: Console) -> None:
    """Print a table per part, with ratios to its first contender."""
    for part in dict.fromkeys(row["part"] for row in report["results"]):
        rows = [row for row in report["results"] if row["part"] == part]
        stream = rows[0]["stream"]
        title = f"{part}: {stream['events']:,} events, {stream['batch']:,} a micro-batch"
        table = Table(title=title, title_justify="left")
        table.add_column("who", no_wrap=True)
        for head in HEADS:
            table.add_column(head, justify="right")
        for row in rows:
            table.add_row(row["who"], *_cells(row, rows[0]))
        console.print(table)


def _cells(row: dict, first: dict) -> list[str]:
    fetched = row.get("rows_fetched")
    return [
        f"{row['events_per_second']:,.0f}",
        f"{row['events_per_second'] / first['events_per_second']:.2f}",
        f"{row['calls']:,.0f}" if "calls" in row else "",
        "" if fetched is None else f"{fetched:,.0f}",
        "" if fetched is None else f"{fetched / first['rows_fetched']:.2f}",
        f"{row['hit_ratio']:.1%}" if "hit_ratio" in row else "",
        f"{row['peak_python_bytes'] / 1e6:,.0f}",
        f"{row['peak_jvm_bytes'] / 1e6:,.0f}",
    ]


def main() -> None:
    parts = list(dict.fromkeys(case.part for case in cases(False)))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("bench/results/lookup.json"))
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--who", default="", help="only contenders whose name holds this")
    parser.add_argument("--quick", action="store_true", help="a twentieth of everything")
    parser.add_argument("--show", action="store_true", help="show an earlier report again")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--uri", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(measure(cases(given.quick)[given.one], given.folder, given.uri)))
        return
    if given.show:
        report = json.loads(given.json.read_text())
    else:
        chosen = [c for c in cases(given.quick) if c.part in given.only and given.who in c.who]
        report = run(chosen, given.json, given.quick)
    show(report, Console())


if __name__ == "__main__":
    main()
