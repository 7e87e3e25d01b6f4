"""A process that asks: it holds the intervals of many sources and answers queries from them.

The state machine is `penstock.precision.Cache`; here it gets a connection and a clock. Times are
those of this machine alone: the broker tells how long a message waited there (MQTT 5), so clocks
need not agree. A broker that speaks 3.1.1 does not tell; then the age of a retained message comes
from the clock of its sender.
"""

import itertools
import threading
import time
from collections.abc import Iterable
from typing import NamedTuple

from ...errors import BadInput, Unreachable
from ..interval_cache import Answer, Asking, Cache
from ..interval_source import Refresh
from ..queries import Query, parse
from . import messages
from .link import ECHO, ECHO_EVERY, Broker, Client, Message, first_contact
from .messages import Presence, ReceivedRefresh, Request, check_pattern, matches

KEEPALIVE = 30  # seconds


class Found(NamedTuple):
    """An answer, and the keys that it is about."""

    answer: Answer
    keys: tuple[str, ...]


class CacheClient(Client):
    """Holds intervals and answers queries.

    patterns: the keys that it subscribes to, in MQTT's notation; all by default.
    capacity, grace: as of `Cache`.
    patience: seconds to wait for the answer of a source.

    `counts` has the number of messages received, of old ones, and of invalid ones; both of the
    latter were ignored.
    """

    def __init__(
        self,
        broker: Broker,
        patterns: Iterable[str] = ("#",),
        *,
        capacity: int | None = None,
        grace: float = 0.0,
        patience: float = 2.0,
        root: str = "penstock",
        timeout: float = 5.0,
    ):
        super().__init__(broker, root, KEEPALIVE, ("received", "old", "ignored"))
        self.patience = patience
        self._patterns = [check_pattern(pattern) for pattern in patterns]
        self._cache = Cache(capacity, grace)
        self._senders: dict[str, tuple[str, int]] = {}  # by key: source and run of its latest
        self._present: dict[str, Presence] = {}  # by source: its latest presence
        self._marks = itertools.count(1)
        self._waiting: dict[str, str] = {}  # by mark: the key that was asked for
        self._answers: dict[str, Refresh] = {}  # by mark
        self._changed = threading.Condition()  # never held while something is sent
        self._complete = False
        self._replies = self._topic(messages.REPLY, self.id)
        self._connect(first_contact(broker, timeout)[0], timeout)
        try:
            if not self._wait_for_all(timeout):
                raise Unreachable(
                    f"the broker at {broker} does not deliver what we send to"
                    f" {self._replies}; check its access rules"
                )
        except BaseException:
            self.close()
            raise

    def known(self, pattern: str = "#") -> tuple[str, ...]:
        """Return the keys of which a message was received, in order."""
        pattern = check_pattern(pattern)
        with self._changed:
            return tuple(sorted(key for key in self._cache.keys if matches(pattern, key)))

    def bounds(self, key: str) -> tuple[float, float]:
        """Return the bounds of a value; infinite if its source or our connection is lost."""
        with self._changed:
            self._doubt_if_cut_off()
            return self._cache.bounds(key, time.monotonic())

    def is_stale(self, key: str) -> bool:
        """Tell whether a source is lost or silent for too long, or our connection is lost."""
        with self._changed:
            self._doubt_if_cut_off()
            return self._cache.is_stale(key, time.monotonic())

    def ask(self, query: str | Query, pattern: str = "#") -> Found:
        """Answer `avg(sensor/+/temp) within 0.5`, or a `Query` about the keys of a pattern.

        Exact values that are needed are requested from the sources. Sources that do not answer in
        time, and those that are gone, are named in `answer.stale` if that leaves them unknown.

        Without a connection nothing is known, since earlier messages may be out of date: then all
        keys are stale, and `answer.reason` says why.
        """
        if isinstance(query, str):
            query, pattern = parse(query)
        keys = self.known(pattern)
        if not keys:
            raise BadInput(
                f"no message was received about {pattern!r} at {self.broker};"
                " check the name, or start its source"
            )
        self._wait_for_all(self.patience)  # after a reconnection
        with self._changed:
            cut_off = self._doubt_if_cut_off()
            asking = self._cache.ask(query, time.monotonic(), keys)
        while asking.wanted:
            self._fetch(asking)
        answer = asking.answer
        if cut_off:
            answer = answer._replace(reason=f"there is no connection to {self.broker}")
        return Found(answer, keys)

    # ------------------------------------------------------------ events of the connection

    def _on_up(self) -> None:
        """Subscribe; first to presences, so that no message of a lost source is ever trusted."""
        intervals = [self._topic(messages.INTERVAL, pattern) for pattern in self._patterns]
        self._subscribe([self._topic(messages.PRESENCE, "#"), self._replies, *intervals])

    def _on_down(self) -> None:
        """Trust nothing until it is received again: later messages may have been missed."""
        with self._changed:
            self._complete = False
            self._cache.doubt()
            self._changed.notify_all()

    def _take(self, message: Message) -> None:
        """Take an interval, an answer, or the presence of a source."""
        kind, name = messages.read_topic(self._root, message.topic)
        if kind == messages.INTERVAL and not any(matches(each, name) for each in self._patterns):
            return  # amqtt sends a new client what others have subscribed to
        with self._changed:
            match kind, bool(message.payload):
                case messages.INTERVAL, False:  # the retained message was removed from the broker
                    self._cache.forget(name)
                    self._senders.pop(name, None)
                case messages.INTERVAL, True:
                    self._receive(messages.read_refresh(name, message.payload), message)
                case messages.PRESENCE, False:
                    self._present.pop(name, None)
                case messages.PRESENCE, True:
                    self._learn(name, messages.read_presence(message.payload))
                case messages.REPLY, _ if name == self.id:
                    self._take_reply(message)
            self._changed.notify_all()

    # ------------------------------------------------------------

    def _wait_for_all(self, timeout: float) -> bool:
        """Wait for the retained messages while there is a connection; tell whether they came."""
        ends = time.monotonic() + timeout
        while self.up and not self._complete and time.monotonic() < ends:
            self._check_allowed()
            # The echo comes back after all retained messages.
            self._send(self._replies, ECHO)
            with self._changed:
                self._changed.wait_for(lambda: self._complete or not self.up, ECHO_EVERY)
        return self._complete

    def _doubt_if_cut_off(self) -> bool:
        """Trust nothing while there is no connection; tell whether that is so."""
        if not self.up:
            self._cache.doubt()
        return not self.up

    def _receive(self, received: ReceivedRefresh, message: Message) -> Refresh:
        """Pass a refresh to the cache, unless its source is gone.

        If two runs claim a key, the run counts that its source announces, however large the other
        one is: else a single message with a run beyond all others would silence the source.
        """
        refresh = _by_our_clock(received.refresh, message)
        key, sender = refresh.key, (received.source, refresh.run)
        self.counts["received"] += 1
        before = self._senders.get(key)
        if before is not None and self._is_current(*sender) and not self._is_current(*before):
            self._cache.forget(key)
        trusted = self._is_trusted(*sender)
        if (before is not None and not trusted) or not self._cache.receive(refresh):
            self.counts["old"] += 1
            return refresh
        self._senders[key] = sender
        if not trusted:
            self._cache.lose(key)
        return refresh

    def _learn(self, source: str, presence: Presence) -> None:
        """Stop trusting what a source sent before it disconnected, or before it began a new run.

        An announcement that a source is here is the latest one, since the broker keeps the order of
        a topic. The news that an earlier run is gone may be late.
        """
        known = self._present.get(source)
        if not presence.here and known is not None and presence.run < known.run:
            return
        self._present[source] = presence
        for key, (other, run) in self._senders.items():
            if other == source and not self._is_trusted(source, run):
                self._cache.lose(key)

    def _is_trusted(self, source: str, run: int) -> bool:
        """Tell whether the messages of a source's run count."""
        known = self._present.get(source)
        return known is None or run > known.run or (known.here and run == known.run)

    def _is_current(self, source: str, run: int) -> bool:
        """Tell whether a source has announced this run."""
        return self._present.get(source) == Presence(run, here=True)

    def _take_reply(self, message: Message) -> None:
        if message.payload == ECHO:
            self._complete = True
            return
        received = messages.read_refresh("", message.payload)
        mark = message.mark.decode("ascii", "replace") or received.mark
        key = self._waiting.pop(mark, None)
        if key is None:  # the query has stopped waiting
            self.counts["old"] += 1
            return
        received = received._replace(refresh=received.refresh._replace(key=key))
        self._answers[mark] = self._receive(received, message)

    def _fetch(self, asking: Asking) -> None:
        """Request all wanted values, wait, and pass on the answers."""
        marks = {key: str(next(self._marks)) for key in asking.wanted}
        with self._changed:
            needs = {key: asking.need(key) for key in marks}
            there = {key: source for key in marks if (source := self._holder(key))}
            self._waiting |= {marks[key]: key for key in there}
        sent = [key for key in there if self._request(there[key], key, needs[key], marks[key])]
        with self._changed:
            self._changed.wait_for(
                lambda: all(marks[key] in self._answers for key in sent), self.patience
            )
            for key, mark in marks.items():
                self._waiting.pop(mark, None)
                found = self._answers.pop(mark, None)
                asking.fail(key) if found is None else asking.supply(found)

    def _holder(self, key: str) -> str:
        """Return the source of a key; empty, if that source is gone."""
        source, run = self._senders.get(key, ("", 0))
        return source if self._is_trusted(source, run) else ""

    def _request(self, source: str, key: str, need: float, mark: str) -> bool:
        reply, topic = self._replies, self._topic(messages.ASK, source)
        request = Request(key, need) if self._speaks_5 else Request(key, need, reply, mark)
        payload = messages.write_request(request)
        return self._send(topic, payload, reply=reply, mark=mark.encode()) is not None


def _by_our_clock(refresh: Refresh, message: Message) -> Refresh:
    """Return a refresh with the time at which it was sent, by the clock of this machine."""
    waited = message.waited
    if waited is None:
        waited = max(0.0, time.time() - refresh.sent) if message.retained else 0.0
    sent = time.monotonic() - waited
    return refresh._replace(sent=sent, interval=refresh.interval._replace(at=sent))
