"""`penstock precision query`: a bounded answer from what sources have published."""

import math
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .connection import (
    LOCAL,
    Address,
    Ca,
    Certificate,
    PasswordFile,
    PrivateKey,
    Root,
    Timeout,
    User,
)
from .output import AsJson, show_made

if TYPE_CHECKING:
    from ..precision.wire import CacheClient, Found

NAMED = 5  # keys whose source is lost, in a sentence
TOO_WIDE = 1  # the exit code of an answer that is wider than the query asks


def query(
    text: Annotated[
        str, typer.Argument(help='Such as "avg(sensor/+/temp) within 0.5".', metavar="QUERY")
    ],
    expect: Annotated[
        int, typer.Option(help="Refuse to answer about fewer keys.", metavar="N", min=1)
    ] = 1,
    patience: Annotated[
        float, typer.Option(help="Seconds to wait for the answer of a source.", metavar="S", min=0)
    ] = 2.0,
    watch: Annotated[
        float | None,
        typer.Option(help="Answer again every so many seconds.", metavar="S", min=0.01),
    ] = None,
    broker: Address = LOCAL,
    user: User = None,
    password_file: PasswordFile = None,
    ca: Ca = None,
    certificate: Certificate = None,
    private_key: PrivateKey = None,
    root: Root = "penstock",
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> None:
    """Answer a query within the width it asks for, from cached intervals and the fewest requests.

    sum, avg, max, min, median, count(KEYS > LIMIT), quantile(KEYS, SHARE); within a number, or a
    share of the answer: within 1%. Exit code 1: wider than asked for, because sources are lost.
    """
    from ..errors import BadInput
    from ..precision import parse
    from ..precision.wire import CacheClient, find_broker

    pattern = parse(text)[1]  # rejects a bad query before anything is sent
    where = find_broker(
        broker,
        user=user,
        password_file=password_file,
        ca=ca,
        certificate=certificate,
        private_key=private_key,
    )
    with CacheClient(where, [pattern], patience=patience, root=root, timeout=timeout) as client:
        while True:
            found = client.ask(text)
            if len(found.keys) < expect:
                raise BadInput(
                    f"at least {expect} keys must be known, got {len(found.keys)}:"
                    f" {', '.join(found.keys[:10])}"
                )
            show_made(_summarise(text, found, client) if as_json else say(text, found))
            if watch is None:
                break
            time.sleep(watch)
    if not found.answer.within:
        raise typer.Exit(TOO_WIDE)


def _summarise(text: str, found: "Found", client: "CacheClient") -> dict[str, Any]:
    """Return an answer for JSON; an infinite bound is None."""
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


def say(text: str, found: "Found") -> str:
    """Return an answer as a sentence.

    >>> from ..precision import Answer
    >>> from ..precision.wire import Found
    >>> say("max(#) within 1", Found(Answer(3.0, 3.5, True, ("a",), ()), ("a", "b")))
    'max(#) is between 3 and 3.5: 2 values, 1 of them fetched'
    """
    answer, n = found.answer, len(found.keys)
    # Bounds are written with all their digits: with fewer the true answer could lie outside.
    low, high = (repr(end).removesuffix(".0") for end in (answer.low, answer.high))
    is_what = low if low == high else f"between {low} and {high}"
    said = f"{text.partition(' within ')[0].strip()} is {is_what}: {n} value{'s' * (n != 1)}"
    said += f", {len(answer.refreshed)} of them fetched" if answer.refreshed else ""
    if answer.stale:
        reason = answer.reason or "their sources are lost"
        more = f" and {len(answer.stale) - NAMED} more" if len(answer.stale) > NAMED else ""
        said += f"; unknown, since {reason}: {', '.join(answer.stale[:NAMED])}{more}"
    return said if answer.within else f"{said}; wider than asked for"
