"""A Spark session whose chatter goes to a file: it would tear live tables and spoil the JSON."""

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rich.console import Console

from ..errors import PenstockError
from .needs import check_java
from .observe import LOST
from .session import local

SHORT: dict[str, Any] = {  # settings of a session that lives for minutes
    "memory": "1g",
    # Java's second compiler saves time in long runs; in one this short it mostly takes some.
    "spark_driver_extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


@contextmanager
def quiet_session(log: Path, streams: tuple[int, ...] = (1, 2), **settings: Any) -> Iterator[Any]:
    """Start a local session and stop it in the end.

    streams: of Java's output and errors, what goes to the log.
    """
    check_java()
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        with _output_to(log, streams):
            spark = local(spark_ui_showConsoleProgress="false", **settings)
        # PySpark's own handler calls Java in the middle of another call, which ends in a traceback.
        signal.signal(signal.SIGINT, on_interrupt)
        _hush(spark)
    except Exception as error:
        said = log.read_text(errors="replace").strip().splitlines() or [str(error)]
        raise PenstockError(f"Spark does not start: {said[-1]}") from error
    try:
        yield spark
    finally:
        with suppress(*LOST):
            spark.stop()


def _hush(spark: Any) -> None:
    """Let no traceback be printed once Java has ended: an error of ours says so."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # one for each call, before its error
    server = getattr(getattr(spark, "_sc", None), "_accumulatorServer", None)  # a thread of PySpark
    if server is not None:
        server.handle_error = lambda *_: None


@contextmanager
def _output_to(log: Path, streams: tuple[int, ...]) -> Iterator[None]:
    """Let Java inherit a file as its standard output and error; its workers get them from it."""
    sys.stdout.flush()
    sys.stderr.flush()
    ours = [os.dup(number) for number in streams]
    with log.open("wb") as file:
        for number in streams:
            os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        for number, saved in zip(streams, ours, strict=True):
            os.dup2(saved, number)
            os.close(saved)


@contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """Say on standard error what goes on, if that is a terminal."""
    with (
        os.fdopen(os.dup(2), "w") as file,  # a copy, because the original is Java's for a moment
        Console(file=file, quiet=not file.isatty()).status("") as status,
    ):
        yield status.update
