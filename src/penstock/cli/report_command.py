"""`penstock report`: the page of a query's history."""

from pathlib import Path
from typing import Annotated

import typer

from .output import option


def report(
    checkpoint: Annotated[
        str, typer.Argument(help="The folder of a query's checkpoint.", metavar="CHECKPOINT")
    ],
    html: Annotated[Path, option("Where to write the page.", "PATH")] = Path("report.html"),
) -> None:
    """Draw what the monitor has kept of a query beside its checkpoint."""
    from ..report import where_to_write
    from ..report.history import read_histories
    from ..report.live import report_page

    target = where_to_write(html)
    target.write_text(report_page(read_histories(checkpoint)), encoding="utf-8")
    print(target)
