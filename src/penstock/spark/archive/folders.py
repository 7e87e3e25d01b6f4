"""Folders on any file system that Spark knows: written aside, and moved into place as a whole."""

import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ...errors import BadInput

COMPACT = {"compression": "zstd", "parquet.writer.version": "v2"}  # places are nearly in order
GLOBBED = "{}[]*?\\"  # Spark takes these in a path for a pattern
STAGED = ".staged"  # the folder in which all is written; readers overlook it
NOTHING: Mapping[str, str] = {}
TIMES = "spark.sql.parquet.outputTimestampType"  # Spark writes times to this precision
EXACT = "TIMESTAMP_MICROS"
LISTING = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
TASKS = "16"  # that list folders; Spark would take one for each, of which a day has thousands
TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)  # there is one of this name
SAID = "said"  # the file of a claim where this is a folder

# By session and setting: what its user had set, and in how many places it is another now.
_users: dict[tuple[str, str], tuple[str, int]] = {}
_using = Lock()


@contextmanager
def while_set(session: Any, setting: str, value: str) -> Iterator[None]:
    """Let a session have a setting meanwhile, whatever its user has set."""
    name = str(session._jsparkSession.sessionUUID()), setting
    with _using:
        before, count = _users.get(name, (str(session.conf.get(setting)), 0))
        _users[name] = before, count + 1
        if before != value:
            session.conf.set(setting, value)
    try:
        yield
    finally:
        with _using:
            before, count = _users.pop(name)
            if count > 1:
                _users[name] = before, count - 1
            elif before != value:
                session.conf.set(setting, before)


