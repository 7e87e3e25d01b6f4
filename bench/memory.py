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
