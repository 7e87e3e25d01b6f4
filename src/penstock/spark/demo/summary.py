"""The demonstration as plain values, for JSON."""

from pathlib import Path
from typing import Any

from .flights import DEPARTURES, LANDINGS
from .live import DELAY, ON, SAMPLE, WITHIN, Run
from .run import Demo


def summarise(made: Demo, picture: Path) -> dict[str, Any]:
    """Return everything that the demonstration found."""
    return {
        "streams": [DEPARTURES, LANDINGS],
        "on": list(ON),
        "within": WITHIN,
        "delay": DELAY,
        "rows": made.streams.rows,
        "batches": made.streams.parts,
        "window": made.window,
        "budget": made.budget,
        "recall_sample": SAMPLE,
        "full": made.full,
        "seconds": round(made.seconds, 1),
        "picture": str(picture),
        "policies": [_summarise_run(made, run) for run in made.runs],
    }


def _summarise_run(made: Demo, run: Run) -> dict[str, Any]:
    figures = run.metrics
    return {
        "policy": run.policy,
        "results": figures.matches,
        "recall": made.recall(run),
        "estimated": {
            "recall": figures.recall,
            "low": figures.recall_low,
            "high": figures.recall_high,
            "holds_the_truth": made.holds(run),
        },
        "rows_matched": list(figures.rows_matched),
        "row_recall": list(made.row_recall(run)),
        "row_recall_estimated": [
            {"recall": told.share, "low": told.low, "high": told.high, "holds_the_truth": holds}
            for told, holds in zip(run.told[1:], made.held_by(run)[1:], strict=True)
        ],
        "hot_pairs": figures.hot_pairs,
        "note": figures.note,
        "arrived": sum(figures.arrived),
        "late": sum(figures.late),
        "expired": sum(figures.expired),
        "evicted": sum(figures.evicted),
        "refused": sum(figures.refused),
        "held": figures.rows_held,
        "most_held": run.most_held,
        "rows_per_second": round(run.rows_per_second),
        "seconds": round(run.seconds, 1),
    }