class Folders:
    """One root folder and what lies in it by name."""

    def __init__(self, session: Any, root: str):
        if not hasattr(session, "_jvm"):
            raise BadInput(
                "an archive is written and read by classic Spark, which moves folders, and not by "
                "Spark Connect; run this where the driver is"
            )
        if not root or set(GLOBBED) & set(root):
            raise BadInput(
                f"a path must not be empty or have one of {GLOBBED} in it, which Spark takes for a "
                f"pattern, got {root!r}; pass another folder"
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

    def read(self, names: Sequence[str], kind: T.StructType) -> DataFrame:
        """Return the rows of folders that were published."""
        with while_set(self.session, LISTING, TASKS):
            return self.session.read.schema(kind).parquet(*map(self.path, names))

    def within(self, name: str) -> "Folders":
        """Return a folder that lies in this one."""
        return Folders(self.session, self.path(name))

    def numbers(self, prefix: str) -> list[int]:
        """Return the numbers n for which there is `prefix` followed by n, in order."""
        return sorted(self.written(prefix))

    def written(self, prefix: str) -> dict[int, float]:
        """Return when each of them was written, in seconds since 1970."""
        return {
            int(name.removeprefix(prefix)): at
            for name, at in self.names()
            if name.startswith(prefix) and name.removeprefix(prefix).isdigit()
        }

    def names(self) -> list[tuple[str, float]]:
        """Return what lies in the folder, and when it was written."""
        if self.root.startswith("file:"):  # each question that Java is asked takes its time
            return list(_listed(self._local(self.root)))
        root = self._path(self.root)
        found = self._files.listStatus(root) if self._files.exists(root) else []
        return [(str(e.getPath().getName()), e.getModificationTime() / 1000) for e in found]

    def has(self, name: str) -> bool:
        """Tell whether there is something of this name."""
        return bool(self._files.exists(self._path(self.path(name))))

    def publish(
        self, frame: DataFrame, name: str, beside: Mapping[str, str] = NOTHING, **options: str
    ) -> None:
        """Write rows as a folder that is there as a whole or not at all, texts `beside` them.

        One of this name, left by an earlier attempt, is replaced.
        """
        staged, old = self.stage(frame, name, beside, **options), f".old-{name}"
        self.remove(old)
        self._move(name, old)
        if not self._move(staged, name):
            raise OSError(f"{self.path(staged)} could not be moved to {self.path(name)}")
        self.remove(old)
        self._clear(name)

    def publish_once(self, frame: DataFrame, name: str) -> bool:
        """Write rows as such a folder, unless there is one of this name; tell if they are written.

        Several processes may do so at once, if they write the same: one of them wins.
        """
        has_written = False
        if not self.has(name):
            try:
                staged = self.stage(frame, name)
                has_written = True
                self.place_once(staged, name)
            except Exception:  # the one that has won removes what the others write
                if not self.has(name):
                    raise
        self._clear(name)
        return has_written

    def place_once(self, staged: str, name: str) -> None:
        """Move what was staged into place, unless there is something of this name."""
        if not self.has(name) and not self._move(staged, name) and not self.has(name):
            raise OSError(f"{self.path(staged)} could not be moved to {self.path(name)}")
        self._clear(name)

    def discard(self, name: str) -> None:
        """Remove what has this name, with what attempts at writing it have left."""
        self.remove(name)
        self._clear(name)

    def _aside(self, name: str) -> str:
        """Return where something is written before it gets its name.

        Each time elsewhere: tasks of a process that was killed may still be writing.
        """
        return f"{STAGED}/{name}-{uuid4().hex}"

    def _clear(self, name: str) -> None:
        """Remove what attempts at writing something have left."""
        for each, _ in self.within(STAGED).names():
            if each.startswith(f"{name}-"):
                self.remove(f"{STAGED}/{each}")

    def stage(
        self, frame: DataFrame, name: str, beside: Mapping[str, str] = NOTHING, **options: str
    ) -> str:
        """Write rows aside, and texts `beside` them; return where."""
        staged = self._aside(name)
        # Cut to milliseconds, rows at the edge of a window would match others than they did.
        with while_set(frame.sparkSession, TIMES, EXACT):
            frame.write.options(**options).parquet(self.path(staged))
        for each, text in beside.items():
            self._create(f"{staged}/{each}", text)
        return staged

    def _move(self, name: str, new: str) -> bool:
        """Move a folder unless there is something of the new name; tell whether it was moved.

        In one step: Hadoop's own `rename` moves a folder *into* one that is there.
        """
        if self.root.startswith("file:"):
            try:
                os.rename(self._local(self.path(name)), self._local(self.path(new)))
            except OSError as error:
                if error.errno in (errno.ENOENT, *TAKEN):
                    return False
                raise
            return True
        java: Any = self._java.org.apache.hadoop.fs
        source, target = (self._path(self.path(each)) for each in (name, new))
        kind = java.Options.Rename
        never = self.session._sc._gateway.new_array(kind, 1)
        never[0] = kind.NONE  # replaces nothing
        try:
            conf = self.session._jsc.hadoopConfiguration()
            java.FileContext.getFileContext(source.toUri(), conf).rename(source, target, never)
        except Py4JJavaError as error:
            reason = error.java_exception.getClass().getSimpleName()
            if reason in ("FileAlreadyExistsException", "FileNotFoundException"):
                return False
            raise
        return True

    def remove(self, name: str) -> None:
        """Remove what has this name, if it is there."""
        self._files.delete(self._path(self.path(name)), True)

    def size(self, name: str) -> int:
        """Return the bytes of what has this name."""
        return int(self._files.getContentSummary(self._path(self.path(name))).getLength())

    def claim(self, name: str, text: str) -> str:
        """Write a small file unless there is one of this name; return what it says.

        Of several processes that do so at once one wins, and all are told the same.
        """
        aside = self._aside(name)
        self._create(aside, text)
        if not self.has(name):
            if self.root.startswith("file:"):  # where a file that is moved replaces another
                self._link(aside, name, text)
            else:
                self._move(aside, name)
        self._files.delete(self._path(self.path(aside)), False)
        said = self.read_text(name)
        assert said is not None
        return said

    def _link(self, aside: str, name: str, text: str) -> None:
        """Give a local file a name unless there is something of this name, in one step."""
        try:
            os.link(self._local(self.path(aside)), self._local(self.path(name)))
        except FileExistsError:
            pass
        except OSError:  # the file system has no links: folders do not replace each other either
            self._create(f"{aside}.folder/{SAID}", text)
            self._move(f"{aside}.folder", name)
            self.remove(f"{aside}.folder")

    def _local(self, path: str) -> str:
        return str(self._path(path).toUri().getPath())

    def _create(self, name: str, text: str) -> None:
        out = self._files.create(self._path(self.path(name)), True)
        out.write(bytearray(text.encode()))
        out.close()

    def read_text(self, name: str, otherwise: str | None = None) -> str | None:
        """Return what a small file says, or the other text where there is none."""
        path = self._path(self.path(name))
        if not self._files.exists(path):
            return otherwise
        if self.root.startswith("file:") and os.path.isdir(self._local(self.path(name))):
            path = self._path(self.path(f"{name}/{SAID}"))
        source = self._files.open(path)
        text = self._java.org.apache.commons.io.IOUtils.toString(source, "UTF-8")
        source.close()
        return str(text)


def _listed(folder: str) -> Iterator[tuple[str, float]]:
    try:
        found = os.scandir(folder)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise BadInput(f"{folder} is a file, not a folder; pass another path") from None
    with found:
        for each in found:
            with suppress(FileNotFoundError):  # it was removed meanwhile
                yield each.name, each.stat().st_mtime


def last_commit(checkpoint: Folders) -> int | None:
    """Return the last micro-batch that a query has committed and will not repeat."""
    commits = checkpoint.within("commits").numbers("")
    return commits[-1] if commits else None


def watermark_of(checkpoint: Folders, batch: int) -> int:
    """Return Spark's watermark in a micro-batch: microseconds, 0 while there is none."""
    said = checkpoint.read_text(f"offsets/{batch}") or ""
    for line in said.splitlines():
        found: Any = json.loads(line) if line.startswith("{") else {}
        if "batchWatermarkMs" in found:
            return 1000 * int(found["batchWatermarkMs"])
    return 0
