"""`penstock simulate`: policies compared on a workload or a trace."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import AsJson, following, show_made

if TYPE_CHECKING:  # both take long to import
    from rich.table import Table

    from ..simulate import Comparison

HINDSIGHT = ("opt", "lfd")
WHAT = {"joining": "results", "caching": "hits"}
BAR = 20  # characters


def simulate(
    memory: Annotated[int, typer.Option(help="How many tuples can be held.", metavar="K")],
    workload: Annotated[
        str | None,
        typer.Option(
            help="Generated arrivals.", metavar="tower|roof|floor|walk|zipf|gdj[:key=value,...]"
        ),
    ] = None,
    trace: Annotated[
        str | None, typer.Option(help="A CSV or Parquet file of arrivals.", metavar="FILE")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Its key column, or several: a,b. [key]", metavar="COL")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Its time column. [time, or the row number]", metavar="COL")
    ] = None,
    side: Annotated[
        str | None, typer.Option(help="The column that names the stream. [side]", metavar="COL")
    ] = None,
    problem: Annotated[
        str, typer.Option(help="What the memory is for.", metavar="joining|caching")
    ] = "joining",
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy, or opt or lfd: the best with hindsight. Repeatable. [all policies]",
            metavar="NAME[:key=value,...]",
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(help="Times of a match differ by at most this: 5, or 10s.", metavar="W"),
    ] = None,
    layout: Annotated[
        str, typer.Option(help="One memory, or one for each side.", metavar="unified|split")
    ] = "unified",
    goal: Annotated[
        str,
        typer.Option(help="Get the most results, or rows that match.", metavar="pairs|rows"),
    ] = "pairs",
    runs: Annotated[int, typer.Option(help="Runs, each with its own seed.", metavar="N")] = 1,
    length: Annotated[
        int | None, typer.Option(help="Steps, or rows of a trace. [5000, or all]", metavar="N")
    ] = None,
    warmup: Annotated[
        int | None,
        typer.Option(help="Steps or rows not counted. [4 x memory; 0 of a trace]", metavar="N"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Where randomness comes from.", metavar="S")] = 0,
    drop: Annotated[
        float, typer.Option(help="The share of arrivals dropped as they come.", metavar="P")
    ] = 0.0,
    distortion: Annotated[
        bool, typer.Option("--distortion", help="Tell how unevenly results are lost: SSE and KL.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with bars.", metavar="PATH")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay a workload or a trace under several policies, and compare them."""
    from ..report import comparison, where_to_write
    from ..simulate import Scenario, choose_source, compare, summarise

    page = None if html is None else where_to_write(html)
    source = choose_source(workload, trace, key=key, time=time, side=side, length=length)
    scenario = Scenario(
        source, problem, memory, within, layout, warmup, seed, drop, distortion, goal
    )
    with following("simulating") as progress:
        made = compare(scenario, policy or (), runs, progress=progress)
    if page is not None:
        page.write_text(comparison.as_html(summarise(made)), encoding="utf-8")
    show_made(summarise(made) if as_json else _table(made))


def _table(made: "Comparison") -> "Table":
    """Return the table of a comparison, in the order asked for, the best policy marked."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    from ..simulate import summarise

    report = summarise(made, rows=True)
    scores = report["policies"]
    online = [each for each in scores if each["policy"] not in HINDSIGHT] or scores
    by_rows = report.get("goal") == "rows"
    best = max(_reached(each, by_rows) for each in online)
    joins = report["problem"] == "joining"
    measures = ("sse", "kl") if made.scenario.distortion else ()
    bar = BAR // 2 if measures else BAR
    table = Table(title=Text(_title(report)), title_justify="left", caption=Text(_caption(report)))
    table.add_column("policy", overflow="fold")
    for name in (WHAT[report["problem"]], "recall", *(["rows matched"] if joins else [])):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", width=bar)
    for name in ("tuples/s", *map(str.upper, measures)):
        table.add_column(name, justify="right", no_wrap=True)
    for chosen, score in zip(made.policies, scores, strict=True):
        reached = _reached(score, by_rows)
        style = "bold green" if reached == best else ""
        if score["policy"] in HINDSIGHT:
            style = "dim"
        colour = style or "cyan"
        table.add_row(
            Text(str(chosen)),
            _results(score["results"], report["runs"]),
            f"{score['recall']['mean']:.2%}",
            *([f"{score['matched']['recall']:.2%}" if "matched" in score else ""] if joins else []),
            ProgressBar(1, min(reached, 1), bar, complete_style=colour, finished_style=colour),
            _short(score["tuples_per_second"]),
            *(f"{score['distortion'][measure]['mean']:.4f}" for measure in measures),
            style=style,
        )
    return table


def _reached(score: dict[str, Any], by_rows: bool) -> float:
    """Return the share of its goal that a policy has reached."""
    return score["matched"]["recall"] if by_rows else score["recall"]["mean"]


def _title(report: dict[str, Any]) -> str:
    runs = "" if report["runs"] == 1 else f", {report['runs']} runs"
    warmup = f" ({report['warmup']:,} to warm up)" if report["warmup"] else ""
    drop = f", {report['drop']:.0%} dropped" if "drop" in report else ""
    goal = ", for rows" if report.get("goal") == "rows" else ""
    return (
        f"{report['problem']} {report['workload']}{goal}: memory {report['memory']:,}, "
        f"length {report['length']:,}{warmup}{drop}{runs}"
    )


def _caption(report: dict[str, Any]) -> str:
    full = report["policies"][0]["full"]["mean"]
    explained = [each["explained"] for each in report["policies"] if "explained" in each]
    auto = "".join(f"; auto ended with {each['in_force']}: {each['why']}" for each in explained)
    return f"with unlimited memory: {full:,.0f} {WHAT[report['problem']]}{auto}"


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
