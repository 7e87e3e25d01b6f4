"""What Spark reports on a query, in any form: the figures in its progress, and why it failed."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from py4j.protocol import Py4JError

from .figures import JOIN

# By the id of a query: what the driver adds to the figures of its join. See `archive.write.Debt`.
ADDED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
LOST = (Py4JError, ConnectionError)  # what a call of Java raises once Java has ended
OURS = "penstock."
BEGIN = "Traceback (most recent call last)"
CAUSED = "Caused by: "


def figures_of(progress: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Return the figures of one progress report by name; None where it has none of this name.

    They are empty where no bucket was called in this micro-batch.
    """
    row = _plain((progress.get("observedMetrics") or {}).get(name))
    if row is None or row.get("bytes_held") is None:
        return None if row is None else {}
    more = ADDED.get(str(progress.get("id"))) if name == JOIN else None
    return row | more(row) if more else row


def _plain(value: Any) -> Any:
    """Return rows as dictionaries; Spark Connect sends their values and their schema."""
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, dict) and value.keys() == {"values", "schema"}:
        names = [each["name"] for each in value["schema"]["fields"]]
        value = dict(zip(names, value["values"], strict=True))
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def ran_batch(progress: Mapping[str, Any]) -> bool:
    """Tell whether a progress report is of a micro-batch that ran, not of a query that waits."""
    return "addBatch" in progress["durationMs"]


def one_a_line(figures: Any, *more: str) -> str:
    """Return the fields of a dataclass, and what `more` names, with their values, one a line.

    >>> from penstock.engine.adapt.census import InForce
    >>> print(one_a_line(InForce({"rate": 3, "lru": 1}, {"lru": 0.98765}, 1200)))
    buckets   rate 3, lru 1
    scores    lru 0.988
    switches  1,200
    """
    names = [*(each.name for each in fields(figures)), *more]
    width = max(map(len, names))
    return "\n".join(f"{name:{width}}  {_text(getattr(figures, name))}" for name in names)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        between = " " if value and isinstance(value[0], str) else ", "  # a name with its figure
        return between.join(map(_text, value)) or "-"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(each)}" for name, each in value.items()) or "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    if is_dataclass(value):
        parts = [(each.name, getattr(value, each.name)) for each in fields(value)]
        return "; ".join(f"{name}: {_text(part)}" for name, part in parts)
    if isinstance(value, str | bool):
        return str(value)
    return "-" if value is None else f"{value:,}"


def cause(error: str) -> str:
    """Return the line that says why: ours, else Python's, else the innermost of Java.

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
