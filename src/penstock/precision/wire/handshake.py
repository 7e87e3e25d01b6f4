"""The first contact: is there a broker, does it let us in, and which MQTT does it speak?"""

import socket
import ssl
import time
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import Unreachable
from ...extras import need
from .broker import Broker

STEP = 0.05  # seconds to wait for the network at a time
ECHO, ECHO_EVERY = b"echo", 0.5  # what we tell ourselves through the broker, and how often (s)
OLDER_AFTER = 3.0  # seconds without an answer to MQTT 5, after which an older one is tried


class Contact(NamedTuple):
    """What the first contact found."""

    protocol: int  # 5, or 4 for MQTT 3.1.1
    retained: bytes  # what was at the topic that one was curious about


def paho() -> Any:
    """Return the MQTT client library, which is an optional part of Penstock."""
    return need("paho.mqtt.client", "MQTT")


def make_client(broker: Broker, protocol: int, name: str) -> Any:
    """Return a client that is not connected yet."""
    mqtt = paho()
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=name, protocol=protocol)
    client.on_socket_open = _no_delay
    if broker.tls:
        client.tls_set_context(broker.context())
    if broker.user:
        client.username_pw_set(broker.user, broker.password)
    return client


def _no_delay(_: Any, __: Any, opened: socket.socket) -> None:
    """Send small messages at once: a request waits for its answer, not for company."""
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def first_contact(broker: Broker, timeout: float, topic: str = "", echo: str = "") -> Contact:
    """Find out how to speak with a broker, or say in one sentence why one cannot.

    A connection of its own, without a last will: a broker of old, which does not know the form of
    the newer protocol, can at least find its number there.

    topic: look also what is retained there; echo: a topic of our own, which tells when to stop.
    """
    mqtt = paho()
    said = ""
    for protocol in (mqtt.MQTTv5, mqtt.MQTTv311):
        newest = protocol == mqtt.MQTTv5
        visit = _Visit(broker, protocol, min(timeout, OLDER_AFTER) if newest else timeout)
        said = visit.knock()
        if not said:
            return Contact(protocol, visit.look(topic, echo) if topic else b"")
        if not visit.may_be_older:
            break
    raise Unreachable(
        f"no MQTT broker lets us in at {broker}: {said}; check the address, or start one there"
    )


class _Visit:
    """One short connection."""

    def __init__(self, broker: Broker, protocol: int, timeout: float):
        self.may_be_older = False
        self._broker = broker
        self._timeout = timeout
        self._came: dict[str, bytes] = {}
        self._reasons: list[Any] = []
        self._client = make_client(broker, protocol, f"penstock-{uuid.uuid4().hex[:12]}")
        self._client.connect_timeout = timeout
        self._client.on_connect = lambda _, __, flags, reason, more: self._reasons.append(reason)
        self._client.on_message = lambda _, __, message: self._take(message)

    def knock(self) -> str:
        """Connect; return what is wrong, if anything."""
        try:
            self._client.connect(self._broker.host, self._broker.port)
        except ssl.SSLCertVerificationError as error:
            return f"its certificate is not trusted ({error.verify_message})"
        except ssl.SSLError as error:
            return f"TLS failed ({error.reason or error})"
        except OSError as error:
            late = isinstance(error, TimeoutError)
            return "it does not answer" if late else (error.strerror or str(error)).lower()
        closed = self._wait(lambda: bool(self._reasons))
        if not self._reasons:
            self.may_be_older = True
            return "it closed the connection" if closed else "it does not answer"
        reason = self._reasons[0]
        self.may_be_older = reason == "Unsupported protocol version"
        return str(reason).lower() if reason.is_failure else ""

    def look(self, topic: str, echo: str) -> bytes:
        """Return what is retained at a topic, and leave."""
        # The echo comes after all that is retained, for it is sent after that was asked for.
        self._client.subscribe([(topic, 0), (echo, 0)])
        self._client.publish(echo, ECHO)
        self._wait(lambda: echo in self._came)
        self._client.disconnect()
        return self._came.get(topic, b"")

    def _take(self, message: Any) -> None:
        self._came[message.topic] = message.payload

    def _wait(self, done: Callable[[], bool]) -> bool:
        """Wait until something is done, or for too long; return whether the broker hung up."""
        ends = time.monotonic() + self._timeout
        closed = False
        while not (closed or done()) and time.monotonic() < ends:
            closed = self._client.loop(timeout=STEP) != 0
        return closed
