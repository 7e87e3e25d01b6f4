"""Folders on any file system that Spark knows: written aside, and moved into place as a whole."""

import json
from typing import Any

from pyspark.sql import DataFrame

from ..errors import BadInput

COMPACT = {"compression": "zstd", "parquet.writer.version": "v2"}  # places are nearly in order


class Folders:
    """One root folder and what lies in it by name."""

    def __init__(self, session: Any, root: str):
        if not hasattr(session, "_jvm"):
            raise BadInput(
                "an archive is written and read by classic Spark, which moves folders, and not by "
                "Spark Connect; run this where the driver is"
            )
        java: Any = session._jvm
        self._java = java
        self.session = session
        self._path = java.org.apache.hadoop.fs.Path
        self._files = self._path(root).getFileSystem(session._jsc.hadoopConfiguration())
        self.root = str(self._files.makeQualified(self._path(root)).toString()).rstrip("/")

    def path(self, name: str) -> str:
        """Return the whole path of what is in the folder."""
        return f"{self.root}/{name}"

    def numbers(self, prefix: str) -> list[int]:
        """Return the numbers n for which there is `prefix` followed by n, in order."""
        return sorted(
            int(name.removeprefix(prefix))
            for name in self._names()
            if name.startswith(prefix) and name.removeprefix(prefix).isdigit()
        )

    def _names(self) -> list[str]:
        root = self._path(self.root)
        found = self._files.listStatus(root) if self._files.exists(root) else []
        return [each.getPath().getName() for each in found]

    def publish(self, frame: DataFrame, name: str, **options: str) -> None:
        """Write rows as a folder that is there as a whole or not at all.

        One of this name, left by an earlier attempt, is replaced.
        """
        staged, old = f".staged-{name}", f".old-{name}"
        frame.write.mode("overwrite").options(**options).parquet(self.path(staged))
        self.remove(old)
        self._move(name, old)
        if not self._move(staged, name):
            raise OSError(f"{self.path(staged)} could not be moved to {self.path(name)}")
        self.remove(old)

    def _move(self, name: str, new: str) -> bool:
        source, target = (self._path(self.path(each)) for each in (name, new))
        return bool(self._files.exists(source) and self._files.rename(source, target))

    def remove(self, name: str) -> None:
        """Remove what has this name, if it is there."""
        self._files.delete(self._path(self.path(name)), True)

    def size(self, name: str) -> int:
        """Return the bytes of what has this name."""
        return int(self._files.getContentSummary(self._path(self.path(name))).getLength())

    def write_text(self, name: str, text: str) -> None:
        """Write a small file as a whole."""
        staged = self._path(self.path(f".staged-{name}"))
        out = self._files.create(staged, True)
        out.write(bytearray(text.encode()))
        out.close()
        self._files.delete(self._path(self.path(name)), False)
        self._files.rename(staged, self._path(self.path(name)))

    def read_text(self, name: str) -> str | None:
        """Return what a small file says, None where there is none."""
        path = self._path(self.path(name))
        if not self._files.exists(path):
            return None
        source = self._files.open(path)
        text = self._java.org.apache.commons.io.IOUtils.toString(source, "UTF-8")
        source.close()
        return str(text)


def last_commit(checkpoint: Folders) -> int | None:
    """Return the last micro-batch that a query has committed and will not repeat."""
    commits = Folders(checkpoint.session, checkpoint.path("commits")).numbers("")
    return commits[-1] if commits else None


def watermark_of(checkpoint: Folders, batch: int) -> int:
    """Return Spark's watermark in a micro-batch: microseconds, 0 while there is none."""
    said = checkpoint.read_text(f"offsets/{batch}") or ""
    for line in said.splitlines():
        found: Any = json.loads(line) if line.startswith("{") else {}
        if "batchWatermarkMs" in found:
            return 1000 * int(found["batchWatermarkMs"])
    return 0
