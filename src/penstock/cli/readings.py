"""Readings from a file, the standard input or a command: a key and a number on every line.

Apart from the command `source`, which loads it only when it runs.
"""

import math
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import BadInput
from ..numeric import check_number
from ..precision.wire import SourceClient
from ..precision.wire.messages import check_name

WHOLE = 2**53  # up to here every whole number is a float


class Reading(NamedTuple):
    """The current value of a key; it may be NaN or infinite."""

    key: str
    value: float


def read_lines(lines: Iterable[str], where: str, key: str | None = None) -> Iterator[Reading]:
    """Read `KEY NUMBER` from every line, or only a number if the key is given; skip empty lines.

    NaN and infinities are valid here: one failure of a sensor must not end the source.

    >>> list(read_lines(["sensor/3/temp 21.5", "", "hall 19"], "the notes"))
    [Reading(key='sensor/3/temp', value=21.5), Reading(key='hall', value=19.0)]
    >>> list(read_lines(["warm"], "the notes", key="hall"))
    Traceback (most recent call last):
    penstock.errors.BadInput: line 1 of the notes must be a number, got 'warm'
    """
    if key is not None:
        check_name("a key", key)
    for n, line in enumerate(lines, 1):
        if line.strip():
            yield _read(line.strip(), f"line {n} of {where}", key)


def _read(line: str, where: str, key: str | None) -> Reading:
    """Split at the last space, since a key may contain spaces."""
    name, said = (key, line) if key is not None else line.rpartition(" ")[::2]
    wanted = "a number" if key is not None else "a key and a number"
    value = _number(said)
    if not name or value is None:
        hint = "" if key is not None else "; or name the key with key="
        raise BadInput(f"{where} must be {wanted}, got {line[:60]!r}{hint}")
    return Reading(check_name(f"the key in {where}", name.strip()), value)


def _number(said: str) -> float | None:
    """Return a number, as an integer if no float may equal it; None if the text is not a number."""
    try:
        value = float(said)
        whole = math.isfinite(value) and abs(value) >= WHOLE and said.strip("+-").isdecimal()
        return int(said) if whole else value
    except ValueError:
        return None


def from_file(file: str | None, key: str | None) -> Iterator[Reading]:
    """Read a file, after checking it to its end.

    Without a file, or with `-`: read the standard input line by line.
    """
    if file is None or file == "-":
        yield from read_lines(sys.stdin, "the standard input", key)
        return
    for _ in _read_file(file, key):
        pass
    yield from _read_file(file, key)


def from_command(
    command: str, key: str | None, every: float, most: float = math.inf
) -> Iterator[Reading]:
    """Run a command every so many seconds, for ever; it prints readings.

    most: seconds that it may take; after that the values are unknown.
    """
    every = check_number("every", every, 0)
    where = f"what {command!r} printed"
    while True:
        began = time.monotonic()
        try:
            ran = subprocess.run(
                command,
                shell=True,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=None if most == math.inf else most,
            )
        except subprocess.TimeoutExpired:
            raise BadInput(
                f"the command {command!r} took more than {most:g} seconds; make it faster, or"
                " allow for more silence"
            ) from None
        if ran.returncode != 0:
            said = ran.stderr.strip().splitlines()
            raise BadInput(
                f"the command {command!r} ended with code {ran.returncode}"
                + (f": {said[-1]}" if said else "")
            )
        yield from read_lines(ran.stdout.splitlines(), where, key)
        time.sleep(max(0.0, began + every - time.monotonic()))


def at_pace(readings: Iterable[Reading], every: float) -> Iterator[Reading]:
    """Yield the readings, and wait so many seconds after each."""
    every = check_number("every", every, 0)
    for reading in readings:
        yield reading
        time.sleep(every)


def feed(client: SourceClient, readings: Iterable[Reading]) -> int:
    """Publish readings, skipping those that are not finite numbers; return how many these were.

    A skipped reading leaves the previous one valid. Standard error reports the 1st, 2nd, 4th, 8th
    and so on.
    """
    skipped = 0
    for key, value in readings:
        if math.isfinite(value):
            client.set(key, value)
            continue
        skipped += 1
        if skipped & (skipped - 1) == 0:
            print(
                f"penstock: a reading of {key} is no finite number ({value}) and is skipped,"
                f" {skipped:,} so far; the previous reading stays valid",
                file=sys.stderr,
                flush=True,
            )
    return skipped


def _read_file(file: str, key: str | None) -> Iterator[Reading]:
    try:
        with Path(file).open(encoding="utf-8") as lines:
            yield from read_lines(lines, file, key)
    except OSError as error:
        raise BadInput(f"the file {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"the file {file} cannot be read: it is not text") from None
