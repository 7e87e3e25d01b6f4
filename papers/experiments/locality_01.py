"""Figure 1: popularity, and how soon values come again, in a stream and in a random order."""

from typing import Any

import numpy as np

from penstock.profile.distances import distances
from penstock.profile.ranked import permuted

from .frame import Experiment, Found, judge
from .lab import Lab
from .streams import FLOWS, TRADES, keys_of
from .style import lines, name_axes

NAMES = {"stock": "stock trades", "network": "network flows"}
NEAR = 50  # tuples: a short distance
SHORT = np.unique(np.geomspace(1, 10_000, 40).astype(int))


def run(lab: Lab) -> Found:
    """Count both streams."""
    rows, slope, fit, near = [], {}, {}, {}
    share, within = {}, {}
    for name in NAMES:
        keys = np.unique(keys_of(name)[: lab.pick(None, 10_000)], return_inverse=True)[1]
        count = np.sort(np.bincount(keys))[::-1]
        share[name] = count / count.sum()
        slope[name], fit[name] = straight_line(count)
        for order, stream in (("stream", keys), ("permuted", permuted(keys, 0))):
            within[name, order] = distances(stream).within(SHORT)
            near[name, order] = float(distances(stream).within(NEAR))
            found = zip(SHORT.tolist(), within[name, order].tolist(), strict=True)
            rows += [{"stream": name, "order": order, "distance": k, "cdf": p} for k, p in found]

    def draw(figure: Any) -> None:
        panels = figure.subplots(2, 2)
        for (left, right), (name, title) in zip(panels, NAMES.items(), strict=True):
            left.loglog(np.arange(1, len(share[name]) + 1), share[name], ".", color="#2f6fb7")
            name_axes(left, "rank", "share of the tuples", f"{title}: popularity")
            curves = {order: (SHORT, within[name, order]) for order in ("stream", "permuted")}
            y = "share that comes again"
            lines(
                right,
                curves,
                "within so many tuples",
                y,
                f"{title}: distances",
                labels=str,
                plain=True,
            )
            right.set_xscale("log")

    verdicts = [
        judge(
            "popularity against rank is a straight line on a log-log scale, as of a Zipf law",
            {NAMES[name]: fit[name] > 0.9 for name in NAMES},
            ", ".join(f"{NAMES[n]}: slope {slope[n]:.2f}, R² {fit[n]:.2f}" for n in NAMES),
        ),
        judge(
            "the distances in the stream differ much from those in a random order of it",
            {NAMES[n]: near[n, "stream"] > near[n, "permuted"] + 0.1 for n in NAMES},
            f"within {NEAR} tuples: "
            + ", ".join(
                f"{NAMES[n]} {near[n, 'stream']:.0%} and {near[n, 'permuted']:.0%}" for n in NAMES
            ),
        ),
        judge(
            f"more than 40 % of the stream has a short distance (taken as {NEAR} tuples)",
            {NAMES[n]: near[n, "stream"] > 0.4 for n in NAMES},
            ", ".join(f"{NAMES[n]} {near[n, 'stream']:.0%}" for n in NAMES),
        ),
    ]
    return Found(rows, draw, verdicts, [NOTE], (8.4, 6.0))


def straight_line(count: np.ndarray) -> tuple[float, float]:
    """Return the slope of popularity against rank on logarithms, and R².

    >>> straight_line(np.array([1000, 500, 333, 250, 200]))[0].round(2).item()
    -1.0
    """
    rank, often = np.log(np.arange(1, len(count) + 1)), np.log(count)
    slope = np.polyfit(rank, often, 1)[0]
    return slope, float(np.corrcoef(rank, often)[0, 1] ** 2)


NOTE = (
    "The paper's trades and network flows are not to be had: here, trades of another exchange and "
    "the destinations of 49,474 TLS connections."
)
LOCALITY_1 = Experiment(
    "locality-1", "locality", "figure 1", "causes of reference locality", run, needs=(TRADES, FLOWS)
)
