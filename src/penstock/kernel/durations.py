"""Spans of time as people write them, read and written: "100 seconds", "1 hour 30 minutes"."""

import re
from datetime import timedelta
from fractions import Fraction
from typing import NoReturn

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
LONGEST = 3_652_425 * MICROSECONDS["day"]  # 10,000 years, all that Spark's timestamps span
PART = re.compile(r"\s*(-?\d{1,1000}(?:\.\d{1,1000})?)\s*([a-z]+)", re.IGNORECASE)


def microseconds(span: str | timedelta, argument: str, signed: bool = False) -> int:
    """Return a span of time in microseconds; one that is `signed` may be negative.

    >>> microseconds("1 minute 30 seconds", "within"), microseconds("250ms", "within")
    (90000000, 250000)
    >>> microseconds("-1 minute", "within", signed=True)
    -60000000
    """
    if isinstance(span, timedelta):
        total = span // timedelta(microseconds=1)
    elif isinstance(span, str):
        total = _read(span, argument, signed)
    else:
        raise BadInput(
            f"{argument} must be a span of time such as '10 seconds', got {span!r} "
            f"({type(span).__name__})"
        )
    if total < 0 and not signed:
        _refuse_negative(span, argument)
    if abs(total) > LONGEST:
        raise BadInput(
            f"{argument} must be at most 3652425 days (10,000 years), got {span!r}; shorten it"
        )
    return total


def in_words(span: int) -> str:
    """Return microseconds as a person would write them, so that `microseconds` reads the same.

    >>> in_words(5_400_000_000), in_words(250_000), in_words(0)
    ('1 hour 30 minutes', '250 milliseconds', '0 seconds')
    >>> in_words(-90_000_000)
    '-1 minute -30 seconds'
    """
    parts, sign, span = [], "-" * (span < 0), abs(span)
    for unit, length in reversed(MICROSECONDS.items()):
        count, span = divmod(span, length)
        if count:
            parts.append(f"{sign}{count} {unit}{'s' * (count > 1)}")
    return " ".join(parts) or "0 seconds"


def _read(text: str, argument: str, signed: bool) -> int:
    total, end = Fraction(0), 0
    bare = re.sub(r"^\s*interval\s+", "", text, flags=re.IGNORECASE)
    while bare[end:].strip():
        part = PART.match(bare, end)
        word = part.group(2).lower() if part else ""
        unit = SHORT.get(word) or word.removesuffix("s")
        if part is None or unit not in MICROSECONDS:
            raise BadInput(
                f"{argument} must be a span of time such as '10 seconds' or '1 hour 30 minutes' "
                f"(units: {', '.join(MICROSECONDS)}), got {text!r}"
            )
        if part.group(1).startswith("-") and not signed:
            _refuse_negative(text, argument)
        total += Fraction(part.group(1)) * MICROSECONDS[unit]
        end = part.end()
    if end == 0:
        raise BadInput(f"{argument} must be a span of time such as '10 seconds', got {text!r}")
    return round(total)


def _refuse_negative(span: str | timedelta, argument: str) -> NoReturn:
    raise BadInput(f"{argument} must not be negative, nor a part of it, got {span!r}")
