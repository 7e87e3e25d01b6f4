"""A comparison in figures: the JSON object of `penstock simulate --json`."""

from math import isfinite
from statistics import fmean, stdev
from typing import Any

from ..core.gains import ROWS
from ..core.policy import Chosen
from .comparison import Comparison, Measured, share


def summarise(made: Comparison, rows: bool = False) -> dict[str, Any]:
    """Return means over the runs as plain values.

    With `rows`, or if that is the goal, also how many rows were matched.
    """
    scenario = made.scenario
    by_rows = scenario.goal == ROWS
    return {
        "workload": scenario.source.title,
        "problem": scenario.problem,
        "memory": scenario.memory,
        "length": made.length,
        "warmup": scenario.warm_up,
        "runs": len(made.runs),
        **({"drop": scenario.drop} if scenario.drop else {}),
        **({"goal": scenario.goal} if by_rows else {}),
        "policies": [
            _score(chosen, [run[place] for run in made.runs], rows or by_rows)
            for place, chosen in enumerate(made.policies)
        ],
    }


def _score(chosen: Chosen, runs: list[Measured], rows: bool) -> dict[str, Any]:
    played = [run.played for run in runs]
    results = [each.results for each in played]
    seconds = sum(each.seconds for each in played)
    score = {
        "policy": chosen.policy.name,
        "params": {name: _plain(value) for name, value in chosen.all_params.items()},
        "results": {"mean": fmean(results), "std": stdev(results) if len(results) > 1 else 0.0},
        "full": {"mean": fmean(run.full for run in runs)},
        "recall": {"mean": fmean(run.recall for run in runs)},
        "tuples_per_second": round(sum(each.rows for each in played) / max(seconds, 1e-9)),
    }
    if rows and played[0].matched is not None:
        score["matched"] = _matched(runs)
    if played[0].explained is not None:
        score["explained"] = played[0].explained  # of the first run
    measured = [run.distortion for run in runs if run.distortion is not None]
    if measured:
        score["distortion"] = {
            "sse": {"mean": fmean(each.sse for each in measured)},
            "kl": {"mean": fmean(each.kl for each in measured)},
        }
    return score


def _matched(runs: list[Measured]) -> dict[str, float]:
    """Return rows that are in a result, how many could be, and the share of these."""
    counts = [(run.played.matched or 0, run.matchable) for run in runs]
    return {
        "mean": fmean(matched for matched, _ in counts),
        "full": fmean(matchable for _, matchable in counts),
        "recall": fmean(share(*count) for count in counts),
    }


def _plain(value: Any) -> Any:
    """Return a parameter's value as JSON can hold it, which has no infinity."""
    return str(value) if isinstance(value, float) and not isfinite(value) else value
