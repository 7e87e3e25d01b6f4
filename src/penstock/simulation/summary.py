"""A comparison in figures: the JSON object that `penstock simulate --json` promises."""

from math import isfinite
from statistics import fmean, stdev
from typing import Any

from ..core.gains import ROWS
from .contender import Contender
from .sweep import Run, Sweep


def summarise(sweep: Sweep, rows: bool = False) -> dict[str, Any]:
    """Return means over the runs as plain values.

    With `rows`, or if that is the goal, also how many rows were matched.
    """
    scenario, runs = sweep.scenario, sweep.runs
    by_rows = scenario.goal == ROWS
    return {
        "workload": scenario.source.title,
        "problem": scenario.problem,
        "memory": scenario.memory,
        "length": runs[0].steps,
        "warmup": scenario.warm_up,
        "runs": len(runs),
        **({"drop": scenario.drop} if scenario.drop else {}),
        **({"goal": scenario.goal} if by_rows else {}),
        "policies": [
            _score(who, place, runs, rows or by_rows) for place, who in enumerate(sweep.contenders)
        ],
    }


def _score(who: Contender, place: int, runs: list[Run], rows: bool) -> dict[str, Any]:
    played = [run.played[place] for run in runs]
    results = [each.results for each in played]
    recalls = [_recall(got, run.full) for got, run in zip(results, runs, strict=True)]
    seconds = sum(each.seconds for each in played)
    score = {
        "policy": who.name,
        "params": {name: _plain(value) for name, value in who.params.items()},
        "results": {"mean": fmean(results), "std": stdev(results) if len(results) > 1 else 0.0},
        "full": {"mean": fmean(run.full for run in runs)},
        "recall": {"mean": fmean(recalls)},
        "tuples_per_second": round(sum(each.rows for each in played) / max(seconds, 1e-9)),
    }
    if rows and played[0].matched is not None:
        score["matched"] = _matched([each.matched or 0 for each in played], runs)
    if played[0].explained is not None:
        score["explained"] = played[0].explained  # of the first run
    measured = [run.distortion[place] for run in runs if run.distortion]
    if measured:
        score["distortion"] = {
            "sse": {"mean": fmean(each.sse for each in measured)},
            "kl": {"mean": fmean(each.kl for each in measured)},
        }
    return score


def _matched(matched: list[int], runs: list[Run]) -> dict[str, float]:
    """Return rows that are in a result, how many could be, and the share of these."""
    shares = [_recall(got, run.matchable) for got, run in zip(matched, runs, strict=True)]
    return {
        "mean": fmean(matched),
        "full": fmean(run.matchable for run in runs),
        "recall": fmean(shares),
    }


def _recall(results: int, full: int) -> float:
    return results / full if full else 1.0  # of nothing, nothing was missed


def _plain(value: Any) -> Any:
    """Return a parameter's value as JSON knows it, which has no infinity."""
    return str(value) if isinstance(value, float) and not isfinite(value) else value
