"""`penstock precision query`: a bounded answer from what sources have published."""

import time
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

TOO_WIDE = 1  # the exit code of an answer that is not as narrow as was asked for


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
    from ..precision.wire import CacheClient, find_broker, report

    pattern = parse(text)[1]  # complains before anything is sent
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
            made = report.summarise_answer(text, found, client)
            show_made(made if as_json else report.say_answer(text, found))
            if watch is None:
                break
            time.sleep(watch)
    if not found.answer.within:
        raise typer.Exit(TOO_WIDE)
