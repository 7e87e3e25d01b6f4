"""A broker for trials on this machine alone: amqtt, in a thread; it loses everything at its end.

It speaks MQTT 3.1.1. For lasting use take another one, such as Mosquitto.
"""

import asyncio
import logging
import socket
import threading
from collections.abc import Iterator
from typing import Any

from ...errors import PenstockError

Settings = dict[str, Any] | None

HOST = "127.0.0.1"
ANONYMOUS = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}}


class TrialBroker:
    """A broker on the loopback interface, from `start` to `stop`.

    port: by default one that is free.
    listener, plugins: amqtt's own settings, for TLS and passwords; by default without a login.
    """

    def __init__(self, port: int = 0, listener: Settings = None, plugins: Settings = None):
        self.port = port or _free_port()
        listener = {"type": "tcp", "bind": f"{HOST}:{self.port}"} | (listener or {})
        self._config = {"listeners": {"default": listener}, "plugins": plugins or ANONYMOUS}
        self._loop = asyncio.new_event_loop()
        # Otherwise it prints an error for every client that closes its connection first.
        self._loop.set_exception_handler(lambda *_: None)
        self._broker: Any = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> "TrialBroker":
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def start(self) -> "TrialBroker":
        """Begin to listen."""
        broker_type = _amqtt()
        self._thread.start()
        try:
            self._broker = self._run(_start(broker_type, self._config))
        except Exception as error:
            self._end()
            raise PenstockError(
                f"no broker can be started at {HOST}:{self.port}: {error.__cause__ or error}"
            ) from None
        return self

    def stop(self) -> None:
        """Close all connections, and end."""
        self._run(self._broker.shutdown())
        self._end()

    def _run(self, task: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(task, self._loop).result(30)

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


class _Steady(dict[str, Any]):
    """A dictionary that may be changed during an iteration.

    amqtt 0.12 does so with its subscriptions, and then loses messages and connections.
    """

    def __iter__(self) -> Iterator[str]:
        return iter(list(super().__iter__()))

    def items(self) -> Any:
        return list(super().items())


async def _start(broker_type: Any, config: dict[str, Any]) -> Any:
    broker = broker_type(config)
    broker._subscriptions = _Steady()
    await broker.start()
    return broker


def _amqtt() -> Any:
    try:
        from amqtt.broker import Broker
    except ImportError:
        raise PenstockError(
            "a broker for trials needs the package amqtt, which cannot be imported here;"
            " pip install amqtt, or start another broker such as Mosquitto"
        ) from None
    # It logs ordinary events as errors: clients that disconnect, or that try a newer protocol.
    logging.getLogger("amqtt").setLevel(logging.CRITICAL)
    logging.getLogger("transitions").setLevel(logging.CRITICAL)
    return Broker
