"""The address of a broker, and a client of it, whose connection is restored whenever it breaks.

The only file that knows paho. It speaks MQTT 5 where the broker can, and 3.1.1 where it cannot. No
other file sees the difference, except that 3.1.1 has no fields for the topic of an answer
(`Message.reply`) and for how long a message waited at the broker.
"""

import os
import socket
import ssl
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from ...errors import BadInput, PenstockError, Unreachable
from ...extras import need
from .messages import BadPayload, check_name

PORTS = {"mqtt": 1883, "mqtts": 8883}
USER, PASSWORD = "PENSTOCK_MQTT_USER", "PENSTOCK_MQTT_PASSWORD"
STEP = 0.05  # seconds to wait for the network at a time
ECHO, ECHO_EVERY = b"echo", 0.5  # a message to ourselves, and how often it is sent (seconds)
OLDER_AFTER = 3.0  # seconds without an answer to MQTT 5, after which 3.1.1 is tried
SOON, LATER = 0.25, 8.0  # seconds until the next attempt to connect: at first, and at most
YEAR = 365 * 24 * 3600  # seconds, after which a broker may remove what it retains


@dataclass(frozen=True)
class Broker:
    """The address of a broker, and credentials that are never shown.

    ca: a file with the certificates to trust, instead of those that the machine trusts.
    certificate, private_key: files that prove our identity, where the broker asks for that.
    """

    host: str = "localhost"
    port: int = 1883
    tls: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: str | None = None
    certificate: str | None = None
    private_key: str | None = None

    def __str__(self) -> str:
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}"

    def context(self) -> ssl.SSLContext:
        """Return the settings of TLS: the broker's certificate is always checked."""
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.certificate:
                context.load_cert_chain(self.certificate, self.private_key)
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(filter(None, (self.ca, self.certificate, self.private_key)))
            raise BadInput(f"the certificates in {files} cannot be read: {error}") from None
        return context


def find_broker(
    address: str,
    *,
    user: str | None = None,
    password_file: str | None = None,
    ca: str | None = None,
    certificate: str | None = None,
    private_key: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Broker:
    """Return the broker at an address; secrets come from the environment or from a file.

    >>> find_broker("mqtts://broker.example", user="me", environment={})
    Broker(host='broker.example', port=8883, tls=True, user='me', ...)
    """
    environment = os.environ if environment is None else environment
    host, port, tls = _parse(address)
    if not tls and (ca or certificate or private_key):
        raise BadInput(f"certificates are for mqtts:// addresses, got {address}")
    if private_key and not certificate:
        raise BadInput("a private key needs its certificate; name that too")
    user = user or environment.get(USER)
    password = _read(password_file) if password_file else environment.get(PASSWORD)
    if password and not user:
        raise BadInput(f"a password needs its user; name one, or set {USER}")
    return Broker(host, port, tls, user, password, ca, certificate, private_key)


def _parse(address: str) -> tuple[str, int, bool]:
    """Split an address.

    >>> _parse("localhost:1884")
    ('localhost', 1884, False)
    """
    parts = urlsplit(address if "://" in address else f"mqtt://{address}")
    if parts.username or parts.password:
        raise BadInput(
            "the address of a broker must not hold a user or a password, which others could see;"
            f" set {USER} and {PASSWORD}, or name a file"
        )
    try:
        port = parts.port
    except ValueError:
        port = 0
    rest = parts.path.strip("/") + parts.query + parts.fragment
    if parts.scheme not in PORTS or not parts.hostname or port == 0 or rest:
        raise BadInput(
            "the address of a broker must read like mqtt://localhost:1883 or mqtts://HOST,"
            f" got {address!r}"
        )
    return parts.hostname, port or PORTS[parts.scheme], parts.scheme == "mqtts"


def _read(file: str) -> str:
    try:
        return Path(file).read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadInput(f"the password file {file} cannot be read: {said}") from None


# ------------------------------------------------------------ the client


class Message(NamedTuple):
    """A message from the broker."""

    topic: str
    payload: bytes
    retained: bool  # it was there before we subscribed
    waited: float | None  # seconds that it was at the broker; None: unknown
    reply: str  # the topic of the answer, if one is expected
    mark: bytes  # to be sent with the answer


def make_client(broker: Broker, protocol: int, name: str) -> Any:
    """Return a client of paho that is not connected yet."""
    mqtt = need("paho.mqtt.client", "MQTT")
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=name, protocol=protocol)
    client.on_socket_open = _no_delay
    if broker.tls:
        client.tls_set_context(broker.context())
    if broker.user:
        client.username_pw_set(broker.user, broker.password)
    return client


