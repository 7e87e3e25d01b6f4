"""How long the profile of a frame takes on Spark, and how much memory, beside the one in memory.

Run: python bench/spark_profile.py [--rows N] [--keys N] [--cores N] [--json FILE]
"""

import argparse
import json
import platform
import resource
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.profile.locality import Locality
from penstock.profile.stream_profile import Profile
from penstock.profile.stream_profile import profile as of_arrays
from penstock.simulate.skewed import popularity
from penstock.spark import profile
from penstock.spark.session import local

FILES = 20
SIZES = np.array([1, 10, 100, 1000, 10_000, 100_000])


def write(folder: Path, keys: np.ndarray) -> None:
    """Write the stream in pieces of time, each in no order."""
    draw = np.random.default_rng(1)
    for number, places in enumerate(np.array_split(np.arange(len(keys)), FILES)):
        places = draw.permutation(places)
        at = np.datetime64("2024-03-01", "us") + 1000 * places
        names = pa.array(keys[places]).cast(pa.string())
        pq.write_table(pa.table({"who": names, "at": at}), folder / f"{number:03}.parquet")


class Peak(threading.Thread):
    """Watches the memory and the work of this process and of all that it started."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self.python = self.all = 0
        self.work: dict[int, list[float]] = {}  # seconds of each process: at first, at last

    def run(self) -> None:
        me = psutil.Process()
        while not self.over.wait(0.2):
            sizes = []
            for process in [me, *me.children(recursive=True)]:
                try:
                    sizes.append((process.name(), process.memory_info().rss))
                    spent = process.cpu_times()
                except psutil.Error:
                    continue
                seconds = spent.user + spent.system
                self.work.setdefault(process.pid, [seconds, 0.0])[1] = seconds
            python = sum(size for name, size in sizes if "java" not in name)
            self.python = max(self.python, python)
            self.all = max(self.all, sum(size for _, size in sizes))


def timed(work, *given, **options):
    start = time.perf_counter()
    made = work(*given, **options)
    return made, time.perf_counter() - start


def compare(found: Profile, true: Profile) -> list[dict]:
    rows = []
    for size in SIZES[true.keys >= SIZES].tolist():
        row = {
            "size": size,
            "spark": float(found.reuse.hit_ratio(size)),
            "error": float(found.reuse.error(size)),
            "exact": float(true.reuse.hit_ratio(size)),
        }
        rows.append(row)
        print(
            f"LRU {size:>7,}: {row['spark']:.4f} ± {row['error']:.4f}, exactly {row['exact']:.4f}"
        )
    off = found.sampling.b_error if found.sampling else 0.0
    print(f"b {found.likelihood.b:.4f} ± {off:.4f}, exactly {true.likelihood.b:.4f}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--exact", action="store_true", help="profile the array as well")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    a = [0.2, 0.1, 0.05]
    keys = Locality(a, 0.65, popularity(chosen.keys, 1.0)).sample(chosen.rows, seed=1)
    spark = local(chosen.cores)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), keys)
        frame = spark.read.parquet(folder)
        _, cold = timed(profile, frame.limit(20_000), "who", "at", rows=10_000)
        print(f"20,000 rows, the first time, with compiling: {cold:.1f} s")
        peak = Peak()
        peak.start()
        found, seconds = timed(profile, frame, "who", "at")
        peak.over.set()
    assert isinstance(found, Profile)
    report = {
        "machine": platform.node(),
        "rows": chosen.rows,
        "keys": found.keys,
        "seconds": seconds,
        "cpu_seconds": sum(last - first for first, last in peak.work.values()),
        "first_seconds": cold,
        "peak_python_mb": peak.python >> 20,
        "peak_all_mb": peak.all >> 20,
        "driver_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }
    print(f"{chosen.rows:,} rows, {found.keys:,} keys: {seconds:.1f} s on {chosen.cores} cores,")
    print(f"{report['cpu_seconds']:.1f} s of work, whatever else the machine did")
    print(f"peak: {report['peak_all_mb']:,} MB in all, {report['peak_python_mb']:,} without Java")
    if chosen.exact:
        true, seconds = timed(of_arrays, keys)
        print(f"the array: {seconds:.1f} s")
        report |= {"array_seconds": seconds, "hit_ratio": compare(found, true)}
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
