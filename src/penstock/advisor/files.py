"""Advice for files."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..simulate import read_lookup, read_pair
from ..simulate.scenario import check_within, read_within
from ..simulate.tracefiles import row_bytes
from .advice import Advice
from .advise import advise_join, advise_lookup, check_target

File = str | PathLike[str]


def advise_files(
    left: File, right: File, on: str, time: str | None, within: str | None, **options: Any
) -> Advice:
    """Say how much memory the join of two files needs, taken as streams."""
    check_target(options.get("target", 0.95))
    if within is not None:
        check_within(within)
    with _named_on():
        trace = read_pair(left, right, key=on, time=time)
    window = None if within is None else read_within(within, trace.micro, trace.name)
    return advise_join(
        trace.side,
        trace.key,
        trace.time,
        window,
        name=trace.name,
        payload=(row_bytes(left) + row_bytes(right)) / 2,
        call=_join_call(on, time, within, trace.micro),
        **options,
    )


def advise_references(events: File, on: str, time: str | None, **options: Any) -> Advice:
    """Say how much memory a cache needs for the keys of a file."""
    check_target(options.get("target", 0.95))
    with _named_on():
        trace = read_lookup(events, key=on, time=time)
    call = f"lookup(events, relation, on={_names(on)}, memory={{budget}}, policy={{policy!r}})"
    return advise_lookup(trace.key, name=Path(events).name, call=call, **options)


@contextmanager
def _named_on() -> Iterator[None]:
    """Name the key as it is named here: what readers call `key=` is `on=`."""
    try:
        yield
    except BadInput as error:
        raise BadInput(str(error).replace("key=", "on=")) from None


def _join_call(on: str, time: str | None, within: str | None, micro: bool) -> str:
    """Return the call to paste: on Spark where times are timestamps, else of the engine."""
    if not micro:
        window = "" if within is None else f", within={within.strip()}"
        return f"Join(policy={{policy!r}}, budget={{budget}}{window})"
    window = "" if within is None else f", within={within!r}"
    columns = (time or "time").split(",")
    named = repr(columns[0]) if len(columns) == 1 else repr(tuple(columns))
    return (
        f"join(left, right, on={_names(on)}, time={named}{window}, "
        "budget={budget}, policy={policy!r})"
    )


def _names(on: str) -> str:
    columns = [each.strip() for each in on.split(",")]
    return repr(columns[0]) if len(columns) == 1 else repr(columns)
