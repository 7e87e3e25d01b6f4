"""Work for grids: two drifting streams with normal noise, as the HEEB paper varies them."""

from typing import Any

from papers.grid import figures
from papers.printed import prepared
from penstock.models import Discrete
from penstock.simulate.comparison import measure
from penstock.simulate.drifting import drift, drift_models
from penstock.simulate.traces import JoinTrace

from .memory_shares import memory_shares


def simulate_drift(given: dict[str, Any]) -> dict[str, Any]:
    """Join two trends: `sd` of both noises, or `sd_r` and `sd_s`; `lag` of R; policy and memory.

    >>> cell = {"sd": 1, "length": 200, "run": 0, "policy": "heeb", "memory": 5}
    >>> simulate_drift(cell)["recall"] > 0.5
    True
    """
    trace, models = _streams(given)
    first = 2 * given.get("warmup", 4 * given["memory"])  # rows: two a step
    terms = {"seed": given["run"], "models": models}
    policy = prepared(given["policy"], trace, None, first)["policy"]
    return figures(measure(trace, policy, given["memory"], first=first, **terms))


def share_memory(given: dict[str, Any]) -> dict[str, Any]:
    """Tell which share of the memory R's tuples get on average.

    >>> cell = {"sd": 1, "lag": 0, "length": 200, "run": 0, "policy": "heeb", "memory": 5}
    >>> 0 < share_memory(cell)["share"] < 1
    True
    """
    trace, models = _streams(given)
    memory, first = given["memory"], 8 * given["memory"]
    terms: dict[str, Any] = {"first": first, "seed": given["run"], "models": models}
    held = memory_shares(trace, given["policy"], memory, **terms)
    return {"share": float(held[0] / held.sum())}


def _streams(given: dict[str, Any]) -> tuple[JoinTrace, Any]:
    lag = given.get("lag", 1)
    noises: dict[str, Any] = {
        f"noise_{side}": _noise(given.get(f"sd_{side}", given.get("sd", 1))) for side in ("r", "s")
    }
    trace = drift(given["length"], given["run"], lag=lag, **noises)
    return trace, drift_models(lag=lag, **noises)


def _noise(sd: float) -> Discrete:
    """Return noise that is bounded at three deviations, or at 10 where that is wider."""
    return Discrete.normal(sd, bound=max(10, round(3 * sd)))
