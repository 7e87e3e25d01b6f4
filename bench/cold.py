"""How long a new machine takes to be ready: first results with an empty cache of kernels.

Every figure is the processor time of a new process, from its start, so that a busy machine hardly
changes it; what a process beside compiles meanwhile is not counted, as no row waits for it. Cold:
the cache folder is empty. Warm: the same again. The best of several runs is taken.

With `--spark` a stream is joined under `auto` too, cold and warm, and by Spark itself: seconds by
the clock from the call of `join` to the end of the first micro-batch, of the second one, and the
median of later ones. That is of use on a quiet machine only. Exit code 1: a limit is exceeded.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
IMPORT = "import penstock"
HELP = "import sys; sys.argv[1:] = ['--help']; from penstock.cli import main; main()"
JOIN = """
import numpy as np
from penstock import Join

random = np.random.default_rng(1)
side, key, time = random.integers(0, 2, 20_000), random.zipf(1.3, 20_000) % 3_000, np.arange(20_000)
join = Join({policy!r}, 1_000, within=5_000)
for start in range(0, {rows}, 10_000):
    some = slice(start, min(start + 10_000, {rows}))
    join.push(side[some], key[some], time[some])
"""
LIMITS = {  # seconds, with which cache
    "import penstock": ("warm", 0.5),
    "penstock --help": ("warm", 0.7),
    "Join('prob'), 1,000 rows": ("cold", 3.0),
    "Join(), 1,000 rows": ("cold", 5.0),
}
LATER, TIMES = 8.0, 1.5  # seconds of a cold first micro-batch beside warm; the second by the steady
WORK = {
    "import penstock": IMPORT,
    "penstock --help": HELP,
    "Join('prob'), 1,000 rows": JOIN.format(policy="prob", rows=1_000),
    "Join(), 1,000 rows": JOIN.format(policy="auto", rows=1_000),
    "Join(), 10,000 rows": JOIN.format(policy="auto", rows=10_000),
    "Join(), 20,000 rows": JOIN.format(policy="auto", rows=20_000),
}
SPARK = """
import json, statistics, sys, tempfile, time
from pathlib import Path

from pyspark.sql.functions import expr

sys.path.insert(0, {root!r})
from bench.spark_streams import SCHEMAS, Workload, write_files
from penstock.spark import join
from penstock.spark.session import local

OURS = {ours}

folder, work = Path(tempfile.mkdtemp()), Workload("cold", "numeric", 20_000)
write_files(folder, work, {batches})
spark = local(**{{"spark.ui.showConsoleProgress": "false"}})
spark.sparkContext.setLogLevel("ERROR")
spark.range(1).collect()
sides = [
    spark.readStream.schema(SCHEMAS["numeric"]).option("maxFilesPerTrigger", 1)
    .parquet(str(folder / f"side{{side}}"))
    for side in (0, 1)
]
began = time.time()
if OURS:
    joined = join(*sides, "k", time="ts", within="100 seconds", delay="10 seconds", budget=20_000)
else:
    left, right = (
        side.withWatermark("ts", "10 seconds").alias(name) for name, side in zip("lr", sides)
    )
    bounds = "l.ts between r.ts - interval 100 seconds and r.ts + interval 100 seconds"
    joined = left.join(right, expr(f"l.k = r.k and {{bounds}}"))
query = joined.writeStream.format("noop").option("checkpointLocation", tempfile.mkdtemp())
query = query.trigger(availableNow=True).start()
first = None
while first is None:
    query.awaitTermination(0.02)
    first = time.time() - began if query.recentProgress else None
query.awaitTermination()
took = [each["durationMs"]["triggerExecution"] / 1000 for each in query.recentProgress]
print(json.dumps({{"first": first, "second": took[1], "steady": statistics.median(took[-6:])}}))
spark.stop()
"""
BATCHES = 16
TIMED = """
import atexit, sys
from time import process_time
atexit.register(lambda: print(process_time(), file=sys.stderr))
"""


def processor_time(code: str, folder: str, **environment: str) -> float:
    """Return the seconds of processor time that a new process takes for some code."""
    env = os.environ | {"PENSTOCK_CACHE_DIR": folder, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", TIMED + code],
        env=env | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stderr.split()[-1])


def measure_spark() -> dict[str, dict[str, float]]:
    """Return the seconds of the first micro-batches, cold and warm, and of Spark's own join."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        env = os.environ | {"PENSTOCK_CACHE_DIR": folder, "PYTHONPATH": str(ROOT / "src")}
        found = {}
        for name in ("cold", "warm", "spark"):
            code = SPARK.format(root=str(ROOT), batches=BATCHES, ours=name != "spark")
            done = subprocess.run(
                [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
            )
            found[name] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(code: str, runs: int) -> dict[str, float]:
    """Return the least processor time of some runs, cold and warm."""
    cold, warm = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            cold.append(processor_time(code, folder))
            processor_time(code, folder, PENSTOCK_COMPILE="first")  # what is still missing
            warm.append(processor_time(code, folder))
    return {"cold": round(min(cold), 2), "warm": round(min(warm), 2)}


def show_spark(found: dict[str, dict[str, float]]) -> list[str]:
    """Print the figures of the first micro-batches, and return what exceeds its limit."""
    cold, warm, spark = found["cold"], found["warm"], found["spark"]
    later, times = cold["first"] - warm["first"], cold["second"] / cold["steady"]
    print(json.dumps(found, indent=1))
    print(f"first micro-batch: cold {later:+.1f} s beside warm, at most {LATER:+.1f}")
    print(f"warm {warm['first'] - spark['first']:+.1f} s beside Spark's own join")
    print(f"second by steady {times:.2f} x, at most {TIMES}")
    exceeded = {"first micro-batch": later > LATER, "second micro-batch": times > TIMES}
    return [name for name, is_so in exceeded.items() if is_so]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--spark", action="store_true", help="the first micro-batches of a join too"
    )
    asked = parser.parse_args()
    table = Table("", "cold s", "warm s", "at most")
    found, exceeded = {}, []
    for name, code in WORK.items():
        found[name] = each = measure(code, asked.runs)
        which, limit = LIMITS.get(name, ("cold", float("inf")))
        exceeded += [name] * (each[which] > limit)
        said = f"{which} {limit}" if name in LIMITS else ""
        table.add_row(name, f"{each['cold']:.2f}", f"{each['warm']:.2f}", said)
    Console().print(table)
    made = {"machine": platform.processor() or platform.machine(), "processor_seconds": found}
    if asked.spark:
        made["spark"] = measure_spark()
        exceeded += show_spark(made["spark"])
    if asked.json is not None:
        asked.json.write_text(json.dumps(made))
    if exceeded:
        sys.exit(f"above their limits: {', '.join(exceeded)}")


if __name__ == "__main__":
    main()
