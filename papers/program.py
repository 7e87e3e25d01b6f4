"""The commands: `reproduce` experiments, compare policies (`quality`), write a `page` of docs/."""

import shutil
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.output import AsJson, show_made
from penstock.cli.program import Commands
from penstock.errors import BadInput

DOCS = Path(__file__).resolve().parents[1] / "docs"


class _Papers(Commands):
    program = "papers"


app = typer.Typer(
    cls=_Papers,
    help="The experiments of the papers, and the comparison of all policies.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
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
    from . import experiments
    from .experiments import page, show

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
    page.write(out)
    where = page.write_html(out)
    said = f"tables and figures are in {out}; {where} shows them all"
    show_made(show.summary(outcomes) if as_json else said)


@app.command()
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
    from penstock.cli.output import following

    from .quality import run, show

    with following("comparing") as progress:
        found = run(out, quick, policy or (), stream, progress=progress)
    if as_json:
        show_made(show.summary(found))
        return
    show_made(*(show.standings(found, caching) for caching in (False, True)))
    missing = f"; {sum(found.missing.values())} cells are missing" if found.missing else ""
    show_made(f"table, figure and page are in {out}{missing}")


class Page(StrEnum):
    """The pages of docs/ that are made from results."""

    reproduction = "reproduction"
    quality = "quality"


@app.command()
def page(
    which: Annotated[Page, typer.Argument(help="Which page.")],
    folder: Annotated[
        Path, typer.Argument(help="What `reproduce` or `quality` left.", metavar="DIR")
    ],
    note: Annotated[str, typer.Option(help="How the experiments were run.", metavar="TEXT")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="The comparison was a quick one.")] = False,
) -> None:
    """Write a page of docs/ and its figures from a folder of results.

    That of the papers says at which commit they were made; one that this repository does
    not have is refused.
    """
    written = _quality_page(folder, quick) if which is Page.quality else _paper_page(folder, note)
    show_made(f"written: {written}")


def _paper_page(folder: Path, note: str) -> Path:
    from .experiments import origin, page

    records = page.read(folder)
    for commit in sorted({each.get("commit", origin.UNKNOWN) for each in records}):
        if commit != origin.UNKNOWN and not origin.is_here(commit):
            names = ", ".join(each["name"] for each in records if each.get("commit") == commit)
            raise BadInput(
                f"results must be of a commit that led to the present one, got {commit} of {names};"
                " run `python -m papers reproduce` again"
            )
    figures = DOCS / "reproduction"
    shutil.rmtree(figures, ignore_errors=True)
    figures.mkdir()
    for record in records:
        shutil.copy(folder / f"{record['name']}.png", figures)
    return page.write(folder, DOCS / page.NAME, images="reproduction/", note=note)


def _quality_page(folder: Path, quick: bool) -> Path:
    from .quality import bench, page

    found = bench.write(folder, quick)
    figure = DOCS / "images" / "which-policy.png"
    shutil.copy(folder / bench.FIGURE, figure)
    path = DOCS / page.NAME
    path.write_text(page.text(found, f"images/{figure.name}"), encoding="utf-8")
    return path
