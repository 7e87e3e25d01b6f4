"""Topics, keys and patterns of keys, and the content of messages.

The content is JSON that a person can read with any MQTT client. An invalid message raises
`BadPayload`; a client counts it and continues. An infinity is `null`, since JSON has none.
"""

import json
import math
from typing import Any, NamedTuple

from ...errors import BadInput
from ..interval_source import Interval, Refresh
from ..rounding import down, is_rounded, up
from ..rule import WHY

LONGEST = 1024  # characters of a name
FORBIDDEN = "+#(),<>"  # the wildcards of MQTT, and what has a meaning in a query
LARGEST = 4096  # bytes; our messages have some 200, plus a key
LATEST = 2**63  # above every number
LAST_RUN = 2**53  # above every run: microseconds of the time of day, until the year 2255


# Kinds of topics: the retained interval of a key; requests to a source; its retained presence, and
# its last will; answers to a cache.
INTERVAL, ASK, PRESENCE, REPLY = "interval", "ask", "source", "reply"


def read_topic(root: str, topic: str) -> tuple[str, str]:
    """Return the kind of a topic, and the key, source or cache that it is about; else empty texts.

    >>> read_topic("penstock", "penstock/interval/sensor/3/temp"), read_topic("penstock", "$SYS")
    (('interval', 'sensor/3/temp'), ('', ''))
    """
    kind, _, name = topic.removeprefix(f"{root}/").partition("/")
    return (kind, name) if name and topic.startswith(f"{root}/") else ("", "")


def is_name(name: str) -> bool:
    """Tell whether a name can be part of a topic.

    >>> is_name("sensor/3/temp"), is_name("sensor//temp"), is_name("$SYS/load")
    (True, False, False)
    """
    return (
        0 < len(name) <= LONGEST
        and name.isprintable()
        and not any(sign in name for sign in FORBIDDEN)
        and not name.startswith("$")
        and all(part.strip() == part != "" for part in name.split("/"))
    )


def check_name(what: str, name: str) -> str:
    """Return a name that can be part of a topic.

    >>> check_name("a key", "sensor/+/temp")
    Traceback (most recent call last):
    penstock.errors.BadInput: a key must be a name such as sensor/3/temp, without wildcards, ...
    """
    if is_name(name):
        return name
    raise BadInput(
        f"{what} must be a name such as sensor/3/temp, without wildcards, brackets, commas,"
        f" < or >, empty parts or $ at its beginning, got {name!r}"
    )


def check_pattern(pattern: str) -> str:
    """Return a pattern of keys in MQTT's notation; `*` means all keys.

    >>> check_pattern("sensor/+/temp"), check_pattern("*")
    ('sensor/+/temp', '#')
    >>> check_pattern("sensor/#/temp")
    Traceback (most recent call last):
    penstock.errors.BadInput: a pattern of keys must be ... got 'sensor/#/temp'
    """
    if pattern in ("*", "#"):
        return "#"
    parts = pattern.removesuffix("/#").split("/")
    if is_name("/".join("any" if part == "+" else part for part in parts)):
        return pattern
    raise BadInput(
        "a pattern of keys must be a key, with + for any one part of it or # for all further"
        f" parts, as in sensor/+/temp or sensor/#, got {pattern!r}"
    )


def matches(pattern: str, key: str) -> bool:
    """Tell whether a pattern includes a key.

    >>> matches("sensor/+/temp", "sensor/3/temp"), matches("sensor/#", "sensor")
    (True, True)
    >>> matches("sensor/+", "sensor/3/temp")
    False
    """
    wanted, parts = pattern.split("/"), key.split("/")
    if wanted[-1] == "#":
        wanted.pop()
        parts = parts[: len(wanted)]
    return len(wanted) == len(parts) and all(w in ("+", p) for w, p in zip(wanted, parts))


# ------------------------------------------------------------ the content of messages


class BadPayload(ValueError):
    """An invalid message."""


class ReceivedRefresh(NamedTuple):
    """A refresh as it comes from the wire."""

    refresh: Refresh  # its times are those of the sender's clock
    source: str  # the name of the sender, to which requests go
    mark: str  # the request that it answers, where MQTT 3.1.1 cannot say so itself


