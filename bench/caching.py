"""Pure caching on real traces: hits and references a second, beside libcachesim and cachetools.

The traces are those of ../shared/data/cache, or of PENSTOCK_DATA/cache; without them nothing runs.

    python bench/caching.py --json bench/results/caching.json    # some minutes
    python bench/caching.py --quick                               # small traces, one memory each
"""

import argparse
import gzip
import json
import os
import platform
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import cachetools
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.policies import Rival
from penstock.engine import Lookup
from penstock.simulate.optimum import lfd

SHARES = (0.01, 0.1, 0.3)  # of the different keys
OURS = ("fifo", "lru", "lfu", "clock", "sieve", "s3fifo", "wtinylfu", "lhd", "gdj", "hist", "heeb")
THEIRS = ("FIFO", "LRU", "LFU", "Clock", "Sieve", "S3FIFO", "WTinyLFU", "LHD", "ARC", "LeCaR")
TOOLS = {"LRU": cachetools.LRUCache, "LFU": cachetools.LFUCache, "FIFO": cachetools.FIFOCache}
SMALL = ("lirs_cpp", "lirs_gli", "lirs_2_pools", "cloudPhysicsIO")
MOST = 1_000_000  # references of a trace that are taken


def folder() -> Path | None:
    """Return where the traces are, if they are here."""
    shared = Path(__file__).resolve().parents[2] / "shared" / "data"
    found = Path(os.environ.get("PENSTOCK_DATA", shared)) / "cache"
    return found if found.is_dir() else None


def read(path: Path) -> np.ndarray:
    """Return the references of a trace as numbers from 0."""
    with gzip.open(path, "rt") as file:
        if path.name.startswith("arc_"):
            blocks = []
            for line in file:
                start, count = line.split()[:2]
                blocks.append(np.arange(int(start), int(start) + int(count)))
            keys = np.concatenate(blocks)
        elif path.name.endswith(".csv.gz"):
            keys = np.array([int(line.split(",")[4]) for line in file if line[0].isdigit()])
        else:
            keys = np.array([int(line) for line in file if line.strip().isdigit()])
    return keys[:MOST].astype(np.int64)


def ours(policy: str, memory: int, keys: np.ndarray) -> dict:
    Lookup(policy, memory).push(keys[:1000], emit=False)  # compiled before it is timed
    cache = Lookup(policy, memory)
    began = time.perf_counter()
    cache.push(keys, emit=False)
    return {"hits": cache.hits, "rate": len(keys) / (time.perf_counter() - began)}


def theirs(name: str, memory: int, rival: Rival) -> dict:
    """Let libcachesim replay the trace in its own C++ loop."""
    kind = rival.library.TraceType.ORACLE_GENERAL_TRACE
    reader = rival.library.TraceReader(str(rival.path), kind)
    cache = getattr(rival.library, name)(cache_size=memory)
    began = time.perf_counter()
    misses, _ = cache.process_trace(reader, 0, rival.length)
    taken = time.perf_counter() - began
    return {"hits": round((1 - misses) * rival.length), "rate": rival.length / taken}


def tools(name: str, memory: int, keys: np.ndarray) -> dict:
    cache, hits = TOOLS[name](maxsize=memory), 0
    began = time.perf_counter()
    for key in keys.tolist():
        if key in cache:
            hits += 1
            cache[key]  # a look-up counts as use
        else:
            cache[key] = None
    return {"hits": hits, "rate": len(keys) / (time.perf_counter() - began)}


def run(paths: list[Path], shares: tuple[float, ...], console: Console) -> dict:
    """Measure every contender on every trace."""
    report: dict = {"machine": platform.processor() or platform.machine(), "traces": []}
    for path, share in track(list(product(paths, shares)), "measuring", console=console):
        keys = read(path)
        different = len(np.unique(keys))
        with tempfile.TemporaryDirectory() as place:
            rival = Rival(keys, Path(place))
            memory = max(2, int(share * different))
            cells = {"lfd (hindsight)": {"hits": int(lfd(keys, memory).sum()), "rate": None}}
            for name in OURS:
                cells[f"penstock {name}"] = ours(name, memory, keys)
            for name in THEIRS:
                cells[f"libcachesim {name}"] = theirs(name, memory, rival)
            for name in TOOLS:
                cells[f"cachetools {name}"] = tools(name, memory, keys)
            about = {"trace": path.name, "references": len(keys), "different": different}
            report["traces"].append(about | {"memory": memory, "share": share, "who": cells})
    return report


def show(report: dict, console: Console) -> None:
    """Print a table per trace and memory, the most hits first."""
    for trace in report["traces"]:
        title = f"{trace['trace']}: {trace['references']:,} references, memory {trace['memory']:,}"
        table = Table(title=title, title_justify="left")
        for head in ("who", "hits", "hit ratio", "million a second"):
            table.add_column(head, justify="left" if head == "who" else "right")
        for who, cell in sorted(trace["who"].items(), key=lambda item: -item[1]["hits"]):
            rate = "" if cell["rate"] is None else f"{cell['rate'] / 1e6:.2f}"
            ratio = f"{cell['hits'] / trace['references']:.2%}"
            table.add_row(who, f"{cell['hits']:,}", ratio, rate)
        console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("bench/results/caching.json"))
    parser.add_argument("--quick", action="store_true", help="small traces, one memory each")
    given = parser.parse_args()
    found = folder()
    if found is None:
        raise SystemExit("no traces: set PENSTOCK_DATA to a folder that holds cache/*.gz")
    paths = sorted(found.glob("*.gz"))
    if given.quick:
        paths = [path for path in paths if path.name.split(".")[0] in SMALL]
    report = run(paths, (0.1,) if given.quick else SHARES, Console(stderr=True))
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(report, indent=1) + "\n")
    show(report, Console())


if __name__ == "__main__":
    main()
