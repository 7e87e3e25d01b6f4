"""Figure 6: what a value is worth to a cache whose references are a random walk with drift."""

from typing import Any

import numpy as np

from penstock.models import Walk
from penstock.models.benefit import Lasting

from ..theory.heeb import direct
from .frame import Experiment, Found, judge
from .lab import Lab
from .style import lines

ALPHA = 10
DRIFTS = (0, 2, 4)


def run(lab: Lab) -> Found:
    """Work out the curves by their definition."""
    away = np.arange(-10, 31)
    worth = {
        drift: direct(Walk.normal(drift, 1), away, [0], Lasting("exp", ALPHA), caching=True)
        for drift in DRIFTS
    }
    centre = {drift: float((away * h).sum() / h.sum()) for drift, h in worth.items()}
    at = dict(zip(away.tolist(), range(len(away)), strict=True))
    by_distance = worth[0][np.argsort(abs(away), kind="stable")]
    peaks = {
        f"{times} x 4": bool(
            worth[4][at[4 * times]] > max(worth[4][at[4 * times + i]] for i in (-1, 1))
        )
        for times in (1, 2, 3, 4)
    }

    def draw(figure: Any) -> None:
        curves = {f"drift {drift}": (away, h) for drift, h in worth.items()}
        x = "value, from the last reference"
        lines(figure.subplots(), curves, x, "worth H of keeping it", labels=str, plain=True)

    return Found(
        [
            {"drift": d, "offset": int(v), "worth": float(h)}
            for d in DRIFTS
            for v, h in zip(away, worth[d])
        ],
        draw,
        [
            judge(
                "a larger drift makes values to the right more desirable",
                [centre[0] < centre[2] < centre[4]],
                "centre of the curve at " + ", ".join(f"{centre[d]:.1f}" for d in DRIFTS),
            ),
            judge(
                "values a multiple of the drift away get some extra preference",
                peaks,
                "peaks at 4, 8, 12 and 16 looked for with drift 4",
            ),
            judge(
                "without drift values rank by their distance, which is optimal",
                [bool((np.diff(by_distance) <= 1e-12).all())],
                f"H falls from {by_distance[0]:.3f} to {by_distance[-1]:.3f}",
            ),
        ],
        [f"α is {ALPHA}: the paper sets it to the size of the cache and names none here."],
    )


HEEB_6 = Experiment("heeb-6", "HEEB", "figure 6", "worth of values, random walk with drift", run)
