"""How many tuples a second each policy takes, joining and caching, beside libCacheSim.

One trace serves all budgets, so that only the memory differs between columns. Each figure is the
best of several stretches of the trace, after the memory has been filled: the machine is shared,
and what it can do is closer to the best than to the mean. libCacheSim replays the same references
from a binary trace in its own C++ loop, in the same run.

With `--beside DIR` this checkout is compared with another one instead, by turns (`turns.py`), which
takes some 5 minutes: `git worktree add ../before COMMIT; bench/policies.py --beside ../before`.
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import turns
from bench.measured import Measured, as_html
from penstock import Join, Lookup, policies

BUDGETS = (1_000, 100_000, 1_000_000)
STRETCHES = 32
TURNS = (1_000, 100_000)  # budgets for which two checkouts are compared,
TURNS_LENGTH = 1_200_000  # with so many rows
RIVALS = {"fifo": "FIFO", "lru": "LRU", "clock": "Clock", "sieve": "Sieve", "s3fifo": "S3FIFO"}
ORACLE_ROW = np.dtype([("time", "<u4"), ("key", "<u8"), ("size", "<u4"), ("next", "<i8")])


def joining_trace(length: int, seed: int = 1) -> tuple[np.ndarray, ...]:
    """Two streams of equal rate over two million keys: 0.25 matches a tuple at a million held."""
    random = np.random.default_rng(seed)
    side = random.integers(0, 2, length).astype(np.int8)
    return side, random.integers(0, 2_000_000, length), np.arange(length)


def caching_trace(length: int, seed: int = 2) -> np.ndarray:
    """References by Zipf's law (exponent 0.8) over four million keys in no order."""
    random = np.random.default_rng(seed)
    weights = np.cumsum(np.arange(1, 4_000_001) ** -0.8)
    ranks = np.searchsorted(weights, random.random(length) * weights[-1])
    return random.permutation(4_000_000)[ranks]


def best_rate(push, length: int) -> float:
    """Return tuples a second in the best of the stretches at the end of the trace."""
    warm = length // 2
    push(0, warm)
    size = (length - warm) // STRETCHES
    seconds = []
    for start in range(warm, warm + STRETCHES * size, size):
        began = time.perf_counter()
        push(start, start + size)
        seconds.append(time.perf_counter() - began)
    return size / min(seconds)


def measure_joining(policy: str, budget: int, trace) -> dict:
    side, key, at = trace
    join = Join(policy, budget, within=len(side))
    rate = best_rate(lambda a, b: join.push(side[a:b], key[a:b], at[a:b], emit=False), len(side))
    return {"tuples_per_second": rate, "results": join.results}


def measure_caching(policy: str, budget: int, keys: np.ndarray) -> dict:
    cache = Lookup(policy, budget)
    rate = best_rate(lambda a, b: cache.push(keys[a:b], emit=False), len(keys))
    return {"tuples_per_second": rate, "hits": cache.hits}


class Rival:
    """libCacheSim over a binary trace of the same references."""

    def __init__(self, keys: np.ndarray, folder: Path):
        import libcachesim

        self.library = libcachesim
        rows = np.zeros(len(keys), ORACLE_ROW)
        rows["time"], rows["key"], rows["size"], rows["next"] = (
            np.arange(len(keys)),
            keys + 1,
            1,
            -2,
        )
        self.path = folder / "trace.oracleGeneral.bin"
        self.path.write_bytes(rows.tobytes())
        self.length = len(keys)

    def measure(self, name: str, budget: int) -> dict:
        kind = self.library.TraceType.ORACLE_GENERAL_TRACE
        reader = self.library.TraceReader(str(self.path), kind)
        # Its hash table is as well sized for the budget as ours.
        bits = max(10, (2 * budget - 1).bit_length())
        cache = getattr(self.library, name)(cache_size=budget, hashpower=bits)
        hits = 0.0

        def push(start: int, stop: int) -> None:
            nonlocal hits
            misses, _ = cache.process_trace(reader, start, stop - start)
            hits += (1 - misses) * (stop - start)

        return {"tuples_per_second": best_rate(push, self.length), "hits": round(hits)}


def run(budgets: tuple[int, ...], length: int, names: list[str], console: Console) -> dict:
    """Measure everything and return the report."""
    joins, keys = joining_trace(length), caching_trace(length)
    report: dict = {"machine": platform.processor() or platform.machine(), "length": length}
    report |= {"joining": {}, "caching": {}, "libcachesim": {}}
    chosen = [p for p in policies.BUILT_IN if p.name in names]
    with tempfile.TemporaryDirectory() as folder, Progress(console=console) as progress:
        rival = Rival(keys, Path(folder))
        task = progress.add_task("measuring", total=len(chosen) * len(budgets))
        for policy in chosen:
            for budget in budgets:
                if "joining" in policy.problems:
                    cell = measure_joining(policy.name, budget, joins)
                    report["joining"].setdefault(policy.name, {})[str(budget)] = cell
                if "caching" in policy.problems:
                    cell = measure_caching(policy.name, budget, keys)
                    report["caching"].setdefault(policy.name, {})[str(budget)] = cell
                if policy.name in RIVALS:
                    cell = rival.measure(RIVALS[policy.name], budget)
                    report["libcachesim"].setdefault(policy.name, {})[str(budget)] = cell
                progress.advance(task)
    return report


