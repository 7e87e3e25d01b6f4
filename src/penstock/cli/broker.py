"""`penstock precision broker`: an MQTT broker for trials, on this machine alone."""

import threading
from typing import Annotated

import typer


def broker(
    port: Annotated[
        int, typer.Option(help="Where it listens.", metavar="P", min=1, max=65535)
    ] = 1883,
) -> None:
    """Run an MQTT broker on this machine for trials; it forgets everything when it ends."""
    from ..precision.wire.trial import HOST, TrialBroker

    with TrialBroker(port):
        print(f"a broker for trials listens at mqtt://{HOST}:{port}; Ctrl-C ends it", flush=True)
        threading.Event().wait()
