"""`penstock reproduce`: the experiments of the papers, and what becomes of their claims."""

from typing import Annotated

import typer

from .output import AsJson, show_made


def reproduce(
    experiment: Annotated[
        str | None,
        typer.Argument(
            help="An experiment, a paper, or all; without one they are listed.",
            metavar="[EXPERIMENT|all]",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Few runs and short streams: rough figures."),
    ] = False,
    out: Annotated[
        str, typer.Option(help="Where tables and figures go.", metavar="DIR")
    ] = "reproduction",
    as_json: AsJson = False,
) -> None:
    """Repeat the experiments of the papers: a table, a figure and a verdict for each claim."""
    from .. import experiments
    from ..experiments import page, show

    if experiment is None:
        listed = [{"name": e.name, "figure": e.figure, "what": e.what} for e in experiments.ALL]
        show_made({"experiments": listed} if as_json else show.listing(experiments.ALL))
        return
    outcomes = []
    chosen = experiments.choose(experiment)
    with show.following(len(chosen)) as following:
        for outcome in experiments.reproduce(chosen, out, quick, following=following):
            outcomes.append(outcome)
            if not as_json:
                show_made(show.verdicts(outcome))
    where = page.write(out)
    show_made(show.summary(outcomes) if as_json else f"tables, figures and {where} are in {out}")
