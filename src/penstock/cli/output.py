"""What a command prints: JSON for programs, tables and sentences for people."""

import json
import os
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
