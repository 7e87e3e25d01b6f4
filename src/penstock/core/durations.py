"""Read spans of time as people write them: "100 seconds", "1 hour 30 minutes", "10s"."""

import re
from datetime import timedelta

from ..errors import BadInput

MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 7 * 86_400_000_000,
}
SHORT = {
    "us": "microsecond",
    "ms": "millisecond",
    "s": "second",
    "sec": "second",
    "m": "minute",
    "min": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
}
PART = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)


def microseconds(span: str | timedelta, argument: str) -> int:
    """Return a span of time in microseconds.

    >>> microseconds("1 minute 30 seconds", "within"), microseconds("250ms", "within")
    (90000000, 250000)
    """
    if isinstance(span, timedelta):
        total = span // timedelta(microseconds=1)
    elif isinstance(span, str):
        total = _read(span, argument)
    else:
        raise BadInput(
            f"{argument} must be a span of time such as '10 seconds', got {span!r} "
            f"({type(span).__name__})"
        )
    if total < 0:
        raise BadInput(f"{argument} must not be negative, got {span!r}")
    return total


def _read(text: str, argument: str) -> int:
    total, end = 0.0, 0
    bare = re.sub(r"^\s*interval\s+", "", text, flags=re.IGNORECASE)
    while bare[end:].strip():
        part = PART.match(bare, end)
        unit = _unit(part.group(2)) if part else ""
        if part is None or unit not in MICROSECONDS:
            raise BadInput(
                f"{argument} must be a span of time such as '10 seconds' or '1 hour 30 minutes' "
                f"(units: {', '.join(MICROSECONDS)}), got {text!r}"
            )
        total += float(part.group(1)) * MICROSECONDS[unit]
        end = part.end()
    if end == 0:
        raise BadInput(f"{argument} must be a span of time such as '10 seconds', got {text!r}")
    return round(total)


def _unit(word: str) -> str:
    word = word.lower()
    return SHORT.get(word) or word.removesuffix("s")
