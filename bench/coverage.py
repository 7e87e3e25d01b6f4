"""How often the interval of the live recall estimate contains the truth.

python bench/coverage.py --json bench/results/coverage.json   # over ten minutes; --seeds 50: fewer
python bench/coverage.py --goal rows --seeds 200              # the same joins, played for rows

Each run draws a stream, joins it in two buckets with a budget as Spark would, and compares the
intervals that `metrics` reports at the end, of pairs and of the rows of each side, with the recall
that an exact join tells. Every seed is another stream and another sample. Policies take turns
from seed to seed.
"""

import argparse
import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from penstock.engine import Join
from penstock.kernel.gains import GOALS, PAIRS
from penstock.spark.metrics import Metrics
from penstock.spark.runtime.join_bucket import JoinBucket

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.spark.plans import make_plan, packets, take, told

SECOND = 1_000_000
ROWS, KEYS, RATE = 3000, 500, 10  # rows a second
WITHIN = 100 * SECOND
WINDOW = WITHIN // SECOND * RATE  # rows
BUCKETS, BATCHES = 2, 4
POLICIES = ("fifo", "rand", "prob")
TIMES = {
    "distinct": SECOND // RATE,
    "whole seconds": SECOND,
    "whole minutes": 60 * SECOND,
    "constant": 10**6 * SECOND,
}
POWERS = (0.5, 0.9, 1.3, 1.5)
BUDGETS = (0.01, 0.05, 0.2, 0.5)
SHARE = 0.05

Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Cell(NamedTuple):
    """What is measured: how coarse times are, how skewed keys, how small the budget."""

    times: str
    power: float
    budget: float  # the share of the window
    sides: str = "alike"  # or "1 to 20": so many rows a side; "list": all keys alike on the left
    goal: str = PAIRS  # what the join gets the most of


class Run(NamedTuple):
    """One estimate, and the truth."""

    told: Metrics
    truth: float  # recall of pairs
    rows: tuple[float, ...]  # recall of the rows of each side

    @property
    def covers(self) -> bool:
        return self.told.recall_low <= self.truth <= self.told.recall_high

    @property
    def covers_rows(self) -> list[bool]:
        ends = zip(self.told.row_recall_low, self.rows, self.told.row_recall_high, strict=True)
        return [low <= truth <= high for low, truth, high in ends]

    @property
    def row_widths(self) -> list[float]:
        ends = zip(self.told.row_recall_low, self.told.row_recall_high, strict=True)
        return [high - low for low, high in ends]


def cells(goal: str) -> Iterator[Cell]:
    """Yield what the documentation promises, then streams whose sides differ."""
    for times, power, budget in itertools.product(TIMES, POWERS, BUDGETS):
        yield Cell(times, power, budget, goal=goal)
    for sides, power, budget in itertools.product(("1 to 20", "list"), (0.9, 1.5), (0.05, 0.5)):
        yield Cell("whole seconds", power, budget, sides, goal)


def drawn(cell: Cell, seed: int) -> Columns:
    """Draw a stream whose keys are popular by rank; their names differ with the seed."""
    rng = np.random.default_rng(seed)
    weight = 1 / np.arange(1, KEYS + 1) ** cell.power
    names = rng.integers(-(2**62), 2**62, KEYS)
    rank = rng.choice(KEYS, ROWS, p=weight / weight.sum())
    side = (rng.random(ROWS) < {"alike": 1 / 2, "1 to 20": 20 / 21, "list": 4 / 5}[cell.sides]) * 1
    if cell.sides == "list":
        rank = np.where(side == 0, rng.integers(0, KEYS, ROWS), rank)
    time = np.arange(ROWS) * SECOND // RATE
    time -= time % TIMES[cell.times]
    return side, names[rank], time, np.arange(ROWS)


def run(cell: Cell, seed: int, share: float = SHARE) -> Run:
    """Return the estimate after the last of a stream's micro-batches."""
    window = ROWS if cell.times == "constant" else WINDOW
    plan = make_plan(
        policy=POLICIES[seed % len(POLICIES)],
        goal=cell.goal,
        budget=max(BUCKETS, round(cell.budget * window)),
        within=WITHIN,
        sample=share,
        buckets=BUCKETS,
        seed=seed,
    )
    columns = drawn(cell, seed)
    totals: Counter[str] = Counter()
    everything, rows = 0, np.zeros(2)
    for number in range(BUCKETS):
        mine = [column[columns[1] % BUCKETS == number] for column in columns]
        exact = Join(within=WITHIN)
        exact.push(*mine[:3], emit=False)
        everything += exact.results
        rows += exact.counters["rows_matched"]
        bucket = JoinBucket(plan, number)
        for part in np.array_split(np.arange(len(mine[0])), BATCHES):
            outcome = take(bucket, packets(*(column[part] for column in mine)))
        totals.update(outcome.totals)
    found = told(totals)
    return Run(found, found.matches / everything, tuple(found.rows_matched / rows))


def measure(cell: Cell, seeds: Iterable[int]) -> dict[str, Any]:
    """Return how often the interval of one cell contains the truth, and how wide it is."""
    runs = [run(cell, seed) for seed in seeds]
    width = [each.told.recall_high - each.told.recall_low for each in runs]
    error = [each.told.recall - each.truth for each in runs if each.told.recall is not None]
    return cell._asdict() | {
        "runs": len(runs),
        "covered": sum(each.covers for each in runs) / len(runs),
        "recall": float(np.mean([each.truth for each in runs])),
        "width": float(np.mean(width)),
        "error": float(np.mean(error)),
        "rows_covered": float(np.mean([each.covers_rows for each in runs])),
        "rows_recall": float(np.mean([each.rows for each in runs])),
        "rows_width": float(np.mean([each.row_widths for each in runs])),
    }


def table(found: list[dict[str, Any]], of: str = "") -> Table:
    """Return one line per kind of stream, one column per budget; of pairs, or of `rows_`."""
    shown = Table("times", "sides", "zipf", *(f"{budget:.0%}" for budget in BUDGETS))
    by_cell = {Cell(*(each[name] for name in Cell._fields)): each for each in found}
    for kind in dict.fromkeys(cell._replace(budget=0) for cell in by_cell):
        mine = [by_cell.get(kind._replace(budget=budget)) for budget in BUDGETS]
        entries = (_entry(each, of) for each in mine)
        shown.add_row(kind.times, kind.sides, str(kind.power), *entries)
    return shown


def _entry(found: dict[str, Any] | None, of: str) -> str:
    if found is None:
        return ""
    recall, width = found[f"{of}recall"], found[f"{of}width"]
    return f"{found[f'{of}covered']:.1%} ({recall:.3f} ± {width / 2:.3f})"


def main() -> None:
    """Measure every cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=400, help="runs per cell")
    parser.add_argument("--goal", choices=GOALS, default=PAIRS, help="what the joins get most of")
    parser.add_argument("--json", type=Path, help="write the figures here")
    chosen = parser.parse_args()
    found = [measure(cell, range(chosen.seeds)) for cell in track(list(cells(chosen.goal)))]
    for of in ("", "rows_"):
        Console(width=200).print(table(found, of))
    if chosen.json:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
