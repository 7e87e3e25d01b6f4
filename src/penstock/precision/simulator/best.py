"""The best fixed width with hindsight: what a rule is measured by."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .kernel import Walk
from .run import Recorded, replay, simulate
from .workload import Workload

COARSE = 24  # widths tried first, evenly spread over the logarithm
FINE = 14  # then, by golden section
SEARCHED = 2_000_000  # source-steps of a walk that the search looks at for each width


class Fixed(NamedTuple):
    """A width, and what it costs per unit of time."""

    width: float  # 0: every change is sent; infinity: none is
    cost_rate: float


def best_fixed(
    workload: Workload,
    *,
    sources: int = 1,
    steps: int = 1_000_000,
    walk: Walk | None = None,
    recorded: Recorded | None = None,
) -> Fixed:
    """Return the fixed width, the same for all sources, that would have cost least.

    The search sees the same walk, or the same recording, and the same queries as a rule would.

    >>> found = best_fixed(Workload(period=2, delta=20), steps=100_000)
    >>> 5.5 < found.width < 6.5
    True
    """
    walk = walk or Walk()
    if recorded is not None:
        step = typical_step(recorded)
        series = recorded

        def cost(width: float) -> float:
            return replay(f"static:width={float(width)!r}", workload, series).cost_rate

        sources = recorded.sources
    else:
        step = walk.large
        searched = min(steps, max(SEARCHED // sources, 20_000))

        def cost(width: float) -> float:
            rule = f"static:width={float(width)!r}"
            return simulate(rule, workload, sources=sources, steps=searched, walk=walk).cost_rate

    load = workload.load(sources)
    widest = max(4 * load.high, 40 * step, 1e-12)
    found = _search(cost, min(load.high / load.asked or step, step) / 50, widest)
    if recorded is None and searched < steps:
        rule = f"static:width={found.width!r}"
        whole = simulate(rule, workload, sources=sources, steps=steps, walk=walk)
        found = Fixed(found.width, whole.cost_rate)
    return found


def typical_step(recorded: Recorded) -> float:
    """Return the average change from one reading of a source to the next."""
    order = np.argsort(recorded.source, kind="stable")
    change = np.abs(np.diff(recorded.value[order]))[np.diff(recorded.source[order]) == 0]
    change = change[change > 0]
    return float(change.mean()) if len(change) else 1.0


def _search(cost: Callable[[float], float], low: float, high: float) -> Fixed:
    """Try widths all over the place, then narrow down on the best; also 0 and infinity."""
    tried = {width: cost(width) for width in (0.0, math.inf, *np.geomspace(low, high, COARSE))}
    best = min(tried, key=lambda width: tried[width])
    if 0 < best < math.inf:
        ratio = (high / low) ** (1 / (COARSE - 1))
        _golden(cost, math.log(best / ratio), math.log(best * ratio), tried)
        best = min(tried, key=lambda width: tried[width])
    return Fixed(float(best), tried[best])


def _golden(
    cost: Callable[[float], float], left: float, right: float, tried: dict[float, float]
) -> None:
    """Look for the least cost between two logarithms, noting every width that was tried."""
    share = (math.sqrt(5) - 1) / 2

    def at(x: float) -> float:
        width = math.exp(x)
        if width not in tried:
            tried[width] = cost(width)
        return tried[width]

    for _ in range(FINE):
        a, b = right - share * (right - left), left + share * (right - left)
        if at(a) <= at(b):
            right = b
        else:
            left = a
