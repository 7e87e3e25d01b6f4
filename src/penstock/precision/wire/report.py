"""What the commands tell: answers for programs and for people."""

import math
from typing import Any

from .cache import CacheClient, Found
from .source import SourceClient


def summarise_answer(text: str, found: Found, client: CacheClient) -> dict[str, Any]:
    """Return an answer as plain values; what is infinite is None."""
    answer = found.answer
    return {
        "query": text,
        "low": answer.low if answer.low > -math.inf else None,
        "high": answer.high if answer.high < math.inf else None,
        "within": answer.within,
        "keys": len(found.keys),
        "refreshed": list(answer.refreshed),
        "stale": list(answer.stale),
        "reason": answer.reason or None,
        "ignored": client.counts["ignored"],
    }


def say_answer(text: str, found: Found) -> str:
    """Return an answer as a sentence.

    >>> from ..asking import Answer
    >>> say_answer("max(#) within 1", Found(Answer(3.0, 3.5, True, ("a",), ()), ("a", "b")))
    'max(#) is between 3 and 3.5: 2 values, 1 of them fetched'
    """
    answer = found.answer
    low, high = _written(answer.low), _written(answer.high)
    is_what = low if low == high else f"between {low} and {high}"
    said = f"{text.partition(' within ')[0].strip()} is {is_what}: {_count(len(found.keys))}"
    said += f", {len(answer.refreshed)} of them fetched" if answer.refreshed else ""
    if answer.stale and answer.reason:
        said += f"; unknown, since {answer.reason}: {_some(answer.stale)}"
    elif answer.stale:
        said += f"; unknown, since their sources are lost: {_some(answer.stale)}"
    return said if answer.within else f"{said}; wider than asked for"


def summarise_source(client: SourceClient) -> dict[str, Any]:
    """Return what a source has done."""
    return {"source": client.name, **client.counts}


def say_source(client: SourceClient) -> str:
    """Return what a source has done, as a sentence."""
    counts = client.counts
    return (
        f"{client.name}: {counts['readings']} readings,"
        + (f" {counts['skipped']} skipped that were no finite numbers," * bool(counts["skipped"]))
        + f" {counts['published']} intervals sent, {counts['answered']} requests answered,"
        f" {counts['ignored']} messages ignored"
    )


def _written(end: float) -> str:
    """Return a bound as it is: fewer digits could leave the truth outside.

    >>> _written(3.0), _written(1 / 3)
    ('3', '0.3333333333333333')
    """
    return repr(end).removesuffix(".0")


def _count(n: int) -> str:
    return f"{n} value{'s' if n != 1 else ''}"


def _some(names: tuple[str, ...], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
