"""Advice and verdicts made up by hand, so that pages can be tested without replaying anything."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from penstock.advisor import Advice, Curve, Streams
from penstock.report.history import QueryHistory

ROWS = np.array([100, 1000, 10_000, 50_000])


def advice(
    problem="joining",
    name="<b>views & clicks",
    whole=False,
    target=0.9,
    goal="pairs",
    both=False,
    hot=0.3,
) -> Advice:
    """Return advice; with `both` it also has what is not the goal, at half the height."""
    most = 1.0 if problem == "joining" else 0.8
    streams = Streams(
        problem, name, (400_000, 300_000), 5000, 40_000.0, 50_000, most, 0.9, 0.04, 30.0,
        "join(left, right, budget={budget}, policy={policy!r})",
    )  # fmt: skip
    error = np.zeros(4) if whole else np.array([0.02, 0.03, 0.02, 0.0])
    curves = [
        Curve("prob", ROWS, np.array([0.3, 0.7, 0.95, 1.0]) * most, error),
        Curve("lru", ROWS, np.array([0.1, 0.4, 0.8, 1.0]) * most, error),
        Curve("gdj:percentile=0.1", ROWS, np.array([0.35, 0.5, 0.7, 1.0]) * most, error),
    ]
    if both:
        halves = np.array([0.5, 0.5, 0.5, 1.0])
        curves = [
            replace(each, beside=Curve(each.policy, ROWS, each.share * halves, error))
            for each in curves
        ]
    sampled = {"rows": 200_000, "stretches": 6, "weight": 8, "whole": whole}
    return Advice(streams, target, curves, sampled, ["the data is short"], goal, hot)


def experiment(folder: Path) -> dict:
    """Return the record of an experiment whose figure, a wide one, is in the folder."""
    Image.new("RGB", (900, 300), "white").save(folder / "tiny.png")
    verdicts = [
        {"claim": "a < b & c", "verdict": "holds", "ours": "1 to 2"},
        {"claim": "it rises", "verdict": "holds in part", "ours": "; not: " + "roof at 1, " * 30},
        {"claim": "it shines", "verdict": "does not hold here", "ours": "no sun"},
    ]
    return {
        "name": "tiny",
        "paper": "HEEB",
        "figure": "figure 99",
        "what": "nothing <b>much",
        "verdicts": verdicts,
        "notes": ["Not in any paper."],
        "quick": True,
    }


def join_sample(number, at, arrivals=1000.0, recall=0.93, before=None, **more):
    """Return a sample of a join after so many micro-batches, each of `arrivals` rows a side."""
    last = before["figures"] if before else None
    evicted = 0.4 * arrivals
    grown = {"arrived": arrivals, "late": 1.0, "evicted": evicted, "rejected": 0.1 * evicted}
    totals = {
        name: [round((last[name][side] if last else 0) + each) for side in (0, 1)]
        for name, each in grown.items()
    }
    in_force = {"buckets": {"rate": 3, "prob": 1}, "scores": {"lru": 0.91, "gdj": 0.97}}
    figures = totals | {
        "matches": (last["matches"] if last else 0) + round(arrivals * recall),
        "recall": recall + 0.02,
        "recall_low": recall - 0.01,
        "recall_high": recall + 0.04,
        "row_recall": [0.9, 0.95],
        "rows_matched": [10, 10],
        "rows_held": min(50_000, 4000 * (number + 1)),
        "bytes_held": 4_000_000,
        "budget": 50_000,
        "in_bytes": False,
        "policy": "auto",
        "goal": "pairs",
        "hot_pairs": 0.3,
        "expired": [5, 5],
        "hottest": [
            {"key": "<script>alert(1)</script>", "share": 0.12},
            {"key": "b", "share": 0.1},
        ],
        "in_force": in_force | {"switches": 2},
    }
    seconds = {"addBatch": 1.2, "queryPlanning": 0.1, "walCommit": 0.05, "latestOffset": 0.02}
    recent = {"recall": recall, "low": recall - 0.03, "high": recall + 0.03}
    return {
        "at": float(at),
        "batch": number,
        "seconds": seconds | {"triggerExecution": 1.5 + arrivals / 10_000},
        "rates": [arrivals, 1.5 * arrivals],
        "waiting": 0,
        "recent": recent | {"gone": 2 * evicted, "arrivals": 2 * arrivals, "late": 2.0},
        "figures": figures | more,
    }


ABOUT = {"id": "7f", "run": "1", "name": "views & <clicks>", "kind": "join", "state": "running"}


def course(count=80, fall=50, path=None, start=1_700_000_000, **about) -> QueryHistory:
    """Return the history of a join whose arrivals double after some samples, and recall falls."""
    made = QueryHistory(ABOUT | {"error": None} | about, path)
    sample = None
    for number in range(count):
        arrivals, recall = (1000.0, 0.93) if number < fall else (2000.0, 0.71)
        wiggle = 0.01 * ((number * 7) % 5 - 2)
        sample = join_sample(number, start + 15 * number, arrivals, recall + wiggle, sample)
        made.add(sample)
    return made


def _sample(number, figures):
    seconds = {"addBatch": 1.0, "triggerExecution": 1.2}
    at = 1_700_000_000.0 + 10 * number
    rates = [100.0, 200.0]
    return {"at": at, "batch": number, "seconds": seconds, "rates": rates, "figures": figures}


def lookup_sample(number):
    """Return a sample of a lookup."""
    counted = ("events", "hits", "misses", "found", "calls", "retries", "keys_asked", "evicted")
    figures = dict.fromkeys((*counted, "rejected", "expired"), 50 * (number + 1))
    in_force = {"buckets": {"lru": 2}, "scores": {}, "switches": 0}
    held = {"rows_held": 80, "bytes_held": 800, "budget": 100, "in_bytes": False}
    ages = {"staleness_p50": 0.2, "staleness_p99": None}
    saved = {"bytes_saved": 4000, "bytes_fetched": 1000, "goal": "costs"}
    saved |= {"cost_saved": 30 * number, "cost_fetched": 10 * number}
    return _sample(
        number,
        figures | held | ages | saved | {"in_force": in_force, "policy": "lru", "null_keys": 0},
    )


def thin_sample(number):
    """Return a sample of a thinning."""
    counted = ("readings", "queries", "above", "below", "asked", "spoke", "first", "late", "keys")
    return _sample(number, dict.fromkeys((*counted, "bytes_held"), 10 * (number + 1)))
