"""A connection to the broker that comes back by itself.

The only file that knows paho. MQTT 5 is spoken where the broker can, and 3.1.1 where it cannot; the
difference ends here, except that 3.1.1 has no room for where to reply (`Message.reply`) and for how
long a message waited at the broker.
"""

import socket
import threading
import uuid
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from ...errors import PenstockError, Unreachable
from .broker import Broker
from .handshake import make_client

SOON, LATER = 0.25, 8.0  # seconds until one tries to connect again: at first, and at most
WINDOW = 500  # messages that are given to the network and not yet written
YEAR = 365 * 24 * 3600  # after which a broker may forget what it retains


class Message(NamedTuple):
    """What came from the broker."""

    topic: str
    payload: bytes
    retained: bool  # it was there before we subscribed
    waited: float | None  # seconds that it was at the broker; None: nobody knows
    reply: str  # where an answer is expected, if at all
    mark: bytes  # what is to be sent with the answer


class Handler(Protocol):
    """Who is told of what happens. All calls come from one thread, the connection's own."""

    def will(self) -> tuple[str, bytes] | None:
        """Return topic and payload of the last will, anew before each connection."""

    def on_up(self) -> None:
        """Subscribe, and say what must be said: the broker knows nothing of us."""

    def on_down(self) -> None:
        """Know that nothing can be heard from now on."""

    def on_message(self, message: Message) -> None:
        """Take a message; must not raise."""

    def on_room(self) -> None:
        """More can be sent. Must not wait for anyone who might be sending."""


class Link:
    """A connection to a broker."""

    def __init__(self, broker: Broker, handler: Handler, keepalive: int):
        self.broker = broker
        self.id = f"penstock-{uuid.uuid4().hex[:12]}"
        self._handler = handler
        self._keepalive = keepalive
        self._up = threading.Event()
        self._opened = threading.Event()
        self._refused: list[str] = []
        self._asked: dict[int | None, list[str]] = {}  # subscriptions on their way, by their number
        self._counting = threading.Lock()
        self._given = self._written = 0
        self._client: Any = None
        self._retained: Any = None

    @property
    def up(self) -> bool:
        """Whether there is a connection now."""
        return self._up.is_set()

    @property
    def speaks_5(self) -> bool:
        """Whether the broker speaks MQTT 5."""
        return self._client.protocol == 5

    @property
    def room(self) -> int:
        """How many messages can be sent before the network has to catch up."""
        return WINDOW - (self._given - self._written)

    def open(self, protocol: int, timeout: float) -> None:
        """Connect; from now on the connection is kept up."""
        client = self._client = make_client(self.broker, protocol, self.id)
        self._retained = self._properties(retain=True)
        client.reconnect_delay_set(SOON, LATER)
        client.on_pre_connect = self._on_connecting
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.on_publish = self._on_publish
        client.connect_async(self.broker.host, self.broker.port, self._keepalive)
        client.loop_start()
        if not self._opened.wait(timeout):
            self.close()
            raise Unreachable(f"the broker at {self.broker} let us in once and then no more")

    def close(self, with_will: bool = False) -> None:
        """Disconnect. With the will: the broker then says it, which is surer than to say it last.

        A broker may read that we leave before it has handed on what we said (amqtt does).
        """
        if with_will and self.up and not self.speaks_5:
            self._client.socket().shutdown(socket.SHUT_RDWR)
        else:
            self._client.disconnect(self._reason(with_will))
        self._client.loop_stop()
        self._up.clear()

    def _reason(self, with_will: bool) -> Any:
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.reasoncodes import ReasonCode

        said = "Disconnect with will message" if with_will else "Normal disconnection"
        return ReasonCode(PacketTypes.DISCONNECT, said) if self.speaks_5 else None

    def subscribe(self, topics: Iterable[str]) -> None:
        """Ask for messages; what is retained comes in the order of these topics."""
        asked = list(topics)
        _, number = self._client.subscribe([(topic, 0) for topic in asked])
        self._asked[number] = asked

    def check_allowed(self) -> None:
        """Complain if the broker does not let us read what we asked for."""
        if self._refused:
            raise PenstockError(
                f"the broker at {self.broker} does not let us read {self._refused[0]};"
                " check its access rules, and who we are to it"
            )

    def send(
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool = False,
        reply: str = "",
        mark: bytes = b"",
    ) -> bool:
        """Send a message, if there is a connection. Do not hold a lock meanwhile."""
        if not self.up:
            return False
        with self._counting:
            self._given += 1
        plain = retain and not reply and not mark  # most of them, so the same serves for all
        properties = self._retained if plain else self._properties(retain, reply, mark)
        if self._client.publish(topic, payload, 0, retain, properties).rc != 0:
            self._on_publish()  # it never will be
            return False
        return True

    def _properties(self, retain: bool = False, reply: str = "", mark: bytes = b"") -> Any:
        if not self.speaks_5:
            return None
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        made = Properties(PacketTypes.PUBLISH)
        if retain:
            made.MessageExpiryInterval = YEAR  # not to be rid of it, but to be told its age
        if reply:
            made.ResponseTopic = reply
        if mark:
            made.CorrelationData = mark
        return made

    def _on_connecting(self, *_: Any) -> None:
        will = self._handler.will()
        if will is not None:
            self._client.will_set(*will, qos=1, retain=True)

    def _on_connect(self, client: Any, _: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            return
        with self._counting:
            self._given = self._written = 0
        self._refused.clear()
        self._asked.clear()
        self._up.set()
        self._handler.on_up()
        self._opened.set()

    def _on_disconnect(self, *_: Any) -> None:
        self._up.clear()
        self._handler.on_down()

    def _on_subscribe(self, client: Any, _: Any, number: int, reasons: Any, __: Any) -> None:
        for topic, reason in zip(self._asked.pop(number, []), reasons):
            if reason.is_failure:
                self._refused.append(topic)

    def _on_publish(self, *_: Any) -> None:
        with self._counting:
            self._written += 1
        self._handler.on_room()

    def _on_message(self, client: Any, _: Any, came: Any) -> None:
        said = came.properties
        left = getattr(said, "MessageExpiryInterval", None)
        self._handler.on_message(
            Message(
                came.topic,
                came.payload,
                bool(came.retain),
                None if left is None else float(max(0, YEAR - left)),
                getattr(said, "ResponseTopic", ""),
                getattr(said, "CorrelationData", b""),
            )
        )
