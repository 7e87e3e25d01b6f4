"""HEEB's alpha, found while it runs, beside every fixed one; and HEEB's speed.

How HEEB fares beside its rivals is `python -m papers reproduce heeb-8`.

python bench/stochastic.py --runs 50 --json bench/results/stochastic.json
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from papers.theory.sampling import sample
from penstock.engine import Join
from penstock.models import Discrete, Trend
from penstock.simulate.comparison import compare, summarise
from penstock.simulate.scenario import Scenario
from penstock.simulate.workloads import Generated

WORKLOADS = ("tower", "roof", "floor", "walk")
ALPHAS = (1, 2, 4, 8, 16, 32, 64)


def results_of(workload: str, policies: list[str], runs: int, memory: int = 10) -> dict[str, float]:
    """Return the mean results of each policy."""
    made = summarise(compare(Scenario(Generated(workload), "joining", memory), policies, runs))
    return {
        policy: each["results"]["mean"]
        for policy, each in zip(policies, made["policies"], strict=True)
    }


def results(runs: int, console: Console) -> dict:
    """Compare alpha=auto with every fixed one."""
    names = ["heeb", *(f"heeb:alpha={alpha}" for alpha in ALPHAS)]
    report = {}
    for workload in WORKLOADS:
        found = results_of(workload, names, runs)
        fixed = max(found[f"heeb:alpha={alpha}"] for alpha in ALPHAS)
        report[workload] = found | {"heeb / best alpha": found["heeb"] / fixed}
    table = Table(title=f"Results, memory 10, 5,000 steps, means of {runs} runs")
    for column in ("policy", *WORKLOADS):
        table.add_column(column, justify="left" if column == "policy" else "right")
    for name in [*names, "heeb / best alpha"]:
        cells = [report[workload][name] for workload in WORKLOADS]
        table.add_row(name, *(f"{x:.3f}" if x < 2 else f"{x:,.0f}" for x in cells))
    console.print(table)
    return report


def speed(budget: int, rows: int) -> float:
    """Return the tuples a second of a join on trends whose noise fills the budget."""
    sd = budget / 2
    models = tuple(Trend(1, 0, Discrete.normal(sd, int(4 * sd))) for _ in range(2))
    keys = np.stack([sample(model, rows // 2, seed) for seed, model in enumerate(models)], axis=1)
    side, time_of = np.tile([0, 1], rows // 2), np.repeat(np.arange(rows // 2), 2)
    join = Join(f"heeb:alpha={budget}", budget, models=models)
    warm = rows // 2
    join.push(side[:warm], keys.ravel()[:warm], time_of[:warm], emit=False)
    started = time.perf_counter()
    join.push(side[warm:], keys.ravel()[warm:], time_of[warm:], emit=False)
    assert join.counters["evicted"].sum() + join.counters["rejected"].sum() > 0
    return (rows - warm) / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    console = Console()
    report: dict = {"results": results(given.runs, console), "tuples_per_second": {}}
    _write(report, given.json)
    for budget, rows in ((10_000, 2_000_000), (1_000_000, 4_000_000)):
        report["tuples_per_second"][budget] = rate = speed(budget, rows)
        console.print(f"HEEB (trend, exp) at budget {budget:,}: {rate / 1e6:.2f} M tuples/s")
    _write(report, given.json)


def _write(report: dict, path: Path | None) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
