"""Comparisons and policies as tables for the terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..core.gains import ROWS
from ..core.policy import CACHING, JOINING
from .contender import LFD, OPT
from .summary import summarise
from .sweep import Sweep

BAR = 20  # characters
WHAT = {JOINING: "results", CACHING: "hits"}


def comparison(made: Sweep) -> Table:
    """Return the table of a comparison, in the order asked for, the best policy marked."""
    report = summarise(made, rows=True)
    scores = report["policies"]
    mortals = [each for each in scores if each["policy"] not in (OPT, LFD)] or scores
    by_rows = report.get("goal") == ROWS
    best = max(_reached(each, by_rows) for each in mortals)
    table = Table(title=_title(report), title_justify="left", caption=_caption(report))
    table.add_column("policy", overflow="fold")
    table.add_column(WHAT[report["problem"]], justify="right", no_wrap=True)
    table.add_column("recall", justify="right", no_wrap=True)
    joins = report["problem"] == JOINING
    if joins:
        table.add_column("rows\nmatched", justify="right", no_wrap=True)
    measures = ("sse", "kl") if made.scenario.distortion else ()
    bar = BAR // 2 if measures or joins else BAR
    table.add_column("", width=bar)
    table.add_column("tuples/s", justify="right", no_wrap=True)
    for measure in measures:
        table.add_column(measure.upper(), justify="right", no_wrap=True)
    for who, score in zip(made.contenders, scores, strict=True):
        recall = score["recall"]["mean"]
        reached = _reached(score, by_rows)
        style = "dim" if who.chosen is None else "bold green" if reached == best else ""
        colour = style or "cyan"
        table.add_row(
            Text(str(who)),
            _results(score["results"], report["runs"]),
            f"{recall:.2%}",
            *([f"{score['matched']['recall']:.2%}" if "matched" in score else ""] if joins else []),
            ProgressBar(1, min(reached, 1), bar, complete_style=colour, finished_style=colour),
            _short(score["tuples_per_second"]),
            *(f"{score['distortion'][measure]['mean']:.4f}" for measure in measures),
            style=style,
        )
    return table


def _reached(score: dict[str, Any], by_rows: bool) -> float:
    """Return the share that a policy has reached of its goal."""
    return score["matched"]["recall"] if by_rows else score["recall"]["mean"]


def _title(report: dict[str, Any]) -> Text:
    runs = "" if report["runs"] == 1 else f", {report['runs']} runs"
    warmup = f" ({report['warmup']:,} to warm up)" if report["warmup"] else ""
    drop = f", {report['drop']:.0%} dropped" if "drop" in report else ""
    goal = ", for rows" if report.get("goal") == ROWS else ""
    return Text(
        f"{report['problem']} {report['workload']}{goal}: memory {report['memory']:,}, "
        f"length {report['length']:,}{warmup}{drop}{runs}"
    )


def _caption(report: dict[str, Any]) -> Text:
    full = report["policies"][0]["full"]["mean"]
    told = [each["explained"] for each in report["policies"] if "explained" in each]
    ruled = "".join(f"; auto ended with {each['in_force']}: {each['why']}" for each in told)
    rows = next((each["matched"]["full"] for each in report["policies"] if "matched" in each), None)
    matched = "" if rows is None else f", {rows:,.0f} rows matched"
    return Text(f"with unlimited memory: {full:,.0f} {WHAT[report['problem']]}{matched}{ruled}")


def _results(results: dict[str, float], runs: int) -> str:
    if runs == 1:
        return f"{results['mean']:,.0f}"
    return f"{results['mean']:,.1f} ± {results['std']:,.1f}"


def _short(number: float) -> str:
    """Return a speed in few figures.

    >>> _short(24_534_351), _short(701_801), _short(950)
    ('24.5 M', '702 k', '950')
    """
    if number >= 1e6:
        return f"{number / 1e6:.1f} M"
    return f"{number / 1e3:.0f} k" if number >= 1e3 else str(number)


def policies_table(rows: list[dict[str, Any]]) -> Table:
    """Return the table of all policies."""
    table = Table(title="policies", title_justify="left")
    for column in ("name", "what goes", "for", "parameters"):
        table.add_column(column)
    for row in rows:
        params = "\n".join(f"{name}={value}" for name, value in row["params"].items())
        table.add_row(Text(row["policy"]), row["summary"], "\n".join(row["problems"]), Text(params))
    return table


@contextmanager
def following(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on standard error, if that is a terminal; what is yielded moves it."""
    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    quiet = not sys.stderr.isatty()
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task(what)
        yield lambda done, total: bar.update(task, completed=done, total=total)
