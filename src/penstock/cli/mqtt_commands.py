"""`penstock precision source`, `query` and `broker`: intervals that travel through MQTT."""

import math
import threading
import time
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import AsJson, flag, option, show_made
from .precision_command import RuleOption

if TYPE_CHECKING:
    from ..precision.wire import CacheClient, Found

NAMED = 5  # keys whose source is lost, in a sentence
TOO_WIDE = 1  # the exit code of an answer that is wider than the query asks

# Where the broker is, and how it identifies us.
BrokerOption = Annotated[
    str, option("mqtt://HOST:PORT, or mqtts:// for TLS.", "ADDRESS", "--broker")
]
User = Annotated[str | None, option("The user name. [$PENSTOCK_MQTT_USER]", "NAME")]
PasswordFile = Annotated[
    str | None, option("A file with the password. [$PENSTOCK_MQTT_PASSWORD]", "FILE")
]
Ca = Annotated[str | None, option("Certificates to trust. [the machine's]", "FILE")]
Certificate = Annotated[str | None, option("Our certificate, where one is asked for.", "FILE")]
PrivateKey = Annotated[str | None, option("The private key of our certificate.", "FILE")]
Root = Annotated[str, option("The beginning of all topics.", "TOPIC")]
Timeout = Annotated[float, option("Seconds to wait for the broker.", "S", min=0.1)]
LOCAL = "mqtt://localhost:1883"


def source(
    file: Annotated[
        str | None,
        typer.Argument(help="Readings, a line each: KEY NUMBER. [standard input]", metavar="FILE"),
    ] = None,
    key: Annotated[str | None, option("The key, if lines are only numbers.", "K")] = None,
    command: Annotated[
        str | None, option("Instead of a file: run this again and again.", "CMD")
    ] = None,
    every: Annotated[
        float | None, option("Seconds between two readings, or two runs. [0, or 10]", "S")
    ] = None,
    stay: Annotated[
        bool, flag("--stay", "Keep the last readings valid after the end of the file.")
    ] = False,
    name: Annotated[str | None, option("Of this source, whenever it runs. [the key]", "N")] = None,
    rule: RuleOption = "settling",
    limit: Annotated[
        list[float] | None, option("A value that no interval straddles. Repeatable.", "X")
    ] = None,
    max_silence: Annotated[
        float, option("Seconds of silence after which caches trust no value.", "S")
    ] = 60.0,
    cost_value: Annotated[float, option("C_vr: the cost of an interval sent.", "C")] = 1.0,
    cost_query: Annotated[float, option("C_qr: the cost of an exact value asked for.", "C")] = 3.0,
    broker: BrokerOption = LOCAL,
    user: User = None,
    password_file: PasswordFile = None,
    ca: Ca = None,
    certificate: Certificate = None,
    private_key: PrivateKey = None,
    root: Root = "penstock",
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> None:
    """Publish readings as intervals to an MQTT broker, and answer requests for exact values."""
    from ..precision import make_costs
    from ..precision.wire import SourceClient, find_broker
    from . import readings

    if command is not None and file is not None:
        raise typer.BadParameter("readings come from a file or from a command, got both")
    if command is not None:
        lines = readings.from_command(command, key, 10.0 if every is None else every, max_silence)
    else:
        lines = readings.from_file(file, key)
        lines = lines if every is None else readings.at_pace(lines, every)
    where = find_broker(
        broker, user=user, password_file=password_file,
        ca=ca, certificate=certificate, private_key=private_key,
    )  # fmt: skip
    costs = make_costs(cost_value, cost_query)
    first = next(lines, None)  # rejects a bad first line before anything is sent
    if first is None:
        raise typer.BadParameter("there must be at least one reading, got none")
    with SourceClient(
        where, name or key or first.key, rule=rule, costs=costs, limits=limit or (),
        max_silence=max_silence, root=root, timeout=timeout,
    ) as client:  # fmt: skip
        skipped = readings.feed(client, chain([first], lines))
        client.flush(timeout)
        if stay:
            threading.Event().wait()
    counts = {"readings": client.counts["readings"], "skipped": skipped} | client.counts
    show_made({"source": client.name, **counts} if as_json else _say_counts(client.name, counts))


def _say_counts(name: str, counts: dict[str, int]) -> str:
    """Return what a source has done, as a sentence."""
    skipped = f" {counts['skipped']} skipped that were no finite numbers,"
    return (
        f"{name}: {counts['readings']} readings,{skipped if counts['skipped'] else ''}"
        f" {counts['published']} intervals sent, {counts['answered']} requests answered,"
        f" {counts['ignored']} messages ignored"
    )


def query(
    text: Annotated[
        str, typer.Argument(help='Such as "avg(sensor/+/temp) within 0.5".', metavar="QUERY")
    ],
    expect: Annotated[int, option("Refuse to answer about fewer keys.", "N", min=1)] = 1,
    patience: Annotated[
        float, option("Seconds to wait for the answer of a source.", "S", min=0)
    ] = 2.0,
    watch: Annotated[
        float | None, option("Answer again every so many seconds.", "S", min=0.01)
    ] = None,
    broker: BrokerOption = LOCAL,
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
        broker, user=user, password_file=password_file,
        ca=ca, certificate=certificate, private_key=private_key,
    )  # fmt: skip
    with CacheClient(where, [pattern], patience=patience, root=root, timeout=timeout) as client:
        while True:
            found = client.ask(text)
            if len(found.keys) < expect:
                raise BadInput(
                    f"at least {expect} keys must be known, got {len(found.keys)}:"
                    f" {', '.join(found.keys[:10])}"
                )
            show_made(_summarise(text, found, client) if as_json else say_answer(text, found))
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


def say_answer(text: str, found: "Found") -> str:
    """Return an answer as a sentence.

    >>> from ..precision import Answer
    >>> from ..precision.wire import Found
    >>> say_answer("max(#) within 1", Found(Answer(3.0, 3.5, True, ("a",), ()), ("a", "b")))
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


def broker(
    port: Annotated[int, option("Where it listens.", "P", min=1, max=65535)] = 1883,
) -> None:
    """Run an MQTT broker on this machine for trials; it forgets everything when it ends."""
    from ..precision.wire.trial import HOST, TrialBroker

    with TrialBroker(port):
        print(f"a broker for trials listens at mqtt://{HOST}:{port}; Ctrl-C ends it", flush=True)
        threading.Event().wait()
