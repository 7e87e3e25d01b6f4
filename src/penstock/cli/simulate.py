"""`penstock simulate`: policies compared on a workload or a trace."""

from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, show_made


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
    from ..simulation import Scenario, choose_source, show, summarise, sweep

    page = None if html is None else where_to_write(html)
    source = choose_source(workload, trace, key=key, time=time, side=side, length=length)
    scenario = Scenario(
        source, problem, memory, within, layout, warmup, seed, drop, distortion, goal
    )
    with show.following("simulating") as progress:
        made = sweep(scenario, policy or (), runs, progress=progress)
    if page is not None:
        page.write_text(comparison.as_html(summarise(made, rows=True)), encoding="utf-8")
    show_made(summarise(made) if as_json else show.comparison(made))