def _no_delay(_: Any, __: Any, opened: socket.socket) -> None:
    """Send small messages at once: a request must not wait for more data."""
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _new_id() -> str:
    return f"penstock-{uuid.uuid4().hex[:12]}"


def first_contact(
    broker: Broker, timeout: float, topic: str = "", echo: str = ""
) -> tuple[int, bytes]:
    """Find out which MQTT a broker speaks, or raise one sentence that says why it cannot be used.

    Uses a connection of its own, without a last will: an old broker, which cannot read the format
    of the newer protocol, can at least read the protocol's number.

    topic: read also what is retained there; echo: a topic of our own, which marks its end.

    Returns the protocol, 5, or 4 for MQTT 3.1.1, and the retained message.
    """
    problem = ""
    for protocol, patience in ((5, min(timeout, OLDER_AFTER)), (4, timeout)):
        client = make_client(broker, protocol, _new_id())
        problem, may_be_older = _try_to_connect(client, broker, patience)
        if not problem:
            return protocol, _read_retained(client, topic, echo, patience) if topic else b""
        if not may_be_older:
            break
    raise Unreachable(
        f"no connection to an MQTT broker at {broker}: {problem}; check the address, or start one"
        " there"
    )


def _try_to_connect(client: Any, broker: Broker, timeout: float) -> tuple[str, bool]:
    """Return the problem, or an empty text, and whether an older protocol may be the way out."""
    reasons: list[Any] = []
    client.connect_timeout = timeout
    client.on_connect = lambda _, __, flags, reason, more: reasons.append(reason)
    try:
        client.connect(broker.host, broker.port)
    except ssl.SSLCertVerificationError as error:
        return f"its certificate is not trusted ({error.verify_message})", False
    except ssl.SSLError as error:
        return f"TLS failed ({error.reason or error})", False
    except TimeoutError:
        return "it does not answer", False
    except OSError as error:
        return (error.strerror or str(error)).lower(), False
    closed = _wait(client, timeout, lambda: bool(reasons))
    if not reasons:
        return "it closed the connection" if closed else "it does not answer", True
    problem = str(reasons[0]).lower() if reasons[0].is_failure else ""
    return problem, reasons[0] == "Unsupported protocol version"


def _read_retained(client: Any, topic: str, echo: str, timeout: float) -> bytes:
    """Return the message that is retained at a topic, and disconnect."""
    received: dict[str, bytes] = {}
    client.on_message = lambda _, __, message: received.update({message.topic: message.payload})
    # The echo comes after all retained messages, since it is sent after the subscription.
    client.subscribe([(topic, 0), (echo, 0)])
    client.publish(echo, ECHO)
    _wait(client, timeout, lambda: echo in received)
    client.disconnect()
    return received.get(topic, b"")


def _wait(client: Any, timeout: float, done: Callable[[], bool]) -> bool:
    """Wait for a condition, up to the timeout; tell whether the broker has disconnected."""
    ends, closed = time.monotonic() + timeout, False
    while not (closed or done()) and time.monotonic() < ends:
        closed = client.loop(timeout=STEP) != 0
    return closed


