"""What is done, in a file that grows by a line for each cell: a grid that was stopped goes on."""

import json
from collections.abc import Iterable
from pathlib import Path

from ..errors import BadInput
from .cells import Given

FILE = "cells.jsonl"


class Ledger:
    """The cells done in a folder, or in none: then they are known as long as this lives.

    >>> ledger = Ledger(None)
    >>> ledger.add([("some key", {"memory": 10}, {"results": 7})])
    >>> ledger.found["some key"]
    {'results': 7}
    """

    def __init__(self, folder: str | Path | None) -> None:
        self.found: dict[str, Given] = {}
        self.path = None if folder is None else Path(folder) / FILE
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
            self.found = dict(_lines(self.path))
        except OSError as error:
            raise BadInput(
                f"the folder of a grid must be one that can be written, got {folder}: "
                f"{error.strerror}; choose another"
            ) from error

    def add(self, done: Iterable[tuple[str, Given, Given]]) -> None:
        """Write down (key, what was given, what was found) at once."""
        rows = list(done)
        self.found |= {key: found for key, _, found in rows}
        if self.path is None:
            return
        lines = (json.dumps({"cell": k, "given": g, "found": f}) + "\n" for k, g, f in rows)
        with self.path.open("a") as file:
            file.write("".join(lines))


def _lines(path: Path) -> list[tuple[str, Given]]:
    """Return what can be read. A process that was killed leaves half a line, as its last."""
    found = []
    text = path.read_text()
    for line in text.splitlines():
        try:
            row = json.loads(line)
            found.append((row["cell"], row["found"]))
        except (json.JSONDecodeError, KeyError, TypeError):
            continue
    if text and not text.endswith("\n"):
        with path.open("a") as file:
            file.write("\n")  # so that the next line is whole
    return found
