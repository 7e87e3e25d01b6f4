"""The most memory that child processes took, by what they run."""

import re
import threading
from pathlib import Path

import psutil

PSS = re.compile(r"^Pss: +(\d+) kB", re.MULTILINE)


def pss(pid: int | str = "self") -> int:
    """Return the bytes of a process, with its part of what is shared."""
    found = PSS.search(Path(f"/proc/{pid}/smaps_rollup").read_text())
    return int(found[1]) << 10 if found else 0


def workers_pss() -> list[int]:
    """Return the bytes of each Python process below this one, by `pss`."""
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            if child.name().startswith("python"):
                found.append(pss(child.pid))
        except (psutil.Error, OSError):  # it has just ended
            continue
    return found


class Peak:
    """Watches the JVM and the Python workers below this process; pages they share count twice."""

    def __init__(self) -> None:
        self.jvm = self.python = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._stop.wait(0.5):
            java, python = [0], [0]
            for child in me.children(recursive=True):
                try:
                    size, name = child.memory_info().rss, child.name()
                except psutil.Error:  # it has just ended
                    continue
                # The JVM forks for small errands, and until then the fork looks as large as it is.
                if name == "java":
                    java.append(size)
                elif name.startswith("python"):
                    python.append(size)
            self.jvm, self.python = max(self.jvm, *java), max(self.python, sum(python))

    def __enter__(self) -> "Peak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
