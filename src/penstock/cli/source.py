"""`penstock precision source`: readings in, intervals out to a broker."""

import sys
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


class _Note:
    """Says on standard error that readings are skipped: of the 1st, 2nd, 4th, 8th and so on."""

    def __init__(self) -> None:
        self.skipped = 0

    def __call__(self, key: str, value: float) -> None:
        self.skipped += 1
        if self.skipped & (self.skipped - 1) == 0:
            print(
                f"penstock: a reading of {key} is no finite number ({value}) and is skipped,"
                f" {self.skipped:,} so far; the one before stands",
                file=sys.stderr,
                flush=True,
            )


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
        bool, typer.Option("--stay", help="Stand by the last readings after the end of the file.")
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
        float, typer.Option(help="Seconds of silence after which nobody trusts us.", metavar="S")
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
    """Publish readings as intervals to an MQTT broker, and answer who needs them exactly."""
    from itertools import chain

    from ..precision import make_costs
    from ..precision.wire import SourceClient, find_broker, readings, report

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
    first = next(lines, None)  # complains before anything is sent
    if first is None:
        raise typer.BadParameter("there must be at least one reading, got none")
    note = _Note()
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
        client.feed(chain([first], lines), note)
        client.flush(timeout)
        if stay:
            threading.Event().wait()
    show_made(report.summarise_source(client) if as_json else report.say_source(client))
