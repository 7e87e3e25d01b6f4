"""Advice and verdicts made up by hand, so that pages can be tested without replaying anything."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from penstock.advisor import Advice, Curve, Streams

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
