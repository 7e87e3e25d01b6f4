"""How far the advisor's curves are from the truth, and how long it takes.

`python bench/advisor.py` replays every real stream in full under some policies, with a memory of 1,
5, 10, 20 and 50 % of the rows that are alive on average (of a cache: of its keys), and asks the
advisor for the same from samples: as it chooses them, and from smaller ones. `--speed` measures the
time for files of a million rows, `--spark` for two frames of ten million.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from papers.quality.recorded import Rows, caches, joins
from penstock.advisor import advise_join, advise_lookup
from penstock.advisor.draw import WORK
from penstock.engine import Join, Lookup
from penstock.simulate.optimum import exact_results

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
JOINS = ("clock", "lru", "fifo", "prob", "lba", "lhd", "gdj:percentile=0.1", "s3fifo")
CACHES = ("clock", "lru", "sieve", "s3fifo", "wtinylfu", "lhd", "lfu")
BOUND = 0.03


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="streams whose name holds this")
    parser.add_argument("--work", type=int, nargs="+", default=[WORK, WORK // 8])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of each frame")
    chosen = parser.parse_args()
    if chosen.speed:
        return speed()
    if chosen.spark:
        return spark(chosen.rows)
    rows = []
    for name, make in joins().items():
        if chosen.only in name:
            rows += validate_join(name, make(), chosen.work, chosen.seeds)
    for name, make in caches().items():
        if chosen.only in name:
            rows += validate_cache(name, make(), chosen.work, chosen.seeds)
    summary(rows)
    if chosen.json:
        chosen.json.write_text(json.dumps(rows))


def validate_join(name: str, rows: Rows, works: list[int], seeds: int) -> list[dict]:
    end = rows.time + rows.within
    full = int(exact_results(rows.side, rows.key, rows.time, end)[0].sum())
    first, found = None, []
    truth: dict = {}
    for work in works:
        for seed in range(seeds):
            started = time.perf_counter()
            made = advise_join(
                rows.side, rows.key, rows.time, rows.within, tried=JOINS, work=work, seed=seed
            )
            seconds = time.perf_counter() - started
            if first is None:
                first = made
                truth = {
                    (policy, share): play_join(rows, policy, round(share * made.streams.mean))
                    / full
                    for policy in JOINS
                    for share in SHARES
                }
            found += compare(name, made, truth, work, seed, seconds)
    return found


def play_join(rows: Rows, policy: str, budget: int) -> int:
    join = Join(policy, max(1, budget), within=rows.within)
    join.push(rows.side, rows.key, rows.time, emit=False)
    return join.results


def validate_cache(name: str, key: np.ndarray, works: list[int], seeds: int) -> list[dict]:
    truth, found = {}, []
    keys = len(np.unique(key))
    for policy in CACHES:
        for share in SHARES:
            cache = Lookup(policy, max(1, round(share * keys)))
            cache.push(key, emit=False)
            truth[policy, share] = cache.hits / len(key)
    for work in works:
        for seed in range(seeds):
            started = time.perf_counter()
            made = advise_lookup(key, tried=CACHES, work=work, seed=seed, target=0.5)
            found += compare(name, made, truth, work, seed, time.perf_counter() - started)
    return found


def compare(name, made, truth, work, seed, seconds) -> list[dict]:
    """Print the largest differences of one stream, and return all of them."""
    curves = {curve.policy: curve for curve in made.curves}
    found = []
    for (policy, share), true in truth.items():
        said = curves[policy].at(max(1, round(share * made.streams.mean)))
        found.append(
            {
                "stream": name, "work": work, "seed": seed, "policy": policy, "memory": share,
                "true": true, "said": said.share, "error": said.error,
                "weight": made.sampled["weight"], "rows": made.sampled["rows"],
                "whole": made.sampled["whole"],
            }
        )  # fmt: skip
    by_share = [
        max((abs(row["said"] - row["true"]) for row in found if row["memory"] == share), default=0)
        for share in SHARES
    ]
    inside = np.mean([abs(row["said"] - row["true"]) <= max(row["error"], 0.005) for row in found])
    worst = max(found, key=lambda row: abs(row["said"] - row["true"]))
    cells = " ".join(f"{value:.3f}{'!' if value > BOUND else ' '}" for value in by_share)
    sampled = made.sampled
    print(
        f"{name:20s} {work:8,d} {sampled['rows']:9,d} x{sampled['weight']:<3d}"
        f" {sampled.get('stretches', 1):2d} | {cells}| {inside:4.0%} inside, worst"
        f" {worst['policy']} {worst['memory']:.0%}: {worst['said']:.3f} for {worst['true']:.3f}"
        f" ±{worst['error']:.3f} | {seconds:5.1f} s",
        flush=True,
    )
    return found


def summary(rows: list[dict]) -> None:
    for work in sorted({row["work"] for row in rows}, reverse=True):
        mine = [row for row in rows if row["work"] == work]
        off = np.array([abs(row["said"] - row["true"]) for row in mine])
        parts = [row for row in mine if not row["whole"]]
        inside = [abs(row["said"] - row["true"]) <= row["error"] for row in parts]
        print(
            f"work {work:,}: {len(off)} figures, {np.mean(off <= BOUND):.1%} within {BOUND}, "
            f"largest difference {off.max():.3f}, mean {off.mean():.4f}; of the "
            f"{len(parts)} sampled ones {np.mean(inside) if inside else 1:.0%} inside their"
            " interval"
        )


def speed() -> None:
    """Time the command on two files of a million rows, and on one."""
    with tempfile.TemporaryDirectory() as folder:
        names = [Path(folder, f"{side}.parquet") for side in ("left", "right")]
        for number, path in enumerate(names):
            pq.write_table(drawn(1_000_000, number), path)
        terms = ["--on", "customer", "--time", "at"]
        timed("join", [*map(str, names), *terms, "--within", "10 minutes"])
        timed("cache", [str(names[0]), "--lookup", *terms, "--target", "0.8"])


def timed(what: str, arguments: list[str]) -> None:
    """Run the command twice: the first time it may have to compile."""
    for which in ("first", "again"):
        started, used = time.perf_counter(), children_used()
        command = [sys.executable, "-c", "from penstock.cli import main; main()", "advise"]
        subprocess.run([*command, *arguments], check=True, stdout=subprocess.DEVNULL)
        wall, processor = time.perf_counter() - started, children_used() - used
        print(f"{what}, {which}: {wall:.1f} s, {processor:.1f} s of processor time", flush=True)


def children_used() -> float:
    """Return the processor time of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def drawn(rows: int, seed: int) -> pa.Table:
    """Draw an hour of skewed keys."""
    random = np.random.default_rng(seed)
    key = (200_000 * random.random(rows) ** 3).astype(np.int64)
    at = np.sort(random.integers(0, 3_600_000_000, rows))
    clock = pa.array(at).cast(pa.timestamp("us", "UTC"))
    return pa.table({"customer": key, "at": clock, "value": random.random(rows)})


def spark(rows: int) -> None:
    """Time advice for two frames."""
    from penstock.spark import advise
    from penstock.spark.session import local

    with tempfile.TemporaryDirectory() as folder:
        names = [str(Path(folder, f"{side}.parquet")) for side in ("left", "right")]
        for number, path in enumerate(names):
            pq.write_table(drawn(rows, number), path)
        session = local(cores=2, memory="4g")
        left, right = (session.read.parquet(path) for path in names)
        for which in ("first", "again"):
            started = time.perf_counter()
            made = advise(left, right, on="customer", time="at", within="10 minutes")
            seconds = time.perf_counter() - started
            print(f"2 x {rows:,} rows, {which}: {seconds:.1f} s, {made.sampled}", flush=True)
        session.stop()


if __name__ == "__main__":
    main()
