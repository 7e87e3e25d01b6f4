"""What is inside the messages: JSON that a person can read with any MQTT client.

Whatever does not make sense is refused with `BadPayload`; who reads messages counts that and goes
on. What is infinite is `null`, since JSON has no infinity.
"""

import json
import math
from typing import Any, NamedTuple

from ..interval import Interval
from ..message import Refresh
from ..rounding import down, is_rounded, up
from ..rule import WHY
from .names import is_name

LARGEST = 4096  # bytes; ours have some 200, or a key more
LATEST = 2**63  # above every number
LAST_RUN = 2**53  # above every run: microseconds of the time of day, until the year 2255


class BadPayload(ValueError):
    """A message that does not make sense."""


class Told(NamedTuple):
    """A refresh as it comes from the wire."""

    refresh: Refresh  # its times are those of the sender's clock
    source: str  # who sent it, and can be asked
    mark: str  # of which request it is the answer, where MQTT cannot say so itself


class Request(NamedTuple):
    """Someone needs the exact value of a key."""

    key: str
    need: float  # how wide an interval would have done
    reply: str = ""  # where to send it, where MQTT cannot say so itself
    mark: str = ""  # what to send with it


class State(NamedTuple):
    """Whether a source is there."""

    run: int  # nothing that it sent in this run or before counts, if it is gone
    here: bool


def write_refresh(
    refresh: Refresh, source: str, silence: float, sent: float, mark: str = ""
) -> bytes:
    """Return a refresh as it goes on the wire.

    silence: what the cache is told of `max_silence`; the source itself speaks somewhat earlier.
    sent: the time of day.

    Of a rounded value, and only of such, it says that it is.

    >>> refresh = Refresh("a", 2.0, Interval(1.0, 3.0), 2.0, 0, 7, 1, 0.0)
    >>> write_refresh(refresh, "a", 60, 1.5)
    b'{"value":2.0,"low":1.0,"high":3.0,"width":2.0,"why":"above","run":7,"number":1,"sent":1.5,...
    """
    low, high = refresh.interval[:2]
    record = {
        "value": refresh.value,
        "low": low if low > -math.inf else None,
        "high": high if high < math.inf else None,
        "width": refresh.rank if refresh.rank < math.inf else None,
        "why": WHY[refresh.why],
        "run": refresh.run,
        "number": refresh.number,
        "sent": sent,
        "silence": silence,
        "source": source,
    }
    if refresh.rounded:
        record["rounded"] = True
    return _write(record | {"mark": mark} if mark else record)


def read_refresh(key: str, payload: bytes) -> Told:
    """Read a refresh of a key, or refuse it.

    >>> read_refresh("a", b'{"value": "warm"}')
    Traceback (most recent call last):
    penstock.precision.wire.payload.BadPayload: value
    """
    record = _read(payload)
    value, rounded = _number(record, "value"), record.get("rounded", False)
    if not isinstance(rounded, bool):
        raise BadPayload("rounded")
    low, high = _end(record, "low", -math.inf), _end(record, "high", math.inf)
    if not low <= record["value"] <= high:
        raise BadPayload("interval")
    why = record.get("why")
    if why not in WHY:
        raise BadPayload("why")
    sent = _number(record, "sent")
    refresh = Refresh(
        key, value, Interval(low, high, sent), _at_least_0(record, "width", math.inf),
        WHY.index(why), _count(record, "run", LAST_RUN), _count(record, "number"), sent,
        _at_least_0(record, "silence"), rounded or is_rounded(record["value"]),
    )  # fmt: skip
    return Told(refresh, _name(record, "source"), _text(record, "mark"))


def write_request(request: Request) -> bytes:
    """Return a request as it goes on the wire.

    >>> write_request(Request("a", 0.5))
    b'{"key":"a","need":0.5}'
    """
    return _write({name: part for name, part in request._asdict().items() if part != ""})


def read_request(payload: bytes) -> Request:
    """Read a request, or refuse it."""
    record = _read(payload)
    key, need = _name(record, "key"), _at_least_0(record, "need")
    return Request(key, need, _text(record, "reply"), _text(record, "mark"))


def write_state(state: State) -> bytes:
    """Return the state of a source as it goes on the wire.

    >>> write_state(State(7, here=False))
    b'{"run":7,"state":"gone"}'
    """
    return _write({"run": state.run, "state": "here" if state.here else "gone"})


def read_state(payload: bytes) -> State:
    """Read the state of a source, or refuse it."""
    record = _read(payload)
    if record.get("state") not in ("here", "gone"):
        raise BadPayload("state")
    return State(_count(record, "run", LAST_RUN), record["state"] == "here")


def _write(record: dict[str, Any]) -> bytes:
    return json.dumps(record, allow_nan=False, separators=(",", ":")).encode()


def _read(payload: bytes) -> dict[str, Any]:
    if len(payload) > LARGEST:
        raise BadPayload("size")
    try:
        record = json.loads(payload, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise BadPayload("JSON") from None
    if not isinstance(record, dict):
        raise BadPayload("object")
    return record


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _number(record: dict[str, Any], name: str) -> float:
    value = record.get(name)
    if isinstance(value, float | int) and not isinstance(value, bool):
        try:
            if math.isfinite(value):
                return float(value)
        except OverflowError:  # an integer beyond all floats
            pass
    raise BadPayload(name)


def _end(record: dict[str, Any], name: str, infinite: float) -> float:
    """Return a number, or null as an infinity; whole numbers are rounded towards that."""
    if name in record and record[name] is None:
        return infinite
    _number(record, name)
    return up(record[name]) if infinite > 0 else down(record[name])


def _at_least_0(record: dict[str, Any], name: str, infinite: float | None = None) -> float:
    value = _number(record, name) if infinite is None else _end(record, name, infinite)
    if value < 0:
        raise BadPayload(name)
    return value


def _count(record: dict[str, Any], name: str, end: int = LATEST) -> int:
    value = record.get(name)
    if type(value) is int and 0 <= value < end:
        return value
    raise BadPayload(name)


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name, "")
    if isinstance(value, str):
        return value
    raise BadPayload(name)


def _name(record: dict[str, Any], name: str) -> str:
    value = _text(record, name)
    if is_name(value):
        return value
    raise BadPayload(name)
