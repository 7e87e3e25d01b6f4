"""What equal shares cost a lookup: the hit ratio of many buckets beside that of one.

python bench/lookup_shares.py --json bench/results/lookup_shares.json       # ten minutes

A cache holds a row once, however hot its key is, so buckets need about as much as each other.
Budgets are shares of the keys that there are. Recorded references lie in the folder that
PENSTOCK_DATA names, else in ../shared/data; those that are not there are left out.
"""

import argparse
import itertools
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from penstock.engine import Lookup
from penstock.engine.ledger import split_budget
from penstock.spark.runtime.labels import bucket_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.shares import BUCKETS, KEYS, ROWS
from papers.quality import recorded

POLICIES = ("lru", "s3fifo", "rate")
BUDGETS = (0.01, 0.1)
RECORDED = ("lirs_sprite", "cloudPhysicsIO", "arc_OLTP")


def zipf(power: float) -> np.ndarray:
    """Draw references by rank."""
    rng = np.random.default_rng(1)
    weight = 1 / np.arange(1, KEYS + 1) ** power
    return rng.permutation(KEYS)[rng.choice(KEYS, ROWS, p=weight / weight.sum())]


def references() -> dict[str, Callable[[], np.ndarray]]:
    """Return what can be looked up here, by name."""
    real = recorded.caches()
    drawn = {f"zipf {power}": partial(zipf, power) for power in (0.8, 1.0, 1.3)}
    return drawn | {name: real[name] for name in RECORDED if name in real}


def hit_ratio(keys: np.ndarray, policy: str, buckets: int, budget: int) -> float:
    """Return the share of references that hit, with equal shares for all buckets."""
    place = bucket_of(keys, buckets)
    hits = 0
    for number, share in enumerate(split_budget(budget, buckets)):
        engine = Lookup(policy, share, seed=number)
        hits += int(engine.push(keys[place == number]).hit.sum())
    return hits / len(keys)


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures here")
    chosen = parser.parse_args()
    shown = Table("references", "policy", "rows held", "hit ratio", *map(str, BUCKETS[1:]))
    found = []
    for (name, read), policy in track(list(itertools.product(references().items(), POLICIES))):
        keys = read()[:ROWS]
        different = len(np.unique(keys))
        for part in BUDGETS:
            budget = max(BUCKETS[-1], round(part * different))
            ratios = {n: hit_ratio(keys, policy, n, budget) for n in BUCKETS}
            found.append({"references": name, "policy": policy, "budget": budget, "hits": ratios})
            beside = [f"{ratios[n] / ratios[1]:.3f}" for n in BUCKETS[1:]]
            shown.add_row(name, policy, f"{budget:,}", f"{ratios[1]:.3f}", *beside)
    Console(width=120).print(shown)
    if chosen.json:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
