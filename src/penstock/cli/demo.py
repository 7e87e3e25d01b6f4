"""`penstock demo`: the library at work on real data."""

from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, show_made, where_to_draw


def demo(
    what: Annotated[
        str, typer.Argument(help="What is shown.", metavar="[join|lookup|precision]")
    ] = "join",
    months: Annotated[
        int, typer.Option(help="How much of the year is taken.", metavar="N", min=1, max=12)
    ] = 12,
    out: Annotated[
        Path, typer.Option(help="Where the picture goes: a folder or a file.", metavar="PATH")
    ] = Path(),
    as_json: AsJson = False,
) -> None:
    """Show a join, a lookup or cached intervals at work on real data.

    `join`: two real streams live on Spark in a tenth of the memory, compared with the truth.
    Or `lookup`: give every event its row of a table in an embedded database, through a cache.
    Or `precision`: temperatures inside the intervals that a cache holds of them.
    """
    shown = {"join": _join, "lookup": _lookup, "precision": _precision}
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


def _lookup(months: int, out: Path, as_json: bool) -> None:
    from ..spark import demo

    with demo.telling() as doing:
        found = demo.run_lookups(doing, months)
    if as_json:
        show_made(demo.summarise_lookups(found))
    else:
        show_made(demo.lookups_table(found), demo.lookups_moral(found))


def _precision(months: int, out: Path, as_json: bool) -> None:
    from . import weather_demo, weather_pictures

    picture = where_to_draw(out, weather_pictures.NAME)
    made = weather_demo.run_demo(months)
    weather_pictures.draw(made, picture)
    if as_json:
        show_made(weather_demo.summarise(made, picture))
        return
    weather_pictures.play(made)
    table, moral = weather_demo.comparison(made), weather_demo.moral(made)
    show_made(weather_pictures.still(made), table, moral, f"Picture: {picture}")
