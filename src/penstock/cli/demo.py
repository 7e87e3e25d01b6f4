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
    from ..spark import demo

    picture = where_to_draw(out, demo.NAME)
    with demo.watching() as watcher:
        made = demo.run_demo(watcher, months)
    demo.draw(made, picture)
    if as_json:
        show_made(demo.summarise(made, picture))
    else:
        show_made(demo.comparison(made), demo.moral(made), f"Picture: {picture}")


def _archive(months: int, out: Path, as_json: bool) -> None:
    from ..spark import demo

    picture = where_to_draw(out, demo.ARCHIVE_NAME)
    with demo.telling() as doing:
        made = demo.run_archive(doing, months)
    demo.draw_archive(made, picture)
    if as_json:
        show_made(demo.summarise_archive(made, picture))
    else:
        show_made(demo.archive_table(made), demo.archive_moral(made), f"Picture: {picture}")


def _lookup(months: int, out: Path, as_json: bool) -> None:
    from ..spark import demo

    with demo.telling() as doing:
        found = demo.run_lookups(doing, months)
    if as_json:
        show_made(demo.summarise_lookups(found))
    else:
        show_made(demo.lookups_table(found), demo.lookups_moral(found))


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
