"""What an experiment works with: workers, what is done already, the data, and how much to do."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from papers import grid
from papers.grid import Given, Work
from papers.pool import Pool
from penstock.errors import BadInput

T = TypeVar("T")
Progress = Callable[[int, int], None]


def data_folder() -> Path:
    """Return where real data is looked for."""
    return Path(os.environ.get("PENSTOCK_DATA", "../shared/data"))


class Lab:
    """The means of an experiment; `quick` ones are small and show the way only."""

    def __init__(
        self,
        quick: bool = False,
        pool: Pool | None = None,
        folder: Path | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.quick = quick
        self.pool = Pool(workers=1) if pool is None else pool
        self.folder = folder  # where finished cells are written down
        self.progress = progress

    def pick(self, full: T, quick: T) -> T:
        """Return what fits the time there is."""
        return quick if self.quick else full

    def sweep(self, work: Work, cells: Sequence[Given]) -> "Rows":
        """Do the work of every cell, on all workers; return cells and what was found as rows."""
        options: dict[str, Any] = {"folder": self.folder, "progress": self.progress}
        found = grid.sweep(work, cells, pool=self.pool, **options)
        return Rows(cell | each for cell, each in zip(cells, found, strict=True))


class Rows(list[dict[str, Any]]):
    """Rows of plain values.

    >>> rows = Rows([{"run": 0, "hits": 3}, {"run": 1, "hits": 5}])
    >>> rows.mean("hits"), rows.where(run=1).mean("hits")
    (4.0, 5.0)
    """

    def where(self, **wanted: Any) -> "Rows":
        """Return the rows with these values."""
        return Rows(row for row in self if all(row.get(k) == v for k, v in wanted.items()))

    def column(self, name: str) -> list[Any]:
        """Return the values of a column."""
        return [row[name] for row in self]

    def mean(self, name: str) -> float:
        """Return the mean of a column."""
        if not self:
            raise BadInput(f"there are no rows to average {name} over")
        return float(sum(self.column(name)) / len(self))

    def means(self, what: str | Sequence[str], *by: str) -> "Rows":
        """Return the means of some columns for each combination of the others.

        >>> Rows([{"k": 1, "x": 2}, {"k": 1, "x": 4}]).means("x", "k")
        [{'k': 1, 'x': 3.0}]
        """
        names = [what] if isinstance(what, str) else list(what)
        groups: dict[tuple, Rows] = {}
        for row in self:
            groups.setdefault(tuple(row.get(name) for name in by), Rows()).append(row)
        return Rows(
            dict(zip(by, at, strict=True)) | {name: rows.mean(name) for name in names}
            for at, rows in groups.items()
        )

    def curve(self, x: str, y: str, **wanted: Any) -> tuple[list[Any], list[float]]:
        """Return the x and the mean y of the rows wanted, in the order of x."""
        rows = sorted(self.where(**wanted).means(y, x), key=lambda row: row[x])
        return [row[x] for row in rows], [row[y] for row in rows]
