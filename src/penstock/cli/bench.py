"""`penstock bench`: measurements that anybody can repeat."""

from typing import Annotated

import typer

from .output import AsJson, show_made

bench = typer.Typer(help="Measure the policies.", no_args_is_help=True)


@bench.callback()
def _start() -> None:
    """Measure the policies."""


@bench.command()
def quality(
    quick: Annotated[
        bool, typer.Option("--quick", help="A few short streams in two sizes: minutes.")
    ] = False,
    out: Annotated[
        str, typer.Option(help="Where tables and the figure go.", metavar="DIR")
    ] = "quality",
    policy: Annotated[
        list[str] | None, typer.Option(help="Run only this one. Repeatable.", metavar="NAME")
    ] = None,
    stream: Annotated[
        str, typer.Option(help="Run only streams whose name holds this.", metavar="TEXT")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Compare all policies with the best there can be, on many streams and in many memories."""
    from .. import quality as bench
    from ..quality import show
    from ..simulation.show import following

    with following("comparing") as progress:
        found = bench.run(out, quick, policy or (), stream, progress=progress)
    if as_json:
        show_made(show.summary(found))
        return
    show_made(*(show.standings(found, caching) for caching in (False, True)))
    missing = f"; {sum(found.missing.values())} cells are missing" if found.missing else ""
    show_made(f"table, figure and page are in {out}{missing}")
