"""RATE beside its corners and other policies, on many streams and in many memories.

python bench/rate.py --json bench/results/rate.json     # some minutes; --quick: fewer of all

Joins: one tuple a side a step where nothing else is said, the share of all results that each policy
finds, over the whole stream. Caches: the share of references that hit. Real data lies in the folder
that PENSTOCK_DATA names; without it those streams are left out.
"""

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from penstock.engine import Join, Lookup
from penstock.simulate.skewed import locality
from penstock.simulate.traces import interleave

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.tuning_streams import DATA, Rows, Stream, caches, generated, skewed, stock

CORNERS = ("rate:half_life=inf", "rate:half_life=1000", "rate:half_life=30", "rate:remains=yes")
JOINED = ("rate", *CORNERS, "prob", "lba", "lru", "gdj:percentile=0.1", "clock")
CACHED = ("rate", *CORNERS[:3], "lru", "lfu", "wtinylfu", "s3fifo", "lhd", "clock")
SPEED = ("rate", "prob", "lba")
HIGGS = DATA / "twostream" / "higgs-activity_time.txt.gz"


def local(steps: int, b: float, skew: float, dealt: bool, seed: int) -> Rows:
    """Draw streams of the locality model, `dealt` from one or apart."""
    trace = locality(steps, seed, b=b, alpha=skew, dealt=dealt)
    return trace.side, trace.key, trace.time, None


def higgs(steps: int) -> Rows:
    """Read replies and retweets by whom they are about, one of each a step."""
    keys: dict[str, list[int]] = {"RE": [], "RT": []}
    with gzip.open(HIGGS, "rt") as file:
        for line in file:
            _, about, _, kind = line.split()
            if kind in keys:
                keys[kind].append(int(about))
    steps = min(steps, *map(len, keys.values()))
    return *interleave([np.array(each[:steps]) for each in keys.values()]), None


def joins(steps: int) -> Iterator[Stream]:
    """Yield the streams to be joined, each with its memories."""
    for name, b, skew, dealt in (
        ("uniform, b = 0.3, dealt", 0.3, 0.0, True),
        ("uniform, b = 0.3, apart", 0.3, 0.0, False),
        ("zipf 0.75, b = 0.3, dealt", 0.3, 0.75, True),
        ("zipf 1, b = 0.3, dealt", 0.3, 1.0, True),
        ("zipf 0.75", 1.0, 0.75, False),
        ("zipf 1", 1.0, 1.0, False),
    ):
        for a_side in (200, 20):
            make = partial(local, steps, b, skew, dealt)
            yield Stream(f"{name}, {a_side} a side", make, 2 * a_side, {"within": 1000})
    for budget in (400, 100):
        yield Stream(
            f"GDJ's generator, {budget}", partial(skewed, steps, {}), budget, {"within": 1000}
        )
    for name, budget in (("tower", 10), ("roof", 10), ("walk", 100)):
        make = partial(generated, name, steps)
        yield Stream(f"{name}, {budget}", make, budget, {"together": True})
    real: list[tuple[str, Any, tuple[tuple[int, int], ...]]] = []
    if HIGGS.exists():
        real.append(("higgs", lambda: higgs(60_000), ((1000, 50), (1000, 200))))
    if (DATA / "twostream").is_dir():
        real.append(("stock", stock, ((5000, 500), (1000, 200), (1000, 50))))
    for name, read, memories in real:
        for within, a_side in memories:
            for layout in ("unified", "split"):
                title = f"{name}, {within}, {a_side} a side, {layout}"
                options = {"within": within, "layout": layout}
                yield Stream(
                    title, lambda seed, read=read: read(), 2 * a_side, options, drawn=False
                )


def join(stream: Stream, rows: Rows, policy: str | None) -> int:
    """Return the results of a policy; without one, of a memory without limit."""
    options = dict(stream.options)
    if policy is None:
        options.pop("layout", None)
    engine = Join(policy or "fifo", stream.budget if policy else None, **options)
    side, key, at, end = rows
    engine.push(side, key, at, end=end, emit=False)
    return engine.results


def joined(stream: Stream) -> dict[str, float]:
    rows = stream.make(1)
    full = join(stream, rows, None)
    return {policy: join(stream, rows, policy) / full for policy in JOINED}


def cached(stream: Stream) -> dict[str, float]:
    keys = stream.make(1)
    found = {}
    for policy in CACHED:
        cache = Lookup(policy, stream.budget)
        cache.push(keys, emit=False)
        found[policy] = cache.hits / len(keys)
    return found


def speeds(budgets: tuple[int, ...]) -> Iterator[tuple[str, int, float]]:
    """Yield the tuples a second of processor time, by budget, half of the keys being new."""
    random = np.random.default_rng(1)
    for budget in budgets:
        measured = max(200_000, budget // 2)
        rows = 4 * budget + measured
        side, at = random.integers(0, 2, rows), np.arange(rows)
        key = (random.pareto(0.6, rows) * budget / 20).astype(np.int64) % (1 << 60)
        for policy in SPEED:
            engine = Join(policy, budget, within=4 * budget)
            warm = 4 * budget
            engine.push(side[:warm], key[:warm], at[:warm], emit=False)
            began = time.process_time()  # the machine may be shared
            engine.push(side[warm:], key[warm:], at[warm:], emit=False)
            yield policy, budget, measured / (time.process_time() - began)


def table(console: Console, title: str, streams: Iterable[Stream], measure: Any) -> dict[str, Any]:
    """Measure one stream after another and print each as soon as it is known."""
    report = {}
    for stream in streams:
        found = measure(stream)
        if not report:
            console.print(f"{title}\n{'':34}" + "".join(f"{short(each):>9}" for each in found))
        best = max(found.values())
        shares = (f"{share:8.3f}{'*' if share == best else ' '}" for share in found.values())
        console.print(f"{stream.name:34}" + "".join(shares), highlight=False)
        report[stream.name] = found
    return report


def short(policy: str) -> str:
    """Return a name that fits over a column: of RATE's corners the value alone.

    >>> short("rate:half_life=30"), short("prob")
    ('30', 'prob')
    """
    name, _, tail = policy.partition(":")
    return tail.partition("=")[2].replace("yes", "remains") if name == "rate" and tail else name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("joins", "caches", "speed"))
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    console = Console(width=150)
    report: dict[str, Any] = {}
    if given.only in (None, "joins"):
        steps = 5_000 if given.quick else 20_000
        report["joins"] = table(console, "share of all results", joins(steps), joined)
    if given.only in (None, "caches") and (DATA / "cache").is_dir():
        report["caches"] = table(console, "hits", caches(given.quick), cached)
    if given.only in (None, "speed"):
        budgets = (1_000, 10_000) if given.quick else (1_000, 10_000, 100_000, 1_000_000)
        report["speed"] = {}
        for policy, budget, rate in speeds(budgets):
            console.print(f"{policy:8}{budget:>12,}{rate / 1e6:8.2f} M tuples/s")
            report["speed"][f"{policy}, {budget}"] = rate
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
