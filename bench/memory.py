"""The most memory that child processes took, by what they run."""

import threading

import psutil


class Peak:
    """Watches the JVM and the Python workers below this process; pages they share count twice."""

    def __init__(self) -> None:
        self.jvm = self.python = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._stop.wait(0.5):
            sizes = {"jvm": 0, "python": 0}
            for child in me.children(recursive=True):
                try:
                    size, java = child.memory_info().rss, "java" in child.name()
                except psutil.Error:  # it has just ended
                    continue
                sizes["jvm" if java else "python"] += size
            self.jvm = max(self.jvm, sizes["jvm"])
            self.python = max(self.python, sizes["python"])

    def __enter__(self) -> "Peak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