class Client:
    """The common part of a source and a cache: a connection to the broker.

    Subclasses override `_will`, `_on_up`, `_on_down` and `_take`, which one thread calls, the
    connection's own.
    """

    def __init__(self, broker: Broker, root: str, keepalive: int, counted: Iterable[str]):
        self.broker = broker
        self.id = _new_id()
        self.counts = Counter(dict.fromkeys(counted, 0))
        self._root = check_name("the root of the topics", root)
        self._keepalive = keepalive
        self._up = threading.Event()
        self._opened = threading.Event()
        self._rejected: list[str] = []
        self._asked: dict[int | None, list[str]] = {}  # subscriptions in flight, by their number
        self._client: Any = None
        self._retained: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def up(self) -> bool:
        """Whether there is a connection to the broker now."""
        return self._up.is_set()

    def close(self) -> None:
        """Disconnect."""
        self._disconnect()

    # ------------------------------------------------------------ for subclasses to override

    def _will(self) -> tuple[str, bytes] | None:
        """Return topic and payload of the last will, anew before each connection."""
        return None

    def _on_up(self) -> None:
        """Subscribe and announce: a broker has no subscription of a new connection."""

    def _on_down(self) -> None:
        """Handle a broken connection: no messages arrive from now on."""

    def _take(self, message: Message) -> None:
        """Take a message, or raise `BadPayload`."""

    # ------------------------------------------------------------ for subclasses to call

    @property
    def _speaks_5(self) -> bool:
        """Whether the broker speaks MQTT 5."""
        return self._client.protocol == 5

    def _topic(self, kind: str, name: str) -> str:
        """Return a topic: all are below one root, `ROOT/interval/sensor/3/temp`."""
        return f"{self._root}/{kind}/{name}"

    def _connect(self, protocol: int, timeout: float) -> None:
        """Connect; from now on the connection is kept up."""
        client = self._client = make_client(self.broker, protocol, self.id)
        self._retained = self._properties(retain=True)
        client.reconnect_delay_set(SOON, LATER)
        client.on_pre_connect = self._on_connecting
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.connect_async(self.broker.host, self.broker.port, self._keepalive)
        client.loop_start()
        if not self._opened.wait(timeout):
            self._disconnect()
            raise Unreachable(f"the broker at {self.broker} accepted one connection and no other")

    def _disconnect(self, with_will: bool = False) -> None:
        """Disconnect. With the will: the broker publishes it, which is safer than to send it last.

        A broker may process the disconnection before it has delivered our messages (amqtt does).
        """
        if with_will and self._speaks_5:
            from paho.mqtt.packettypes import PacketTypes
            from paho.mqtt.reasoncodes import ReasonCode

            said = ReasonCode(PacketTypes.DISCONNECT, "Disconnect with will message")
            self._client.disconnect(said)
        elif with_will and self.up:
            self._client.socket().shutdown(socket.SHUT_RDWR)
        else:
            self._client.disconnect()
        self._client.loop_stop()
        self._up.clear()

    def _subscribe(self, topics: list[str]) -> None:
        """Subscribe to topics; retained messages come in the order of the topics."""
        _, number = self._client.subscribe([(topic, 0) for topic in topics])
        self._asked[number] = topics

    def _check_allowed(self) -> None:
        """Raise an error if the broker has rejected a subscription."""
        if self._rejected:
            raise PenstockError(
                f"the broker at {self.broker} does not let us read {self._rejected[0]};"
                " check its access rules, and our user"
            )

    def _send(
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool = False,
        reply: str = "",
        mark: bytes = b"",
    ) -> Any:
        """Send a message, if there is a connection. Do not hold a lock meanwhile.

        Returns what paho knows of the message from now on; None if it cannot be sent.
        """
        if not self.up:
            return None
        plain = retain and not reply and not mark  # most of them, so all share one object
        properties = self._retained if plain else self._properties(retain, reply, mark)
        info = self._client.publish(topic, payload, 0, retain, properties)
        return info if info.rc == 0 else None

    def _properties(self, retain: bool = False, reply: str = "", mark: bytes = b"") -> Any:
        if not self._speaks_5:
            return None
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        made = Properties(PacketTypes.PUBLISH)
        if retain:
            made.MessageExpiryInterval = YEAR  # so that the broker tells how old a message is
        if reply:
            made.ResponseTopic = reply
        if mark:
            made.CorrelationData = mark
        return made

    # ------------------------------------------------------------ called by paho

    def _on_connecting(self, *_: Any) -> None:
        will = self._will()
        if will is not None:
            self._client.will_set(*will, qos=1, retain=True)

    def _on_connect(self, client: Any, _: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            return
        self._rejected.clear()
        self._asked.clear()
        self._up.set()
        self._on_up()
        self._opened.set()

    def _on_disconnect(self, *_: Any) -> None:
        self._up.clear()
        self._on_down()

    def _on_subscribe(self, client: Any, _: Any, number: int, reasons: Any, __: Any) -> None:
        for topic, reason in zip(self._asked.pop(number, []), reasons):
            if reason.is_failure:
                self._rejected.append(topic)

    def _on_message(self, client: Any, _: Any, came: Any) -> None:
        left = getattr(came.properties, "MessageExpiryInterval", None)
        message = Message(
            came.topic,
            came.payload,
            retained=bool(came.retain),
            waited=None if left is None else float(max(0, YEAR - left)),
            reply=getattr(came.properties, "ResponseTopic", ""),
            mark=getattr(came.properties, "CorrelationData", b""),
        )
        try:
            self._take(message)
        except BadPayload:
            self.counts["ignored"] += 1
