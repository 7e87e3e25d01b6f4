"""`penstock demo`: the library at work on real data."""

from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, show_made


def demo(
    what: Annotated[str, typer.Argument(help="What is shown.", metavar="[join|lookup]")] = "join",
    months: Annotated[
        int, typer.Option(help="How much of the year is taken.", metavar="N", min=1, max=12)
    ] = 12,
    out: Annotated[
        Path, typer.Option(help="Where the picture goes: a folder or a file.", metavar="PATH")
    ] = Path(),
    as_json: AsJson = False,
) -> None:
    """Join two real streams live on Spark in a tenth of the memory, and compare with the truth.

    Or `lookup`: give every event its row of a table in an embedded database, through a cache.
    """
    from ..spark import demo

    if what not in ("join", "lookup"):
        raise typer.BadParameter(f"the demonstration must be join or lookup, got {what!r}")
    if what == "lookup":
        with demo.telling() as doing:
            found = demo.run_lookups(doing, months)
        if as_json:
            show_made(demo.summarise_lookups(found))
        else:
            show_made(demo.lookups_table(found), demo.lookups_moral(found))
        return
    picture = demo.where_to_draw(out)
    with demo.watching() as watcher:
        made = demo.run_demo(watcher, months)
    demo.draw(made, picture)
    if as_json:
        show_made(demo.summarise(made, picture))
    else:
        show_made(demo.comparison(made), demo.moral(made), f"Picture: {picture}")
