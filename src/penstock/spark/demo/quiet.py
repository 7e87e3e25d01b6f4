"""A Spark session whose chatter goes to a file: it would tear the live table and spoil the JSON."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import PenstockError
from ..needs import check_java
from ..session import local

SETTINGS: dict[str, Any] = {
    "spark_ui_showConsoleProgress": "false",
    # Java's second compiler pays in long runs; in one this short it mostly costs.
    "spark_driver_extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


@contextmanager
def quiet_session(log: Path, memory: str = "1g") -> Iterator[Any]:
    """Start a local session and stop it in the end."""
    check_java()
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        with _output_to(log):
            spark = local(memory=memory, **SETTINGS)
        # PySpark's own handler calls Java in the middle of another call, which ends in a traceback.
        signal.signal(signal.SIGINT, on_interrupt)
    except Exception as error:
        said = log.read_text(errors="replace").strip().splitlines() or [str(error)]
        raise PenstockError(f"Spark does not start: {said[-1]}") from error
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Let Java inherit a file as its standard output and error; its workers get them from it."""
    sys.stdout.flush()
    sys.stderr.flush()
    ours = os.dup(1), os.dup(2)
    with log.open("wb") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        for number, saved in zip((1, 2), ours, strict=True):
            os.dup2(saved, number)
            os.close(saved)
