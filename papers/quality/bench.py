"""The comparison as a whole: cells on all cores, then tables, a figure and a page in a folder."""

from collections.abc import Sequence
from pathlib import Path

from papers import grid
from papers.grid import Given
from papers.pool import Pool
from penstock.errors import BadInput
from penstock.profile.stream_profile import Progress

from ..experiments.output import write_table
from ..experiments.runner import writable
from . import draw, page
from .cell import quality_cell
from .plan import cells
from .streams import everything
from .summary import Quality, gather

CELLS, TABLE, FIGURE = "cells", "quality.csv", "quality.png"


def run(
    out: str | Path,
    quick: bool = False,
    policies: Sequence[str] = (),
    streams: str = "",
    progress: Progress | None = None,
    workers: int | None = None,
) -> Quality:
    """Compare policies; write what was found into a folder.

    Cells that are found there are not done again, so that a run that was stopped goes on.

    policies: only these are run; the tables show all that is known.
    streams: only those whose name holds this are run.
    """
    planned = cells(everything(), quick)
    names = _names(planned, "stream")
    if not any(streams in name for name in names):
        raise _unknown("stream", streams, names)
    names = _names(planned, "policy")
    for policy in policies:
        if policy not in names:
            raise _unknown("policy", policy, names)
    folder = writable(out)
    todo = [
        cell
        for cell in planned
        if streams in cell["stream"] and (not policies or cell["policy"] in policies)
    ]
    with Pool(workers) as pool:
        grid.sweep(quality_cell, todo, folder=folder / CELLS, pool=pool, progress=progress)
    return write(folder, quick)


def _names(planned: list[Given], what: str) -> list[str]:
    return list(dict.fromkeys(cell[what] for cell in planned))


def _unknown(what: str, asked: str, names: list[str]) -> BadInput:
    return BadInput(f"there is no {what} {asked!r} here; choose of {', '.join(names)}")


def write(out: str | Path, quick: bool = False) -> Quality:
    """Write table, figure and page of what a folder knows."""
    folder = Path(out)
    planned = cells(everything(), quick)
    found = gather(folder / CELLS, planned, quick)
    write_table([each._asdict() for each in found.shares], folder / TABLE)
    draw.write(found, folder / FIGURE)
    (folder / page.NAME).write_text(page.text(found, FIGURE))
    return found
