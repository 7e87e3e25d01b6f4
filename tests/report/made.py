"""Advice made up by hand, so that pages can be tested without replaying anything."""

import numpy as np

from penstock.advisor import Advice, Curve, Streams

ROWS = np.array([100, 1000, 10_000, 50_000])


def advice(problem="joining", name="<b>views & clicks", whole=False, target=0.9) -> Advice:
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
    sampled = {"rows": 200_000, "stretches": 6, "weight": 8, "whole": whole}
    return Advice(streams, target, curves, sampled, ["the data is short"])
