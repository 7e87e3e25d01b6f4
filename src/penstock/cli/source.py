"""`penstock precision source`: readings in, intervals out to a broker."""

import threading
from typing import Annotated

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


def source(
    file: Annotated[
        str | None,
        typer.Argument(help="Readings, a line each: KEY NUMBER. [standard input]", metavar="FILE"),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="The key, if lines are only numbers.", metavar="K")
    ] = None,
    command: Annotated[
        str | None, typer.Option(help="Instead of a file: run this again and again.", metavar="CMD")
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(help="Seconds between two readings, or two runs. [0, or 10]", metavar="S"),
    ] = None,
    stay: Annotated[
        bool, typer.Option("--stay", help="Keep the last readings valid after the end of the file.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="Of this source, whenever it runs. [the key]", metavar="N")
    ] = None,
    rule: Annotated[
        str, typer.Option(help="How widths are chosen.", metavar="NAME[:key=value,...]")
    ] = "settling",
    limit: Annotated[
        list[float] | None,
        typer.Option(help="A value that no interval straddles. Repeatable.", metavar="X"),
    ] = None,
    max_silence: Annotated[
        float,
        typer.Option(help="Seconds of silence after which caches trust no value.", metavar="S"),
    ] = 60.0,
    cost_value: Annotated[
        float, typer.Option(help="C_vr: the cost of an interval sent.", metavar="C")
    ] = 1.0,
    cost_query: Annotated[
        float, typer.Option(help="C_qr: the cost of an exact value asked for.", metavar="C")
    ] = 3.0,
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
    """Publish readings as intervals to an MQTT broker, and answer requests for exact values."""
    from itertools import chain

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
        broker,
        user=user,
        password_file=password_file,
        ca=ca,
        certificate=certificate,
        private_key=private_key,
    )
    costs = make_costs(cost_value, cost_query)
    first = next(lines, None)  # rejects a bad first line before anything is sent
    if first is None:
        raise typer.BadParameter("there must be at least one reading, got none")
    with SourceClient(
        where,
        name or key or first.key,
        rule=rule,
        costs=costs,
        limits=limit or (),
        max_silence=max_silence,
        root=root,
        timeout=timeout,
    ) as client:
        skipped = readings.feed(client, chain([first], lines))
        client.flush(timeout)
        if stay:
            threading.Event().wait()
    counts = {"readings": client.counts["readings"], "skipped": skipped} | client.counts
    show_made({"source": client.name, **counts} if as_json else _say(client.name, counts))


def _say(name: str, counts: dict[str, int]) -> str:
    """Return what a source has done, as a sentence."""
    skipped = f" {counts['skipped']} skipped that were no finite numbers,"
    return (
        f"{name}: {counts['readings']} readings,{skipped if counts['skipped'] else ''}"
        f" {counts['published']} intervals sent, {counts['answered']} requests answered,"
        f" {counts['ignored']} messages ignored"
    )
