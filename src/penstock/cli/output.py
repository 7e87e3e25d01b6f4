"""What a command prints: JSON for programs, tables and sentences for people."""

import json
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def show_made(*parts: Any) -> None:
    """Print a report as JSON, or tables and sentences for people."""
    if isinstance(parts[0], dict):
        print(json.dumps(parts[0], allow_nan=False))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for part in parts:
        console.print(part)
