"""What a command prints: JSON for programs, tables and sentences for people."""

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

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


PICTURES = (".png", ".svg", ".pdf")


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
        console.print(part)


@contextmanager
def following(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error, if that is a terminal; yield what moves it."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    quiet = not sys.stderr.isatty()
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task(what)
        yield lambda done, total: bar.update(task, completed=done, total=total)
