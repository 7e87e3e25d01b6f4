"""Recall by policy as a picture: what was true, and what was estimated while the join ran."""

import textwrap
from pathlib import Path
from typing import Any

from ... import policies
from .live import Run
from .run import Demo

NAME = "recall-by-policy.png"
BEST, OTHERS, INK, GREY = "#7fb0e6", "#d3dbe4", "#1d1d1f", "#5f6368"


def draw(made: Demo, path: Path) -> None:
    """Draw one bar per policy, and on it the estimate with its interval."""
    from matplotlib.figure import Figure  # here, because it takes a second to import

    figure = Figure(figsize=(8, 4.2), layout="constrained")
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
    true = [made.recall(run) for run in made.runs]
    colours = [BEST if value == max(true) else OTHERS for value in true]
    bars = axes.barh(range(len(true)), true, color=colours, height=0.6)
    bars[0].set_label("true recall, counted afterwards by an exact batch join")
    for place, value in enumerate(true):
        where = {"xytext": (8, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(f"{value:.1%}", (0, place), color=INK, size=13, weight="bold", **where)


def _draw_estimates(axes: Any, made: Demo) -> None:
    label = "estimate made while the join ran, with its 95 % interval"
    for place, run in enumerate(made.runs):
        value, low, high = run.metrics.recall, run.metrics.recall_low, run.metrics.recall_high
        if value is None or low is None or high is None:
            continue
        margins = [[value - low], [high - value]]
        style = {"fmt": "o", "color": INK, "markersize": 5, "capsize": 6, "elinewidth": 1.5}
        axes.errorbar(value, place, xerr=margins, label=label if place == 0 else None, **style)


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
    axes.set_xlabel("recall: share of all results that the join found")
    axes.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.tick_params(left=False)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.figure.legend(loc="outside lower left", frameon=False, fontsize=9)


def _name(run: Run) -> str:
    """Return the name of a policy and what it does when memory is full."""
    return f"{run.policy}\n" + textwrap.fill(f"when full, {policies.named(run.policy).summary}", 26)
