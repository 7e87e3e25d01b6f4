"""Work for grids: interval caches over random walks and over recordings of many sources.

The paper's recording, the traffic of 50 hosts in two hours, is not to be had. Here, the 50 busiest
computers of a contest: connections a second, averaged over the last minute, second by second. Its
unit is chosen so that the highest level is 5,200, as the paper's is 5,200 K bytes a second; so the
paper's precisions can be taken over, K for unit. Without the data: walks that pause now and then.
"""

import functools
import gzip
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from papers.grid import Given, Work
from penstock.precision import Recorded, Workload, best_fixed, replay, simulate
from penstock.precision.simulator import WalkSteps

from .lab import Lab, Rows, data_folder

LOGS = tuple(f"netflow/zeek_wrccdc2018_{kind}.log.gz" for kind in ("dns", "ssl"))
SOURCES = 50
HIGHEST = 5200.0  # units: the paper's 5.2 million bytes a second, in thousands
MINUTE = 60
ASKS = ("period", "delta", "variation", "rho", "query", "asked", "capacity", "seed")


def hosts_or_walks() -> str:
    """Return which recording there is."""
    there = all((data_folder() / log).exists() for log in LOGS)
    return "hosts" if there else "pauses"


SEEDS = 3  # of the queries: which sources are asked, and how exactly


def averaged(lab: Lab, work: Work, cells: list[Given]) -> Rows:
    """Return cells with their mean cost over queries of several seeds."""
    seeds = range(lab.pick(SEEDS, 1))
    cost = lab.sweep(work, [cell | {"seed": n} for cell in cells for n in seeds]).column("cost")
    return Rows(
        cell | {"cost": fmean(cost[at * len(seeds) : (at + 1) * len(seeds)])}
        for at, cell in enumerate(cells)
    )


def workload_of(given: dict[str, Any]) -> Workload:
    """Return the queries that a cell asks."""
    return Workload(**{name: given[name] for name in ASKS if name in given})


def cache_walk(given: dict[str, Any]) -> dict[str, Any]:
    """Run a width rule on one random walk, or find the best fixed width (`rule` is "best").

    >>> cell = {"rule": "static:width=6", "period": 2, "delta": 20, "steps": 10_000}
    >>> 0 < cache_walk(cell)["p_vr"] < 0.2
    True
    """
    workload, steps = workload_of(given), given["steps"]
    if given["rule"] == "best":
        best = best_fixed(workload, steps=steps)
        return {"cost": best.cost_rate, "width": best.width}
    walk = WalkSteps(up=given.get("up", 0.5))
    found = simulate(given["rule"], workload, steps=steps, walk=walk, log=steps)
    return {
        "typical": geometric_width(found.refreshes),
        "cost": found.cost_rate,
        "width": found.mean_width,
        "p_vr": found.p_vr,
        "p_qr": found.p_qr,
    }


def geometric_width(refreshes: np.ndarray) -> float:
    """Return the geometric mean over time of the widths that refreshes set.

    A rule that doubles and halves moves by equal steps on a logarithmic scale, so this is the
    middle of its widths; their arithmetic mean lies above it.
    """
    if len(refreshes) < 2:
        return 0.0
    late = refreshes[len(refreshes) // 10 :]  # the first tenth is the way to the steady state
    lasted, width = np.diff(late["time"]), np.maximum(late["width"][:-1], 1e-12)
    return float(np.exp((lasted * np.log(width)).sum() / lasted.sum()))


def cache_recording(given: dict[str, Any]) -> dict[str, Any]:
    """Run a width rule on a recording; `exact:x=best` is [WJH97] at its best x from 3 to 45.

    >>> cell = {"data": "pauses", "seconds": 60, "rule": "static:width=9", "period": 1, "delta": 90}
    >>> cache_recording(cell)["cost"] > 0
    True
    """
    series, workload = recording(given["data"], given["seconds"]), workload_of(given)
    if given["rule"] == "exact:x=best":
        return {
            "cost": min(replay(f"exact:x={x}", workload, series).cost_rate for x in range(3, 46, 3))
        }
    return {"cost": replay(given["rule"], workload, series).cost_rate}


def cache_updates(given: dict[str, Any]) -> dict[str, Any]:
    """Run a rule on stale copies: what counts of a recording is how often each source changed.

    >>> cell = {"data": "pauses", "seconds": 60, "rule": "static:width=9", "period": 1, "delta": 90}
    >>> cache_updates(cell)["cost"] > 0
    True
    """
    series = updates(given["data"], given["seconds"])
    return {"cost": replay(given["rule"], workload_of(given), series).cost_rate}


@functools.lru_cache(maxsize=2)
def recording(name: str, seconds: int) -> Recorded:
    """Return a recording's first seconds: hosts, walks, or walks with pauses."""
    if name == "hosts":
        return table(levels()[:seconds])
    return table(walks(seconds, pauses=name == "pauses"))


@functools.lru_cache(maxsize=2)
def updates(name: str, seconds: int) -> Recorded:
    """Return how often each source of a recording has changed so far, at each of its changes."""
    rows = recording(name, seconds)
    values = rows.value.reshape(-1, SOURCES)
    changed = np.vstack([np.ones((1, SOURCES), bool), values[1:] != values[:-1]])
    second, source = np.nonzero(changed)
    count = np.cumsum(changed, axis=0)[second, source]
    return Recorded(second + 1.0, source, count.astype(np.float64))


def table(values: np.ndarray) -> Recorded:
    """Return values[second, source] as readings."""
    steps, n = values.shape
    times = np.repeat(np.arange(1.0, steps + 1), n)
    return Recorded(times, np.tile(np.arange(n), steps), values.reshape(-1))


def walks(steps: int, n: int = SOURCES, pauses: bool = False) -> np.ndarray:
    """Return random walks, float64[steps, n]; with pauses each of them rests now and then."""
    random = np.random.default_rng(1)
    moves = random.uniform(0.5, 1.5, (steps, n)) * random.choice([-1, 1], (steps, n))
    if not pauses:
        return np.cumsum(moves, axis=0)
    active = np.zeros((steps, n), bool)
    for source in range(n):
        now, on = 0, bool(random.random() < 0.3)
        while now < steps:
            end = now + 1 + int(random.exponential(40 if on else 100))
            active[now:end, source] = on
            now, on = end, not on
    return np.cumsum(moves * active, axis=0)


@functools.lru_cache(maxsize=1)
def levels(n: int = SOURCES) -> np.ndarray:
    """Return the traffic of the busiest hosts in units: float64[seconds, n]."""
    found = traffic([data_folder() / log for log in LOGS], n)
    return found * (HIGHEST / found.max())


def traffic(logs: list[Path], n: int) -> np.ndarray:
    """As section 4.3: what a host did in the last minute, second by second, busiest hosts first."""
    when, who = [], []
    for log in logs:
        with gzip.open(log, "rt") as lines:
            for line in lines:
                if not line.startswith("#"):
                    fields = line.split("\t")
                    when.append(float(fields[0]))
                    who.append(fields[2])
    second = (np.array(when) - min(when)).astype(int)
    _, host, busy = np.unique(who, return_inverse=True, return_counts=True)
    found = []
    for h in np.argsort(-busy)[:n]:
        count = np.bincount(second[host == h], minlength=second.max() + 1)
        total = np.cumsum(np.concatenate((np.zeros(MINUTE), count)))
        found.append((total[MINUTE:] - total[:-MINUTE]) / MINUTE)
    return np.array(found).T
