"""What a checkpoint was written with, compared with what is asked for now."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import BadState
from ...kernel.durations import in_words
from ..frames import MARKED

Print = dict[str, Any]  # a fingerprint as it was read from JSON


class Difference(NamedTuple):
    """How a query was, how it is now, and how to make it as it was."""

    before: str  # follows "a join"
    now: str  # follows "and now"
    way_out: str


def first_difference(found: Print, wanted: Print, what: str) -> Difference | None:
    """Return the first thing on which a checkpoint and a query must agree and do not."""
    written_by = found.get("operator", "join")
    if written_by != what:
        # It follows "was written by a join".
        return Difference("", f"it is a {what}", f"run a {written_by} again")
    for name, now in wanted.items():
        before = found.get(name)
        if name == "columns":
            changed = _columns(before or [], now)
            if changed is not None:
                return changed
        elif name == MARKED and before != now:
            return Difference(
                " of an earlier Penstock, for which some structs and arrays were one key",
                "they are told apart",
                "restart with the version that wrote it",
            )
        elif before != now:
            written = WRITTEN.get(name, f"{name}={{!r}}".format)
            was, verb = written(before), "set" if name.startswith("spark.") else "pass"
            return Difference(f" with {was}", f"with {written(now)}", f"{verb} {was}")
    return None


def _columns(before: list[list[str]], now: list[list[str]]) -> Difference | None:
    """Compare the columns of each frame; their order does not matter."""
    if len(before) != len(now):
        return Difference(f" of {len(before)} frames", f"of {len(now)}", "pass the same frames")
    for number, (old, new) in enumerate(zip(before, now, strict=True)):
        kinds, after = _kinds(old), _kinds(new)
        frame = ("left", "right")[number] if len(now) == 2 else f"{number + 1}."
        for name in (*kinds, *after):
            if kinds.get(name) != after.get(name):
                return Difference(
                    f" whose {frame} frame had {_column(name, kinds)}",
                    f"it has {_column(name, after)}",
                    "pass it with the columns that it had",
                )
    return None


def _kinds(columns: list[str]) -> dict[str, str]:
    """Return the type of each column by its name, which may hold a colon.

    >>> _kinds(["a: b: struct<x:int>"])
    {'a: b': 'struct<x:int>'}
    """
    parts = [column.rpartition(": ") for column in columns]
    return {name: kind for name, _, kind in parts}


def _column(name: str, kinds: dict[str, str]) -> str:
    return f"the column {name!r} of type {kinds[name]}" if name in kinds else f"no column {name!r}"


def _span(value: Any) -> str:
    if isinstance(value, list):
        return f"within={tuple(map(in_words, value))!r}"
    return "no within" if value is None else f"within={in_words(value)!r}"


def _behind(value: Any) -> str:
    return "delay= and frames without a watermark" if value else "frames that carry a watermark"


def _keys(value: Any) -> str:
    names = [_one(each) for each in value or []]
    return f"on={names[0]!r}" if len({repr(name) for name in names}) == 1 else f"on={names!r}"


def _one(names: list[str]) -> str | list[str]:
    """Return one name where all are the same."""
    return names[0] if names and len(set(names)) == 1 else names


def _joins(value: Any) -> str:
    parts = [" and ".join(str(1 + stream) for stream in join) for join in value or []]
    return f"joins of the frames {'; '.join(parts)}"


def _key_column(value: Any) -> str:
    names = ", ".join(f"{name!r} of type {kind}" for name, kind in _kinds(value or []).items())
    return f"the key {names}"


WRITTEN: dict[str, Callable[[Any], str]] = {
    "within": _span,
    "near": lambda value: "no near" if value is None else f"near={value}",
    "behind": _behind,
    "keys": _keys,
    "time": lambda value: f"time={_one(value or [])!r}",
    "joins": _joins,
    "spark.sql.shuffle.partitions": "spark.sql.shuffle.partitions={}".format,
    "key": _key_column,
}


def check_fingerprint(found: dict[str, Any], wanted: dict[str, Any], what: str = "join") -> None:
    """Refuse state that was written by another query, naming what differs."""
    other = first_difference(found, json.loads(json.dumps(wanted)), what)
    if other is not None:
        written_by = found.get("operator", "join")
        raise BadState(
            f"the checkpoint was written by a {written_by}{other.before}, and now {other.now}; "
            f"{other.way_out}, or start with a new checkpoint (nothing was changed in this one)"
        )
