"""Why a query failed: one line of the many that Spark has of it."""

import re
from collections.abc import Iterator

OURS = "penstock."
BEGIN = "Traceback (most recent call last)"
CAUSED = "Caused by: "


def cause(error: str) -> str:
    """Return the line that tells why: ours, else Python's, else the innermost of Java.

    >>> cause("[STREAM_FAILED] ...\\n  File a\\npenstock.errors.BadState: of another join\\n at b")
    'of another join'
    >>> cause("E: Job: Traceback (most recent call last):\\n  File a\\nKeyError: 7\\n\\n\\tat b")
    'KeyError: 7'
    >>> cause("a.E: Job aborted\\n\\tat b\\nCaused by: java.io.IOException: disk full\\n\\tat c")
    'IOException: disk full'
    >>> cause("[STREAM_FAILED] Query [id = 1] terminated with exception: no such topic SQLSTATE: X")
    'no such topic'
    """
    lines = error.splitlines()
    ours = [line.strip() for line in lines if line.strip().startswith(OURS)]
    if ours:
        return ours[-1].partition(": ")[2] or ours[-1]
    python, caused = list(_ends(lines)), [each for each in lines if each.startswith(CAUSED)]
    if python:
        return python[-1]
    if caused:
        return bare(re.sub(r"^[\w.]*\.(?=\w+: )", "", caused[-1].removeprefix(CAUSED)))
    before, _, reason = error.partition("terminated with exception: ")
    return bare((reason or before).strip().partition("\n")[0])


def _ends(lines: list[str]) -> Iterator[str]:
    """Yield what follows the stack of each traceback of Python."""
    inside = False
    for line in lines:
        if BEGIN in line:
            inside = True
        elif inside and line.strip() and not line.startswith((" ", "\t")):
            inside = False
            yield line.strip()


def bare(said: str) -> str:
    """Return a line of Spark without its codes.

    >>> bare("[PATH_NOT_FOUND] Path does not exist: a. SQLSTATE: 42K03")
    'Path does not exist: a'
    """
    return re.sub(r"\[[A-Z_.0-9]{4,}\] |\.? SQLSTATE: \w+.*", "", said)
