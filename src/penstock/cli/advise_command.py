"""`penstock advise`: how much memory to buy, and for which policy."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BadInput
from .output import AsJson, SeedOption, WithinOption, flag, following, option, show_made


def advise(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Two files to join, or one of events: CSV, Parquet or JSON.", metavar="FILE"
        ),
    ],
    on: Annotated[str, option("The key column, or several: a,b.", "COL")],
    time: Annotated[
        str | None, option("The time column, or left,right. [time, or the row]", "COL")
    ] = None,
    within: WithinOption = None,
    delay: Annotated[
        str, option("How late rows may come, for the line to paste.", "D")
    ] = "10 seconds",
    target: Annotated[float, option("The share of all results, or hits, to find.", "P")] = 0.95,
    goal: Annotated[
        str, option("Find the most results, or rows that match.", "pairs|rows")
    ] = "pairs",
    lookup: Annotated[
        bool, flag("--lookup", "One file of events that look rows up: hit ratio.")
    ] = False,
    policy: Annotated[
        list[str] | None, option("A policy to try. Repeatable. [all worth a trial]", "NAME")
    ] = None,
    seed: SeedOption = 0,
    html: Annotated[Path | None, option("Write a page with curves.", "PATH")] = None,
    as_json: AsJson = False,
) -> None:
    """Say how much memory a join or a cache needs for a share of its results."""
    from ..advisor.advise import advise_files, advise_references
    from ..advisor.words import overview
    from ..report import advice_page, where_to_write
    from ..simulate.scenario import refuse_join_options

    page = None if html is None else where_to_write(html)
    if lookup and len(files) != 1:
        raise BadInput(f"--lookup takes one file of events, got {len(files)}")
    if lookup:
        refuse_join_options(within, goal)
    elif len(files) != 2:
        raise BadInput(
            f"a join takes two files, got {len(files)}; for a cache of one file's keys add --lookup"
        )
    with following("replaying") as progress:
        options: dict[str, Any] = {
            "target": target,
            "tried": policy or (),
            "seed": seed,
            "progress": progress,
        }
        if lookup:
            made = advise_references(files[0], on, time, **options)
        else:
            made = advise_files(files[0], files[1], on, time, within, delay, goal=goal, **options)
    if page is not None:
        page.write_text(advice_page.as_html(made), encoding="utf-8")
    if as_json:
        show_made(made.to_json())
    else:
        show_made(*overview(made))
