"""A process that asks: it holds the intervals of many sources and answers queries from them.

The state machine is `penstock.precision.Cache`; here it gets a connection and a clock. Times are
those of this machine alone: how long a message waited at the broker is what the broker says (MQTT
5), so no clocks need agree. A broker that speaks 3.1.1 does not say it; then what was retained is
as old as its sender's clock has it.
"""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ...errors import BadInput, Unreachable
from ..asking import Answer, Asking
from ..cache import Cache
from ..message import Refresh
from ..queries import Query, parse
from .broker import Broker
from .client import Client
from .handshake import ECHO, ECHO_EVERY, first_contact
from .link import Link, Message
from .names import Topics, check_name, check_pattern, matches
from .payload import BadPayload, Request, State, Told, read_refresh, read_state, write_request

KEEPALIVE = 30  # seconds


class Found(NamedTuple):
    """An answer, and what it is about."""

    answer: Answer
    keys: tuple[str, ...]


class CacheClient(Client):
    """Holds intervals and answers queries.

    patterns: the keys that it listens to, in MQTT's notation; all by default.
    capacity, grace: as of `Cache`.
    patience: seconds to wait for the answer of a source.

    `counts` tells how many messages came, how many were old news, and how many made no sense; both
    of the latter were ignored.
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
        self.patience = patience
        self.counts: Counter[str] = Counter(received=0, old=0, ignored=0)
        self._patterns = [check_pattern(pattern) for pattern in patterns]
        self._topics = Topics(check_name("the root of the topics", root))
        self._cache = Cache(capacity, grace)
        self._whose: dict[str, tuple[str, int]] = {}  # by key: who sent its latest, in which run
        self._states: dict[str, State] = {}  # by source: what it last said of itself
        self._marks = itertools.count(1)
        self._waiting: dict[str, str] = {}  # by mark: the key that was asked for
        self._answers: dict[str, Refresh] = {}  # by mark
        self._changed = threading.Condition()  # never held while something is sent
        self._complete = False
        contact = first_contact(broker, timeout)
        self._link = Link(broker, self, KEEPALIVE)
        self._link.open(contact.protocol, timeout)
        try:
            self.wait_until_complete(timeout)
        except BaseException:
            self.close()
            raise

    def known(self, pattern: str = "#") -> tuple[str, ...]:
        """Return the keys that were heard of, in order."""
        pattern = check_pattern(pattern)
        with self._changed:
            return tuple(sorted(key for key in self._cache.keys if matches(pattern, key)))

    def bounds(self, key: str) -> tuple[float, float]:
        """Return what is known of a value; nothing, if its source or our connection is lost."""
        with self._changed:
            self._doubt_if_cut_off()
            return self._cache.bounds(key, time.monotonic())

    def is_stale(self, key: str) -> bool:
        """Tell whether the source of a key or our connection is lost, or it was silent for long."""
        with self._changed:
            self._doubt_if_cut_off()
            return self._cache.is_stale(key, time.monotonic())

    def ask(self, query: str | Query, pattern: str = "#") -> Found:
        """Answer `avg(sensor/+/temp) within 0.5`, or a `Query` about the keys of a pattern.

        What must be fetched is asked for at the sources. Those that do not answer in time, and
        those that are known to be gone, are named in `answer.stale` if that leaves them unknown.

        Without a connection nothing is known, for what was heard before may be out of date: then
        all keys are stale, and `answer.reason` says why.
        """
        if isinstance(query, str):
            query, pattern = parse(query)
        keys = self.known(pattern)
        if not keys:
            raise BadInput(
                f"nothing was heard of {pattern!r} at {self._link.broker};"
                " check the name, or start its source"
            )
        self._wait_for_all(self.patience)  # a connection that just came back
        with self._changed:
            cut_off = self._doubt_if_cut_off()
            asking = self._cache.ask(query, time.monotonic(), keys)
        while asking.wanted:
            self._fetch(asking)
        answer = asking.answer
        if cut_off:
            answer = answer._replace(reason=f"there is no connection to {self._link.broker}")
        return Found(answer, keys)

    def wait_until_complete(self, timeout: float) -> None:
        """Wait until everything has come that is retained at the broker."""
        if not self._wait_for_all(timeout):
            raise Unreachable(
                f"the broker at {self._link.broker} does not deliver what we send to"
                f" {self._topics.reply(self._link.id)}; check its access rules"
            )

    # ------------------------------------------------------------ told by the link

    def will(self) -> None:
        """Leave no will: nobody depends on a cache."""

    def on_up(self) -> None:
        """Listen; first to who is gone, so that nothing of theirs is trusted even for a moment."""
        intervals = [self._topics.interval(pattern) for pattern in self._patterns]
        self._link.subscribe(
            [self._topics.state("#"), self._topics.reply(self._link.id), *intervals]
        )

    def on_down(self) -> None:
        """Trust nothing until it comes again: later messages may have been missed."""
        with self._changed:
            self._complete = False
            self._cache.doubt()
            self._changed.notify_all()

    def on_message(self, message: Message) -> None:
        """Take an interval, an answer, or the news that a source is gone."""
        try:
            with self._changed:
                self._take(message)
                self._changed.notify_all()
        except BadPayload:
            self.counts["ignored"] += 1

    def on_room(self) -> None:
        """Do nothing: a cache sends little."""

    # ------------------------------------------------------------

    def _wait_for_all(self, timeout: float) -> bool:
        """Wait for what is retained, while there is a connection; tell whether it has come."""
        ends = time.monotonic() + timeout
        while self.up and not self._complete and time.monotonic() < ends:
            self._link.check_allowed()
            # What we tell ourselves comes back after all that is retained.
            self._link.send(self._topics.reply(self._link.id), ECHO)
            with self._changed:
                self._changed.wait_for(lambda: self._complete or not self.up, ECHO_EVERY)
        return self._complete

    def _doubt_if_cut_off(self) -> bool:
        """Trust nothing while there is no connection; tell whether that is so."""
        if not self.up:
            self._cache.doubt()
        return not self.up

    def _take(self, message: Message) -> None:
        key, source = self._topics.key_of(message.topic), self._topics.source_of(message.topic)
        if key and not any(matches(pattern, key) for pattern in self._patterns):
            return  # amqtt sends a newcomer what others have subscribed to
        if key and not message.payload:  # someone wiped it out at the broker
            self._cache.forget(key)
            self._whose.pop(key, None)
        elif key:
            self._hear(read_refresh(key, message.payload), message)
        elif source and not message.payload:
            self._states.pop(source, None)
        elif source:
            self._learn(source, read_state(message.payload))
        elif message.topic == self._topics.reply(self._link.id):
            self._take_reply(message)

    def _hear(self, told: Told, message: Message) -> Refresh:
        """Let the cache have a refresh, unless its sender is gone.

        Of a key that two runs claim the one counts that its source says it is in, however large the
        other is: else a single message with a run beyond all others would silence the source.
        """
        refresh = _by_our_clock(told.refresh, message)
        key, whose = refresh.key, (told.source, refresh.run)
        self.counts["received"] += 1
        before = self._whose.get(key)
        if before is not None and self._is_current(*whose) and not self._is_current(*before):
            self._cache.forget(key)
        counts = self._counts(*whose)
        if (before is not None and not counts) or not self._cache.receive(refresh):
            self.counts["old"] += 1
            return refresh
        self._whose[key] = whose
        if not counts:
            self._cache.lose(key)
        return refresh

    def _learn(self, source: str, state: State) -> None:
        """Stop trusting what a source sent before it went, or before it began anew.

        The word of a source that it is here is the last one: the broker keeps the order of a topic.
        That an earlier run is gone may be said late.
        """
        known = self._states.get(source)
        if not state.here and known is not None and state.run < known.run:
            return
        self._states[source] = state
        for key, (other, run) in self._whose.items():
            if other == source and not self._counts(source, run):
                self._cache.lose(key)

    def _counts(self, source: str, run: int) -> bool:
        """Tell whether what a source sent in a run is to be trusted."""
        state = self._states.get(source)
        return state is None or run > state.run or (state.here and run == state.run)

    def _is_current(self, source: str, run: int) -> bool:
        """Tell whether a source says that it is in this run."""
        return self._states.get(source) == State(run, here=True)

    def _take_reply(self, message: Message) -> None:
        if message.payload == ECHO:
            self._complete = True
            return
        told = read_refresh("", message.payload)
        mark = message.mark.decode("ascii", "replace") or told.mark
        key = self._waiting.pop(mark, None)
        if key is None:  # nobody waits for it any longer
            self.counts["old"] += 1
            return
        told = told._replace(refresh=told.refresh._replace(key=key))
        self._answers[mark] = self._hear(told, message)

    def _fetch(self, asking: Asking) -> None:
        """Ask for all that is wanted, wait, and hand over what came."""
        marks = {key: str(next(self._marks)) for key in asking.wanted}
        with self._changed:
            needs = {key: asking.need(key) for key in marks}
            there = {key: source for key in marks if (source := self._whom_to_ask(key))}
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

    def _whom_to_ask(self, key: str) -> str:
        """Return who has a key; nobody, if that source is gone."""
        source, run = self._whose.get(key, ("", 0))
        return source if self._counts(source, run) else ""

    def _request(self, source: str, key: str, need: float, mark: str) -> bool:
        reply = self._topics.reply(self._link.id)
        request = Request(key, need) if self._link.speaks_5 else Request(key, need, reply, mark)
        return self._link.send(
            self._topics.ask(source), write_request(request), reply=reply, mark=mark.encode()
        )


def _by_our_clock(refresh: Refresh, message: Message) -> Refresh:
    """Return a refresh with the time at which it was sent, by the clock of this machine."""
    waited = message.waited
    if waited is None:
        waited = max(0.0, time.time() - refresh.sent) if message.retained else 0.0
    sent = time.monotonic() - waited
    return refresh._replace(sent=sent, interval=refresh.interval._replace(at=sent))