class Request(NamedTuple):
    """A request for the exact value of a key."""

    key: str
    need: float  # the width of an interval that would have sufficed
    reply: str = ""  # the topic of the answer, where MQTT 3.1.1 cannot say so itself
    mark: str = ""  # to be sent with the answer


class Presence(NamedTuple):
    """Whether a source is connected."""

    run: int  # of a source that is gone: messages of this run and of earlier ones do not count
    here: bool


def write_refresh(
    refresh: Refresh, source: str, silence: float, sent: float, mark: str = ""
) -> bytes:
    """Return a refresh as it goes on the wire.

    silence: the `max_silence` that caches apply; the source itself speaks somewhat earlier.
    sent: the time of day.

    Only a rounded value has the field `rounded`.

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


def read_refresh(key: str, payload: bytes) -> ReceivedRefresh:
    """Read a refresh of a key, or reject it.

    >>> read_refresh("a", b'{"value": "warm"}')
    Traceback (most recent call last):
    penstock.precision.wire.messages.BadPayload: value
    """
    record = _read(payload)
    value, rounded = _number(record, "value"), record.get("rounded", False)
    low, high = _number(record, "low", null=-math.inf), _number(record, "high", null=math.inf)
    why = record.get("why")
    _require(isinstance(rounded, bool), "rounded")
    _require(low <= value <= high, "interval")
    _require(why in WHY, "why")
    sent = float(_number(record, "sent"))
    refresh = Refresh(
        key,
        float(value),
        Interval(down(low), up(high), sent),
        rank=up(_number(record, "width", 0, null=math.inf)),
        why=WHY.index(str(why)),
        run=_count(record, "run", LAST_RUN),
        number=_count(record, "number"),
        sent=sent,
        max_silence=float(_number(record, "silence", 0)),
        rounded=rounded or is_rounded(value),
    )
    return ReceivedRefresh(refresh, _name(record, "source"), _text(record, "mark"))


def write_request(request: Request) -> bytes:
    """Return a request as it goes on the wire.

    >>> write_request(Request("a", 0.5))
    b'{"key":"a","need":0.5}'
    """
    return _write({name: part for name, part in request._asdict().items() if part != ""})


def read_request(payload: bytes) -> Request:
    """Read a request, or reject it."""
    record = _read(payload)
    key, need = _name(record, "key"), float(_number(record, "need", 0))
    return Request(key, need, _text(record, "reply"), _text(record, "mark"))


def write_presence(presence: Presence) -> bytes:
    """Return the presence of a source as it goes on the wire.

    >>> write_presence(Presence(7, here=False))
    b'{"run":7,"state":"gone"}'
    """
    return _write({"run": presence.run, "state": "here" if presence.here else "gone"})


def read_presence(payload: bytes) -> Presence:
    """Read the presence of a source, or reject it."""
    record = _read(payload)
    _require(record.get("state") in ("here", "gone"), "state")
    return Presence(_count(record, "run", LAST_RUN), record["state"] == "here")


def _write(record: dict[str, Any]) -> bytes:
    return json.dumps(record, allow_nan=False, separators=(",", ":")).encode()


def _read(payload: bytes) -> dict[str, Any]:
    _require(len(payload) <= LARGEST, "size")
    try:
        record = json.loads(payload, parse_constant=int)  # raises at NaN and Infinity
    except (ValueError, RecursionError):
        raise BadPayload("JSON") from None
    _require(isinstance(record, dict), "object")
    return record


def _require(valid: bool, what: str) -> None:
    if not valid:
        raise BadPayload(what)


def _number(
    record: dict[str, Any], name: str, least: float = -math.inf, null: float | None = None
) -> float:
    """Return a finite number of at least `least`, an integer as it is, or `null` as an infinity."""
    value = record.get(name, "")
    if value is None and null is not None:
        return null
    try:
        valid = type(value) in (int, float) and math.isfinite(value) and value >= least
    except OverflowError:  # an integer beyond all floats
        valid = False
    _require(valid, name)
    return value


def _count(record: dict[str, Any], name: str, end: int = LATEST) -> int:
    value = record.get(name, -1)
    _require(type(value) is int and 0 <= value < end, name)
    return value


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name, "")
    _require(isinstance(value, str), name)
    return value


def _name(record: dict[str, Any], name: str) -> str:
    value = _text(record, name)
    _require(is_name(value), name)
    return value
