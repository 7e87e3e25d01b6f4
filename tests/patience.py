"""How long tests wait for what must come about: far longer than it takes on a busy machine."""

import time
from collections.abc import Callable

PATIENCE = 1800.0  # seconds; only a test that fails waits so long


def until(holds: Callable[[], object], what: str = "it", pause: float = 0.05) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"{what} did not come about in {PATIENCE:g} seconds"
        time.sleep(pause)
