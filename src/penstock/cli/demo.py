"""`penstock demo`: the library at work on real data."""

from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, option, show_made, where_to_draw


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
    shown = {"join": _join, "archive": _archive, "lookup": _lookup, "precision": _precision}
    if what not in shown:
        *some, last = shown
        raise typer.BadParameter(
            f"the demonstration must be {', '.join(some)} or {last}, got {what!r}"
        )
    shown[what](months, out, as_json)


def _join(months: int, out: Path, as_json: bool) -> None:
    from ..spark.demo import show
    from ..spark.demo.joins import run_demo

    picture = where_to_draw(out, show.NAME)
    with show.watching() as watcher:
        made = run_demo(watcher, months)
    show.draw(made, picture)
    if as_json:
        show_made(show.summarise(made, picture))
    else:
        show_made(show.comparison(made), show.moral(made), f"Picture: {picture}")


def _archive(months: int, out: Path, as_json: bool) -> None:
    from ..spark.demo import archives
    from ..spark.quiet import telling

    picture = where_to_draw(out, archives.NAME)
    with telling() as doing:
        made = archives.run_archive(doing, months)
    archives.draw(made, picture)
    if as_json:
        show_made(archives.summarise(made, picture))
    else:
        show_made(archives.table(made), archives.moral(made), f"Picture: {picture}")


def _lookup(months: int, out: Path, as_json: bool) -> None:
    from ..spark.demo import lookups
    from ..spark.quiet import telling

    with telling() as doing:
        found = lookups.run_lookups(doing, months)
    if as_json:
        show_made(lookups.summarise(found))
    else:
        show_made(lookups.table(found), lookups.moral(found))


def _precision(months: int, out: Path, as_json: bool) -> None:
    from . import weather

    picture = where_to_draw(out, weather.NAME)
    made = weather.run_demo(months)
    weather.draw(made, picture)
    if as_json:
        show_made(weather.summarise(made, picture))
        return
    weather.play(made)
    table, moral = weather.comparison(made), weather.moral(made)
    show_made(weather.still(made), table, moral, f"Picture: {picture}")
