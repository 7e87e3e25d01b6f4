"""`penstock demo`: the library at work on real data."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, option, show_made, where_to_draw

DEMOS = {
    "join": "penstock.spark.demo.joins",
    "archive": "penstock.spark.demo.archives",
    "lookup": "penstock.spark.demo.lookups",
    "precision": "penstock.cli.weather",
}


def demo(
    what: Annotated[
        str, typer.Argument(help="What is shown.", metavar="[join|archive|lookup|precision]")
    ] = "join",
    months: Annotated[int, option("How much of the year is taken.", "N", min=1, max=12)] = 12,
    out: Annotated[Path, option("Where the picture goes: a folder or a file.", "PATH")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Show a join, a lookup or cached intervals at work on real data.

    `join`: two real streams live on Spark in a tenth of the memory, compared with the truth.
    Or `archive`: what such a join misses, found later from an archive, checked against the truth.
    Or `lookup`: give every event its row of a table in an embedded database, through a cache.
    Or `precision`: temperatures inside the intervals that a cache holds of them.
    """
    if what not in DEMOS:
        *some, last = DEMOS
        raise typer.BadParameter(
            f"the demonstration must be {', '.join(some)} or {last}, got {what!r}"
        )
    module = import_module(DEMOS[what])
    picture = None if module.NAME is None else where_to_draw(out, module.NAME)
    report = module.run_demo(months)
    if picture is not None:
        module.draw(report, picture)
        report["picture"] = str(picture)
    report.pop("tracks", None)  # arrays, for the picture alone
    if as_json:
        show_made(report)
    else:
        drawn = [] if picture is None else [f"Picture: {picture}"]
        show_made(module.table(report), module.moral(report), *drawn)
