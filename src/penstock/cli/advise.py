"""`penstock advise`: how much memory to buy, and for which policy."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .output import AsJson, following, show_made


def advise(
    files: Annotated[
        list[str],
        typer.Argument(help="Two CSV or Parquet files to join, or one of events.", metavar="FILE"),
    ],
    on: Annotated[str, typer.Option(help="The key column, or several: a,b.", metavar="COL")],
    time: Annotated[
        str | None,
        typer.Option(help="The time column, or left,right. [time, or the row]", metavar="COL"),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(help="Times of a match differ by at most this: 5, or 10s.", metavar="W"),
    ] = None,
    target: Annotated[
        float, typer.Option(help="The share of all results, or hits, to find.", metavar="P")
    ] = 0.95,
    lookup: Annotated[
        bool, typer.Option("--lookup", help="One file of events that look rows up: hit ratio.")
    ] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A policy to try. Repeatable. [all worth a trial]", metavar="NAME"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Where randomness comes from.", metavar="S")] = 0,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with curves.", metavar="PATH")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how much memory a join or a cache needs for a share of its results."""
    from ..advisor import show
    from ..report import advice, where_to_write

    page = None if html is None else where_to_write(html)
    with following("replaying") as progress:
        options: dict[str, Any] = {"target": target, "tried": policy or (), "seed": seed}
        made = _advise(files, on, time, within, lookup, options | {"progress": progress})
    if page is not None:
        page.write_text(advice.as_html(made), encoding="utf-8")
    if as_json:
        show_made(made.to_json())
    else:
        show_made(*show.overview(made))


def _advise(
    files: list[str],
    on: str,
    time: str | None,
    within: str | None,
    lookup: bool,
    options: dict[str, Any],
) -> Any:
    from ..advisor.files import advise_files, advise_references
    from ..errors import BadInput

    if lookup:
        if len(files) != 1:
            raise BadInput(f"--lookup takes one file of events, got {len(files)}")
        if within is not None:
            raise BadInput(f"a cache has no window, got within {within}; leave it out")
        return advise_references(files[0], on, time, **options)
    if len(files) != 2:
        raise BadInput(
            f"a join takes two files, got {len(files)}; for a cache of one file's keys add --lookup"
        )
    return advise_files(files[0], files[1], on, time, within, **options)
