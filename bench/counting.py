"""How fast keys are counted, and how many are held beside what was foretold.

Run: python bench/counting.py [--items N] [--json FILE]
With `pip install datasketches` its frequent items are measured on the same keys.
"""

import argparse
import json
import platform
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from papers.theory.lossy_space import equation_5, theorem_2
from penstock.profile.lossy import LossyCounter, steady_entries

SKEWS = (0.8, 1.1, 1.3, 1.5)
EPSILONS = (0.01, 0.001, 0.0001, 0.00001)
BATCH = 100_000


def zipf(domain: int, z: float) -> np.ndarray:
    weight = np.arange(1, domain + 1) ** -z
    return weight / weight.sum()


def draw(popularity: np.ndarray, items: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    rank = np.searchsorted(np.cumsum(popularity), random.random(items))
    names = random.integers(-(1 << 62), 1 << 62, len(popularity))  # keys are no small numbers
    return names[np.minimum(rank, len(popularity) - 1)]


def measure(keys: np.ndarray, epsilon: float) -> tuple[float, LossyCounter]:
    best = np.inf
    for _ in range(3):
        counter = LossyCounter(epsilon)
        start = time.perf_counter()
        for first in range(0, len(keys), BATCH):
            counter.push(keys[first : first + BATCH])
        best = min(best, time.perf_counter() - start)
    return len(keys) / best, counter


def speeds(items: int) -> list[dict]:
    rows = []
    for z in SKEWS:
        keys = draw(zipf(1_000_000, z), items, seed=1)
        for epsilon in EPSILONS:
            speed, counter = measure(keys, epsilon)
            row = {"z": z, "epsilon": epsilon, "items_per_second": round(speed)}
            rows.append(row | {"peak": counter.peak})
            print(
                f"z {z}  epsilon {epsilon:<7}  {speed / 1e6:6.1f} M items/s  peak {counter.peak:,}"
            )
    return rows


def spaces(domain: int = 3000, items: int = 100_000, epsilon: float = 0.001) -> list[dict]:
    """The paper's setting of figure 4(a)."""
    rows = []
    for z in (1.1, 1.3, 1.5):
        popularity = zipf(domain, z)
        counter = LossyCounter(epsilon)
        counter.push(draw(popularity, items, seed=2))
        row = {
            "z": z,
            "peak": counter.peak,
            "peak_pruned": counter.peak_pruned,
            "steady_entries": steady_entries(popularity, epsilon),
            "equation_5": equation_5(popularity, epsilon, int(items * epsilon)),
            "theorem_2": theorem_2(epsilon, z),
        }
        rows.append(row)
        print("  ".join(f"{name} {value:,.4g}" for name, value in row.items()))
    return rows


def sketches(items: int) -> list[dict]:
    """DataSketches takes one item at a time from Python."""
    if find_spec("datasketches") is None:
        return []
    from datasketches import frequent_items_sketch

    rows = []
    keys = draw(zipf(1_000_000, 1.1), min(items, 1_000_000), seed=1).tolist()
    for size in (10, 12, 14):
        sketch = frequent_items_sketch(size)
        start = time.perf_counter()
        for key in keys:
            sketch.update(key)
        speed = len(keys) / (time.perf_counter() - start)
        row = {"lg_max_k": size, "epsilon": sketch.epsilon, "items_per_second": round(speed)}
        rows.append(row | {"held": sketch.num_active_items})
        print(f"datasketches {rows[-1]}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=5_000_000)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    LossyCounter(0.1).push(np.zeros(10, np.int64))  # compiles
    report = {
        "machine": platform.node(),
        "speeds": speeds(chosen.items),
        "spaces": spaces(),
        "datasketches": sketches(chosen.items),
    }
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
