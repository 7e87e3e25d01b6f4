"""What all commands share: how options are declared, and how results are printed."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BadInput
from ..extras import need

PICTURES = (".png", ".svg", ".pdf")


def option(text: str, metavar: str | None = None, *names: str, **limits: Any) -> Any:
    """Declare an option by its help, the name of its value, and names other than the parameter's.

    limits: `min` and `max`, as Typer takes them.
    """
    shown = text.replace("[", r"\[")  # Rich would take a default in brackets for markup
    return typer.Option(*names, help=shown, metavar=metavar, **limits)


def flag(name: str, text: str) -> Any:
    """Declare an option without a value."""
    return typer.Option(name, help=text)


AsJson = Annotated[bool, flag("--json", "Print one JSON object and nothing else.")]
SeedOption = Annotated[int, option("Where randomness comes from.", "S")]
WithinOption = Annotated[
    str | None, option("Times of a match differ by at most this: 5, or 10s.", "W")
]
FileArgument = Annotated[str, typer.Argument(help="A CSV, Parquet or JSON file.", metavar="FILE")]


def where_to_draw(out: Path, name: str) -> Path:
    """Return the file to draw into, refusing before the run what would fail after it."""
    need("matplotlib", "the picture")
    path = out / name if out.is_dir() else out
    if path.suffix not in PICTURES:
        raise BadInput(
            f"--out must be a folder or a file ending in {', '.join(PICTURES)}, got {out}"
        )
    if not os.access(path.parent, os.W_OK):
        raise BadInput(f"--out must be in a folder that can be written to, got {out}")
    return path


def show_made(*parts: Any) -> None:
    """Print a report as JSON, or tables and sentences for people."""
    if isinstance(parts[0], dict):
        print(json.dumps(parts[0], allow_nan=False))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for part in parts:
        console.print(part, soft_wrap=getattr(part, "no_wrap", None) is True)  # else it is cut off


@contextmanager
def following(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error, if that is a terminal; yield what moves it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console, quiet = Console(stderr=True), not sys.stderr.isatty()
    columns = (what, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task(what)
        yield lambda done, total: bar.update(task, completed=done, total=total)
