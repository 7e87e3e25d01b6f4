"""Recall by policy as a picture: what was true, and what was estimated while the join ran."""

import textwrap
from pathlib import Path
from typing import Any

from ... import policies
from .joins import Demo, Run

NAME = "recall-by-policy.png"
INK, GREY = "#1d1d1f", "#5f6368"
PAIRS, LEFT, RIGHT = "#7fb0e6", "#f2c57c", "#b5d99c"
LABELS = (
    "results found, of all results",
    "departures that found a landing, of those that have one",
    "landings that found a departure, of those that have one",
)
HEIGHT = 0.26  # of a bar; each policy has three


def draw(made: Demo, path: Path) -> None:
    """Draw three bars per policy, of pairs and of rows, and on each the estimate."""
    from matplotlib.figure import Figure  # here, because it takes a second to import

    figure = Figure(figsize=(8, 5.6), layout="constrained")
    axes = figure.subplots()
    _draw_bars(axes, made)
    _draw_estimates(axes, made)
    _label(axes, made)
    figure.suptitle(
        "What to keep when memory is short: recall by policy",
        x=0.015,
        ha="left",
        size=14,
        weight="bold",
    )
    figure.savefig(path, dpi=150)


def _draw_bars(axes: Any, made: Demo) -> None:
    measures = zip(*((made.recall(run), *made.row_recall(run)) for run in made.runs), strict=True)
    for number, (true, colour) in enumerate(zip(measures, (PAIRS, LEFT, RIGHT), strict=True)):
        places = [_place(policy, number) for policy in range(len(true))]
        axes.barh(places, true, color=colour, height=HEIGHT, label=LABELS[number])
        for place, value in zip(places, true, strict=True):
            where = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(f"{value:.1%}", (0, place), color=INK, size=10, weight="bold", **where)


def _place(policy: int, measure: int) -> float:
    """Return the height at which a bar lies."""
    return policy + (measure - 1) * (HEIGHT + 0.02)


def _draw_estimates(axes: Any, made: Demo) -> None:
    label = "estimate made while the join ran, with its 95 % interval"
    style = {"fmt": "o", "color": INK, "markersize": 4, "capsize": 4, "elinewidth": 1.3}
    for policy, run in enumerate(made.runs):
        for number, (_, _, value, low, high) in enumerate(run.told):
            if value is None or low is None or high is None:
                continue
            margins = [[value - low], [high - value]]
            at = value, _place(policy, number)
            axes.errorbar(*at, xerr=margins, label=label, **style)
            label = ""


def _label(axes: Any, made: Demo) -> None:
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    axes.set_title(
        f"Departures and landings of 2013 joined live on Spark, holding {made.budget:,} rows;\n"
        f"about {made.window:,} are alive at a time, and there are {made.full:,} results to find",
        loc="left",
        size=10,
        color=GREY,
    )
    axes.set_yticks(range(len(made.runs)), [_name(run) for run in made.runs])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel("share found: bars counted afterwards by an exact batch join")
    axes.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.tick_params(left=False)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.figure.legend(loc="outside lower left", frameon=False, fontsize=9)


def _name(run: Run) -> str:
    """Return the name of a policy and what it does when memory is full."""
    return f"{run.policy}\n" + textwrap.fill(f"when full, {policies.named(run.policy).summary}", 26)