def run_beside(
    folder: Path, budgets: tuple[int, ...], length: int, names: list[str], console: Console
) -> dict:
    """Measure this checkout and another one by turns, and return the report."""
    report: dict = {"beside": str(folder), "length": length, "joining": {}, "caching": {}}
    here, there = (turns.Checkout(each, length) for each in (turns.HERE, folder))
    try:
        both = there.ask("known")
        chosen = [p for p in policies.BUILT_IN if p.name in names and p.name in both]
        with Progress(console=console) as progress:
            task = progress.add_task("by turns", total=len(chosen) * len(budgets))
            for policy in chosen:
                for budget in budgets:
                    for problem in policy.problems:
                        cell = turns.compare(here, there, problem, policy.name, budget)
                        report[problem].setdefault(policy.name, {})[str(budget)] = cell
                    progress.advance(task)
    finally:
        here.end()
        there.end()
    return report


def tables_beside(report: dict, budgets: tuple[int, ...]) -> list[Measured]:
    """Return how many times as long each policy takes here, and whether it finds the same."""
    head = ["policy", *(f"{budget:,}" for budget in budgets), "same results"]
    found = []
    for problem in ("joining", "caching"):
        rows = []
        for name, cells in report[problem].items():
            each = [cells[str(budget)] for budget in budgets]
            longer = [f"{cell['longer']:.3f}" for cell in each]
            same = all(cell["same_results"] for cell in each)
            rows.append([name, *longer, "yes" if same else "no"])
        found.append(Measured(f"{problem}: times as long as {report['beside']}", head, rows))
    return found


def tables(report: dict, budgets: tuple[int, ...]) -> list[Measured]:
    """Return the report as one table per problem."""
    head = ["policy", *(f"{budget:,}" for budget in budgets), "slower from first to last"]
    rival = ["times libCacheSim", "same hits"]
    return [
        Measured("joining: million tuples a second", head, rows_of(report, "joining", budgets)),
        Measured(
            "caching: million tuples a second", head + rival, rows_of(report, "caching", budgets)
        ),
    ]


def rows_of(report: dict, problem: str, budgets: tuple[int, ...]) -> list[list[str]]:
    """Return a row for each policy; libCacheSim has some of those that cache."""
    rows = []
    for name, cells in report[problem].items():
        rates = [cells[str(budget)]["tuples_per_second"] / 1e6 for budget in budgets]
        row = [name, *(f"{rate:.2f}" for rate in rates), f"{rates[0] / rates[-1]:.1f}x"]
        if problem == "caching":
            row += beside(cells, report["libcachesim"].get(name), budgets)
        rows.append(row)
    return rows


def beside(cells: dict, others: dict | None, budgets: tuple[int, ...]) -> list[str]:
    """Return how much faster it is than libCacheSim, and whether hits are the same."""
    if others is None:
        return ["", ""]
    pairs = [(cells[str(budget)], others[str(budget)]) for budget in budgets]
    ratios = [ours["tuples_per_second"] / theirs["tuples_per_second"] for ours, theirs in pairs]
    same = all(ours["hits"] == theirs["hits"] for ours, theirs in pairs)
    return [" ".join(f"{ratio:.1f}" for ratio in ratios), "yes" if same else "no"]


def show(parts: list[Measured], console: Console) -> None:
    """Print the tables."""
    for part in parts:
        table = Table(part.head[0], title=part.title, title_justify="left")
        for name in part.head[1:]:
            table.add_column(name, justify="right")
        for row in part.rows:
            table.add_row(*row)
        console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to write the report")
    parser.add_argument("--html", type=Path, help="where to write it as a page")
    parser.add_argument("--length", type=int, help="tuples in the trace")
    parser.add_argument("--budgets", type=int, nargs="+")
    parser.add_argument("--beside", type=Path, metavar="DIR", help="another checkout, by turns")
    parser.add_argument("--policies", nargs="+", default=[p.name for p in policies.BUILT_IN])
    options = parser.parse_args()
    console = Console(stderr=True)
    if options.beside is not None:
        budgets, length = tuple(options.budgets or TURNS), options.length or TURNS_LENGTH
        folder = options.beside.resolve()
        report = run_beside(folder, budgets, length, options.policies, console)
        parts = tables_beside(report, budgets)
    else:
        budgets, length = tuple(options.budgets or BUDGETS), options.length or 6_000_000
        report = run(budgets, length, options.policies, console)
        parts = tables(report, budgets)
    show(parts, Console(file=sys.stdout))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    if options.html:
        machine = platform.processor() or platform.machine()
        about = f"{report['length']:,} tuples on one core of {machine}."
        options.html.write_text(as_html("Speed of every policy", about, parts), encoding="utf-8")


if __name__ == "__main__":
    main()
