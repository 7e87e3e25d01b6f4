"""The demonstration of joins: a table that moves, then the one that stays, and a picture."""

import textwrap
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ... import policies
from ..metrics import HALF
from ..quiet import terminal
from .flights import (
    DELAY,
    DEPARTURES,
    GREY,
    INK,
    LANDINGS,
    ON,
    SAMPLE,
    WITHIN,
    picture,
    staged,
    write_streams,
)
from .joins import POLICIES, Demo, Run, compare

TITLE = (
    "Joined live on Spark: flights that leave New York for an airport,\n"
    "and flights of the same airline that land there within 6 hours"
)
HEADS = ("rows", "share of", "found", "estimate", "its 95 %\ninterval")
CAPTION = (
    "per s: the median micro-batch; the first join warms Java up\n"
    "evicted: or rejected, while they could still match\n"
    "departures, landings: those that found a partner, of those that have one"
)

COUNTED = ("arrived", "late", "expired", "evicted", "rejected")  # of both streams


class Screen:
    """The live table, and under it what goes on."""

    def __init__(self, live: Live):
        self.live = live
        self.runs: dict[str, Run] = {}
        self.spinner = Spinner("dots")

    def doing(self, what: str) -> None:
        """Say what goes on from now on."""
        self.spinner.update(text=Text(what))
        table = _table(HEADS)
        for policy in POLICIES:  # one whose turn has not come has a name only
            table.add_row(*(_cells(self.runs[policy]) if policy in self.runs else [policy]))
        self.live.update(Group(table, self.spinner))

    def stands(self, run: Run) -> None:
        """Show how a join stands."""
        self.runs[run.policy] = run
        self.doing(f"joining with {run.policy}: micro-batch {run.batches} of {run.parts} is done")


def run_demo(months: int) -> Demo:
    """Join the first months of both streams, and show how it goes if there is a terminal."""
    began = time.perf_counter()
    with terminal() as console, Live(console=console, transient=True) as live:
        screen = Screen(live)
        write = partial(write_streams, months=months)
        with staged(screen.doing, "reading the flights", write) as (spark, streams):
            return compare(spark, streams, screen, began)


def shown(made: Demo) -> list[Any]:
    """Return the table of all runs and what it means."""
    return [comparison(made), moral(made)]


def comparison(made: Demo) -> Table:
    """Return the table of all runs with the truth beside the estimates, the best one marked."""
    table = _table((*HEADS, "truth"))
    for run in made.runs:
        style = "bold green" if run is made.best else ""
        table.add_row(*_cells(run), _lines(map(_share, made.truth(run))), style=style)
    return table


def _table(heads: tuple[str, ...]) -> Table:
    table = Table(title=TITLE, caption=CAPTION, box=box.SIMPLE_HEAD, title_style="bold")
    table.pad_edge, table.padding = False, (0, 1, 0, 0)
    table.title_justify = table.caption_justify = "left"
    table.add_column("policy", no_wrap=True)
    for head in heads:
        table.add_column(head, justify="left" if head == "share of" else "right", no_wrap=True)
    return table


def _cells(run: Run) -> list[str]:
    return [
        run.policy,
        _lines(
            (
                f"{run.rows_per_second:,.0f} per s  ",
                f"{run.metrics.rows_held:,} held   ",
                f"{run.evicted:,} evicted",
            )
        ),
        _lines(each.what for each in run.told),
        _lines(f"{each.found:,}" for each in run.told),
        _lines(_share(each.share) for each in run.told),
        _lines(f"{_share(each.low)}–{_share(each.high)}" for each in run.told),
    ]


def _lines(cells: Iterable[str]) -> str:
    """Return a cell of one line for pairs, one for departures and one for landings."""
    return "\n".join(cells)


def _share(number: float | None) -> str:
    return "?" if number is None else f"{number:.1%}"


def moral(made: Demo) -> str:
    """Say in words what the run showed, and whether the estimates were right."""
    best, alive, budget = made.best, made.streams.alive, made.streams.budget
    others = [f"with {run.policy} {made.recall(run):.1%}" for run in made.runs if run is not best]
    return (
        f"\nSome {alive:,} rows are alive at a time, and the join may hold {budget:,}, "
        f"a tenth. With {best.policy} it found {made.recall(best):.1%} of all {made.full:,} "
        f"results, {' and '.join(others)}: what to keep matters as much as how much.\n"
        f"{_by_rows(made)}\n{_verdict(made)}"
    )


