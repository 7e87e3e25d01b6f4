"""Figure 2: how the memory that an exact join needs goes up and down."""

from typing import Any

import numpy as np

from .frame import Experiment, Found, judge
from .lab import Lab
from .streams import WEATHER
from .style import name_axes
from .validity import exact

TITLES = {"wind": "wind speeds (SRBench's place)", "tv": "viewers (ViSTA-TV's place)"}
NOTES = [
    "The paper's data is not public. Wind: hourly readings of twelve stations of 4.5 m/s or more,"
    " joined with those of other stations within three hours; a reading takes a place on each side."
    " Viewers: generated sessions and programmes of three days, 150 channels."
]


def lengths(lab: Lab) -> dict[str, int]:
    """Return how many readings and sessions are replayed."""
    return {"wind": lab.pick(30_000, 2000), "tv": lab.pick(120_000, 4000)}


def run(lab: Lab) -> Found:
    """Count what is held, hour by hour."""
    held = {name: exact(name, length).held for name, length in lengths(lab).items()}
    shown = {name: each[: 24 * 60 if name == "wind" else 72] for name, each in held.items()}
    swing = {name: float(each.max() / each.mean()) for name, each in held.items()}

    def draw(figure: Any) -> None:
        for axes, (name, each) in zip(figure.subplots(1, 2), shown.items(), strict=True):
            axes.plot(np.arange(len(each)), each, color="#c8452f", linewidth=0.9)
            axes.set_ylim(bottom=0)
            name_axes(axes, "hour", "tuples held by an exact join", TITLES[name])

    verdict = judge(
        "the memory needed fluctuates significantly, window or not (peak over mean above 1.5)",
        {TITLES[name]: each > 1.5 for name, each in swing.items()},
        ", ".join(
            f"{TITLES[name]}: peak {each:.1f} times the mean" for name, each in swing.items()
        ),
    )
    rows = [
        {"query": n, "hour": h, "held": int(k)}
        for n, each in shown.items()
        for h, k in enumerate(each)
    ]
    return Found(rows, draw, [verdict], NOTES, (8.4, 3.4))


CLOCK_2 = Experiment(
    "clock-2", "CLOCK", "figure 2", "memory that exact answers need", run, needs=(WEATHER,)
)
