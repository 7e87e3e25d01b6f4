"""Figures 4 and 5: a value and its cached interval over time, for small and large precisions."""

from typing import Any

import numpy as np

from penstock.precision import Workload, replay

from .frame import Experiment, Found, judge
from .lab import Lab
from .recordings import LOGS, hosts_or_walks, levels, table
from .style import legend_below, name_axes

DELTAS = {50: "Figure 4: δ_avg = 50 K", 500: "Figure 5: δ_avg = 500 K"}
SECONDS = 240  # shown
QUIET = 50  # K: a host whose levels never differ by more is quiet


def run(lab: Lab) -> Found:
    """Replay the hosts, and look at one that wakes up."""
    values = levels()[: lab.pick(None, 1500)]
    source, start = wakes(values)
    shown = slice(start, start + SECONDS)
    logs = {}
    for delta in DELTAS:
        found = replay("adaptive:alpha=1", Workload(1, delta, 0.5), table(values), log=4_000_000)
        logs[delta] = found.refreshes[found.refreshes["source"] == source]
    width = {delta: _width(log, start) for delta, log in logs.items()}

    def draw(figure: Any) -> None:
        at = np.arange(SECONDS)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, (delta, title) in zip(panels, DELTAS.items(), strict=True):
            low, high = bounds(logs[delta], np.arange(start + 1, start + SECONDS + 1))
            axes.fill_between(at, low, high, step="post", color="#f0c4bb", label="cached interval")
            axes.plot(at, values[shown, source], color="#1d1d1f", linewidth=1.2, label="value")
            name_axes(axes, "second", "traffic level, K", title)
        legend_below(figure, panels[0])

    verdicts = [
        judge(
            "small precision constraints favour narrow intervals, large ones wide intervals",
            [width[50] < width[500]],
            f"median width {width[50]:.0f} K and {width[500]:.0f} K",
        ),
        judge(
            "widths are of the order of δ_avg / 10: 5 K and 50 K (within a factor of 4)",
            {f"δ_avg {delta} K": 0.25 <= width[delta] / (delta / 10) <= 4 for delta in DELTAS},
            f"{width[50]:.0f} K and {width[500]:.0f} K",
        ),
    ]
    rows = []
    for delta, log in logs.items():
        low, high = bounds(log, np.arange(start + 1, start + SECONDS + 1))
        columns = zip(range(SECONDS), values[shown, source], low, high, strict=True)
        rows += [
            {"delta": delta, "second": t, "value": float(v), "low": float(a), "high": float(b)}
            for t, v, a, b in columns
        ]
    return Found(rows, draw, verdicts, [note()], (8.4, 3.8))


def wakes(values: np.ndarray) -> tuple[int, int]:
    """Return the source, and the second, before the largest rise after a quiet minute."""
    first, half = len(values) // 5, SECONDS // 3
    best = (0.0, 0, first)
    for source in range(values.shape[1]):
        level = values[first : len(values) - SECONDS, source]
        rise = np.where(
            level < level.max() / 20,
            values[first + 60 : len(values) - SECONDS + 60, source] - level,
            0,
        )
        best = max(best, (float(rise.max()), source, int(first + rise.argmax() - half)))
    return best[1], max(0, best[2])


def bounds(log: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the interval that is cached at each time."""
    place = np.maximum(np.searchsorted(log["time"], at, side="right") - 1, 0)
    return log["low"][place], log["high"][place]


def _width(log: np.ndarray, start: int) -> float:
    """Return the median width while the source is awake."""
    awake = (log["time"] > start + SECONDS // 3) & (log["time"] <= start + SECONDS)
    return float(np.median(log["width"][awake])) if awake.any() else float("nan")


def note() -> str:
    """Say what the recording is, and what it can show."""
    said = (
        "Traffic of the 50 busiest computers of a contest in place of the paper's hosts:"
        " connections a second over the last minute, scaled so that the highest level is"
        " the paper's 5,200 K."
    )
    if hosts_or_walks() != "hosts":
        return said
    found = levels()
    quiet = int((np.ptp(found, axis=0) < QUIET).sum())
    return (
        f"{said} It is {len(found):,} s long, where the paper's is two hours, and {quiet} of the"
        f" {found.shape[1]} hosts never span {QUIET} K: so it shows how rules compare on many quiet"
        " values and a few busy ones, and neither how they settle over hours nor how fifty busy"
        " values share a cache."
    )


PRECISION_4 = Experiment(
    "precision-4-5", "precision", "figures 4 and 5", "a value and its interval", run, needs=LOGS
)
