"""A process that holds values: it publishes their intervals and answers requests for exact values.

All caches share one interval of a key, retained at the broker, so that a cache that connects later
receives it at once (`docs/decisions/0016`). The state machine is `penstock.precision.Source`; here
it gets a connection, a clock and a last will.
"""

import itertools
import threading
import time
import zlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from ...errors import PenstockError
from ...numeric import check_number
from ..interval_source import Refresh, Source, check_rule
from ..rule import Costs
from ..rules import tune
from . import messages
from .link import ECHO, ECHO_EVERY, Broker, Client, Message, first_contact
from .messages import ASK, INTERVAL, PRESENCE, REPLY, BadPayload, Presence, check_name, is_name

COUNTED = ("readings", "published", "answered", "ignored")
COSTS = Costs(value=1.0, query=3.0)  # messages: a request, its answer, the new interval for all
ALL = "all"  # the only cache that a source has: all caches together
SPEAK_AFTER = 0.75  # of max_silence, so that a delayed message still comes early enough
AT_ONCE = 250  # intervals passed to the network, and twice as many before it has written them
FLUSH_TIME = 1.0  # seconds to send what is not sent yet, before disconnecting
LOOK_EVERY = 0.05  # of max_silence: how often silent sources are looked for


class SourceClient(Client):
    """Publishes values as intervals.

    name: of this process, the same after a restart. Requests for exact values go to this name.
    rule, costs, limits: as of `Source`, for every key.
    max_silence: seconds after which a cache that has received nothing stops trusting a value.
    root: the beginning of all topics.

    `counts` has the number of readings, of intervals sent, of requests answered, and of invalid
    messages, which were ignored.
    """

    def __init__(
        self,
        broker: Broker,
        name: str,
        *,
        rule: str = "settling",
        costs: Costs = COSTS,
        limits: Iterable[float] = (),
        max_silence: float = 60.0,
        root: str = "penstock",
        timeout: float = 5.0,
    ):
        self.name = check_name("the name of a source", name)
        self.max_silence = check_number("max_silence", max_silence, 1)
        keepalive = min(max(int(self.max_silence), 5), 60)
        super().__init__(broker, root, keepalive, COUNTED)
        self._options: dict[str, Any] = {"rule": rule, "costs": costs, "limits": tuple(limits)}
        self._options["max_silence"] = self.max_silence * SPEAK_AFTER
        check_rule(tune(rule, costs).rule, fixed_by="a wire")  # only agreeing clocks could
        Source("", 0.0, **self._options)  # rejects bad options before it connects
        self._sources: dict[str, Source] = {}
        self._unsent: dict[str, Refresh] = {}  # the latest of each key
        self._last: Any = None  # what was passed to the network last
        self._taken_over = self._closing = self._sending = False
        self._lock = threading.Lock()  # never held while something is sent
        self._wake, self._echoed = threading.Event(), threading.Event()
        self._presence, self._requests = self._topic(PRESENCE, name), self._topic(ASK, name)
        protocol, retained = first_contact(broker, timeout, self._presence, self._requests)
        try:  # the clock may have gone back since this source was connected last
            self._run = messages.read_presence(retained).run
        except BadPayload:
            self._run = 0
        self._connect(protocol, timeout)
        self._sender = threading.Thread(target=self._send_on, name="sender", daemon=True)
        self._sender.start()

    @property
    def backlog(self) -> int:
        """The number of keys whose latest interval is not sent yet."""
        return len(self._unsent)

    def set(self, key: str, value: float) -> None:
        """Take a reading. Does not wait: if the network is slow, only the last value is sent."""
        if self._taken_over:
            raise PenstockError(
                f"another source named {self.name!r} has started; give one of them another name"
            )
        now = time.monotonic()
        with self._lock:
            if key in self._sources:
                refresh = self._sources[key].update(value, now).get(ALL)
            else:
                check_name("a key", key)
                options = self._options | {"seed": zlib.crc32(key.encode()), "run": self._run}
                self._sources[key] = Source(key, value, **options)
                refresh = self._sources[key].subscribe(ALL, now)
            self.counts["readings"] += 1
            if refresh is not None:
                self._unsent[key] = refresh
        if refresh is not None:
            self._wake.set()

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until the broker has everything; tell whether it has."""
        ends = time.monotonic() + timeout
        while time.monotonic() < ends:
            with self._lock:
                all_sent = not self._unsent and not self._sending
            if all_sent:
                # The echo comes back after the broker has read everything sent before.
                self._echoed.clear()
                self._send(self._requests, ECHO)
                if self._echoed.wait(ECHO_EVERY):
                    return True
            time.sleep(0.002)
        return False

    def close(self) -> None:
        """Announce that the values are no longer watched, and disconnect."""
        if self.up:
            self.flush(FLUSH_TIME)
        self._closing = True
        self._wake.set()
        self._sender.join()
        self._disconnect(with_will=True)

    # ------------------------------------------------------------ events of the connection

    def _will(self) -> tuple[str, bytes]:
        """Begin a new run: the will of an earlier connection makes its messages void."""
        with self._lock:
            self._run = _later(self._run)
            for source in self._sources.values():
                source.run = self._run
        gone = messages.write_presence(Presence(self._run, here=False))
        return self._presence, gone

    def _on_up(self) -> None:
        """Announce the source, and every interval: the broker may have lost them."""
        self._subscribe([self._requests, self._presence])
        self._announce()

    def _take(self, message: Message) -> None:
        """Answer a request; notice another source of this name, and news that we are gone."""
        if message.topic == self._requests:
            self._echoed.set() if message.payload == ECHO else self._answer(message)
        elif message.topic == self._presence:
            self._compare(messages.read_presence(message.payload))

    # ------------------------------------------------------------

    def _announce(self) -> None:
        """Publish that the source is here, and every interval."""
        here = messages.write_presence(Presence(self._run, here=True))
        self._send(self._presence, here, retain=True)
        now = time.monotonic()
        with self._lock:
            for key, source in self._sources.items():
                self._unsent[key] = source.subscribe(ALL, now)
        self._wake.set()

    def _compare(self, presence: Presence) -> None:
        """Yield to a later source of this name; deny other claims, and that we are gone."""
        later = presence.run > self._run
        if presence.here and later and presence.run + 1 < messages.LAST_RUN:
            self._taken_over = True
        elif (later or presence == Presence(self._run, here=False)) and not self._taken_over:
            self._announce()

    def _answer(self, message: Message) -> None:
        request = messages.read_request(message.payload)
        reply = message.reply or request.reply
        kind, cache = messages.read_topic(self._root, reply)  # an answer is sent nowhere else
        if kind != REPLY or not is_name(cache) or request.key not in self._sources:
            raise BadPayload("request")
        with self._lock:
            refresh = self._sources[request.key].ask(ALL, time.monotonic(), need=request.need)
            self._unsent[request.key] = refresh
            self.counts["answered"] += 1
        self._send(reply, self._write(refresh, request.mark), mark=message.mark)
        self._wake.set()

    def _write(self, refresh: Refresh, mark: str = "") -> bytes:
        return messages.write_refresh(refresh, self.name, self.max_silence, time.time(), mark)

    def _send_on(self) -> None:
        """Send what is to be sent, and let no source be silent for too long."""
        look = time.monotonic()
        while not self._closing:
            self._wake.wait(max(0.0, look - time.monotonic()))
            self._wake.clear()
            now = time.monotonic()
            if now >= look:
                with self._lock:
                    for key, source in self._sources.items():
                        for refresh in source.tick(now).values():
                            self._unsent[key] = refresh
                look = time.monotonic() + LOOK_EVERY * self.max_silence
            self._send_some()

    def _send_some(self) -> None:
        """Send some, and wait for those before them; the rest may be superseded meanwhile."""
        last: Any = None
        with self._lock:
            some = list(itertools.islice(self._unsent, AT_ONCE if self.up else 0))
            refreshes = [self._unsent.pop(key) for key in some]
            self._sending = bool(refreshes)
        for refresh in refreshes:
            if refresh.run == self._run:  # else a newer one waits
                topic = self._topic(INTERVAL, refresh.key)
                last = self._send(topic, self._write(refresh), retain=True)
                self.counts["published"] += last is not None
        self._sending = False
        if last is None:
            return
        before, self._last = self._last, last
        with suppress(RuntimeError):  # the connection is lost, and the message with it
            while self.up and not self._closing and before and not before.is_published():
                before.wait_for_publish(FLUSH_TIME)
        self._wake.set()


def _later(run: int) -> int:
    """Return a run after this one; the time of day, unless the clock has gone back.

    A run that leaves no room for a later one is ignored. Caches then trust the announcement that
    the source is here, which is the last message of its topic.
    """
    now = time.time_ns() // 1_000
    return max(run + 1, now) if run + 1 < messages.LAST_RUN else now
