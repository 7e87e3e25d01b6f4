"""`penstock count`: the frequent keys of a file."""

from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, show_made


def count(
    file: Annotated[str, typer.Argument(help="A CSV or Parquet file.", metavar="FILE")],
    support: Annotated[
        float, typer.Option(help="Share of the rows that makes a key frequent.", metavar="S")
    ],
    key: Annotated[str, typer.Option(help="The key column, or several: a,b.", metavar="K")] = "key",
    epsilon: Annotated[
        float | None,
        typer.Option(help="Largest error of a counted share. [support / 10]", metavar="E"),
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(help="Largest number of keys held; chooses epsilon.", metavar="M"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the frequent keys of a file, with bounds on their counts."""
    from ..profile import frequent_keys
    from ..simulate import read_keys

    rows = read_keys(file, key=key)
    made = frequent_keys.count_keys(rows, Path(file).name, key, support, epsilon, memory)
    show_made(frequent_keys.summarise(made) if as_json else frequent_keys.table(made))
