"""Taking turns among processes: who comes second waits until the first is done, but not forever.

The workers of a Spark job start together and need the same kernels. Each of them compiling its own
takes as long as one of them compiling for all, times the workers that share a processor.
"""

import os
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # not a POSIX system: nobody waits
    fcntl = None  # type: ignore[assignment]

PATIENCE = 60.0  # seconds; whoever is still at it may have failed
PAUSE = 0.02


class Turn:
    """One's turn at whatever the file stands for; ends with `end`, or with the process."""

    def __init__(self, file: Path, patience: float | None = None):
        self.had_to_wait = False
        self._file = file
        self._handle: int | None = None
        if fcntl is None:
            return
        try:
            self._handle = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
            deadline = time.monotonic() + (PATIENCE if patience is None else patience)
            while not _locked(self._handle) and time.monotonic() < deadline:
                self.had_to_wait = True
                time.sleep(PAUSE)
        except OSError:  # the file system knows no locks
            self.end()

    def end(self) -> None:
        """Let the next one have its turn."""
        if self._handle is not None:
            # Who opens the file anew does not see who waits for the old one: at worst both go on.
            self._file.unlink(missing_ok=True)
            os.close(self._handle)  # which unlocks it
            self._handle = None


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