def _by_rows(made: Demo) -> str:
    """Say how many rows found a partner, which is another question, and what a few keys do."""
    shares = [
        f"with {run.policy} {left:.1%} and {right:.1%}"
        for run in made.runs
        for left, right in [made.row_recall(run)]
    ]
    told = (
        "Of the departures and landings that have a partner these found one: "
        f"{'; '.join(shares)}. Results and rows are two goals, and these joins had the first."
    )
    hot = made.best.metrics.hot_pairs
    if hot is not None:
        told += f" With {made.best.policy} ten keys made {hot:.0%} of the results found"
        told += "; if rows are what counts, join with goal='rows'." if hot > HALF else "."
    return told


def _verdict(made: Demo) -> str:
    """Say whether the intervals, made without knowing the truth, hold it."""
    missed = [run.policy for run in made.runs if not made.held_by(run)[0]]
    of_rows = [each for run in made.runs for each in made.held_by(run)[1:]]
    rows = f" Of the {len(of_rows)} intervals for rows {sum(of_rows)} hold the truth."
    if not missed:
        return f"Every interval, made while the join ran, holds the true recall of pairs.{rows}"
    whose = "The interval of" if len(missed) == 1 else "The intervals of"
    return (
        f"{whose} {' and '.join(missed)}, made while the join ran, "
        f"{'misses' if len(missed) == 1 else 'miss'} the true recall of pairs; one in twenty may."
        f"{rows}"
    )


def summarise(made: Demo, picture: Path) -> dict[str, Any]:
    """Return everything that the demonstration found."""
    return {
        "streams": [DEPARTURES, LANDINGS],
        "on": list(ON),
        "within": WITHIN,
        "delay": DELAY,
        "rows": made.streams.rows,
        "batches": made.streams.parts,
        "window": made.streams.alive,
        "budget": made.streams.budget,
        "recall_sample": SAMPLE,
        "full": made.full,
        "seconds": round(made.seconds, 1),
        "picture": str(picture),
        "policies": [_summarise_run(made, run) for run in made.runs],
    }


def _summarise_run(made: Demo, run: Run) -> dict[str, Any]:
    figures = run.metrics
    pairs, *rows = [
        {"recall": told.share, "low": told.low, "high": told.high, "holds_the_truth": holds}
        for told, holds in zip(run.told, made.held_by(run), strict=True)
    ]
    return {
        "policy": run.policy,
        "results": figures.matches,
        "recall": made.recall(run),
        "estimated": pairs,
        "rows_matched": list(figures.rows_matched),
        "row_recall": list(made.row_recall(run)),
        "row_recall_estimated": rows,
        "hot_pairs": figures.hot_pairs,
        "note": figures.note,
        **{name: sum(getattr(figures, name)) for name in COUNTED},
        "held": figures.rows_held,
        "most_held": run.most_held,
        "rows_per_second": round(run.rows_per_second),
        "seconds": round(run.seconds, 1),
    }


# ------------------------------------------------------------ the picture

NAME = "recall-by-policy.png"
PAIRS, LEFT, RIGHT = "#7fb0e6", "#f2c57c", "#b5d99c"
LABELS = (
    "results found, of all results",
    "departures that found a landing, of those that have one",
    "landings that found a departure, of those that have one",
)
HEIGHT = 0.26  # of a bar; each policy has three


def draw(made: Demo, path: Path) -> None:
    """Draw three bars per policy, of pairs and of rows, and on each the estimate."""
    title = "What to keep when memory is short: recall by policy"
    with picture(path, title, height=5.6) as axes:
        _draw_bars(axes, made)
        _draw_estimates(axes, made)
        _label(axes, made)


def _draw_bars(axes: Any, made: Demo) -> None:
    measures = zip(*map(made.truth, made.runs), strict=True)
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

    alive, budget = made.streams.alive, made.streams.budget
    axes.set_title(
        f"Departures and landings of 2013 joined live on Spark, holding {budget:,} rows;\n"
        f"about {alive:,} are alive at a time, and there are {made.full:,} results to find",
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
    axes.spines["left"].set_visible(False)


def _name(run: Run) -> str:
    """Return the name of a policy and what it does when memory is full."""
    return f"{run.policy}\n" + textwrap.fill(f"when full, {policies.named(run.policy).summary}", 26)
