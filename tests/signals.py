"""Signals as a test needs them, however the tests themselves were started."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def handled(number: signal.Signals, handler: Any) -> Iterator[None]:
    """Let this process, and the processes that it starts meanwhile, treat a signal in this way.

    Tests that run in the background (`make test &`, `nohup make test`) have SIGINT ignored, and so
    have the programs that they start. With a handler here, those start with Python's own.
    """
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)
