"""The course of a query's figures: bounded, the older ones further apart, kept in a small file.

A sample is what one progress report said: `at` (seconds since 1970), `batch`, `seconds` (the parts
of the micro-batch), `rates` (rows a second, in and processed), `waiting` (rows that the sources
hold and no micro-batch has read; None if they do not say), `recent` (recall with its interval over
about the last minute, of a join) and `figures` (totals, as `penstock.spark.metrics` names them).
"""

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..errors import BadInput

FOLDER = "penstock"  # in the folder of the checkpoint, and removed together with it
ENDING = ".jsonl"
MOST = 400  # samples
FORMAT = 1  # of the file; one of another is not read

Sample = dict[str, Any]


class QueryHistory:
    """The samples of one query. What it is called and does stands in `about`."""

    def __init__(self, about: dict[str, Any], path: Path | None = None):
        self.about = about
        self.samples: list[Sample] = []
        self._path = path
        self._written = False  # by this process
        if path is not None and path.exists():
            before, self.samples = _read(path)
            self.about = before | about

    def add(self, sample: Sample) -> None:
        """Take a sample; where there are too many, every second one of the older half is left.

        Those that are not older are dropped: the clock was set back.
        """
        older = [each for each in self.samples if each["at"] < sample["at"]]
        self._written &= len(older) == len(self.samples)
        self.samples = [*older, sample]  # as a whole: a page may be drawn meanwhile
        if len(self.samples) > MOST:
            old = MOST // 2
            self.samples = self.samples[:old:2] + self.samples[old:]
            self.save()
        elif self._path is not None and self._written and self._path.exists():
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(sample) + "\n")
        else:
            self.save()

    def save(self) -> None:
        """Write the file anew; it is whole at any time. A checkpoint that was removed stays so."""
        if self._path is None:
            return
        self._path.parent.mkdir(exist_ok=True)
        lines = [
            json.dumps(each) for each in ({"about": self.about, "format": FORMAT}, *self.samples)
        ]
        new = self._path.with_suffix(".new")
        new.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.replace(new, self._path)
        self._written = True


def history_folder(checkpoint: str) -> Path | None:
    """Return the folder of a checkpoint's histories; None where it is not on a local disk.

    >>> history_folder("file:///data/c").as_posix(), history_folder("s3a://bucket/c")
    ('/data/c/penstock', None)
    """
    parts = urlsplit(checkpoint)
    if parts.scheme not in ("", "file"):
        return None
    folder = url2pathname(parts.path) if parts.scheme else checkpoint
    return Path(folder).absolute() / FOLDER


def read_histories(checkpoint: str) -> list[QueryHistory]:
    """Return the histories beside a checkpoint: of its join, lookup or thin."""
    folder = history_folder(checkpoint)
    if folder is None:
        raise BadInput(
            f"the history of a query is read from a local disk, got {checkpoint}; copy its folder "
            f"{FOLDER!r} here, into a folder of its own"
        )
    try:
        found = [QueryHistory({}, path) for path in sorted(folder.glob(f"*{ENDING}"))]
    except OSError as error:
        raise BadInput(f"{error.filename} cannot be read: {error.strerror}") from None
    if not any(each.samples for each in found):
        raise BadInput(
            f"{checkpoint} has no history of a query; penstock.spark.monitor writes one while it "
            "runs, of queries that were given checkpoint="
        )
    return [each for each in found if each.samples]


def _read(path: Path) -> tuple[dict[str, Any], list[Sample]]:
    """Return what a file holds; lines that a crash has cut off or that are damaged are left out."""
    about: dict[str, Any] = {}
    samples: list[Sample] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            read = json.loads(line)
        except ValueError:
            continue
        if not isinstance(read, dict):
            continue
        if isinstance(read.get("about"), dict) and read.get("format") == FORMAT:
            about = read["about"]
        elif about and _is_sample(read) and (not samples or read["at"] > samples[-1]["at"]):
            samples.append(read)
    return about, samples


def _is_sample(read: dict[str, Any]) -> bool:
    parts = {"at": float, "batch": int, "seconds": dict, "rates": list, "figures": dict}
    return all(isinstance(read.get(name), kind) for name, kind in parts.items())
