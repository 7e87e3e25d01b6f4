"""A process that holds values: it publishes their intervals and answers who needs them exactly.

All caches share one interval of a key, retained at the broker, so that who comes late has it at
once (`docs/decisions/0016`). The state machine is `penstock.precision.Source`; here it gets a
connection, a clock and a last will.
"""

import itertools
import math
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ...errors import BadInput, PenstockError
from ..checks import number
from ..costs import Costs
from ..message import Refresh
from ..rules import tune
from ..source import Source
from .broker import Broker
from .client import Client
from .handshake import ECHO, ECHO_EVERY, first_contact
from .link import Link, Message
from .names import Topics, check_name
from .payload import (
    LAST_RUN,
    BadPayload,
    Request,
    State,
    read_request,
    read_state,
    write_refresh,
    write_state,
)

COSTS = Costs(value=1.0, query=3.0)  # messages: a request, its answer, the new interval for all
ALL = "all"  # the one line of a source: whoever listens
SPEAK_AFTER = 0.75  # of max_silence, so that what takes its time still comes early enough
LAST_WORDS = 1.0  # seconds to get rid of what is not sent yet, before we leave
LOOK_EVERY = 0.05  # of max_silence: who must speak


class SourceClient(Client):
    """Publishes values as intervals.

    name: of this process; the same when it is started again. Where it is asked for exact values.
    rule, costs, limits: as of `Source`, for every key.
    max_silence: seconds after which a cache that has heard nothing stops trusting a value.
    root: the beginning of all topics.

    `counts` tells how many readings came, how many were skipped (`feed`), how many intervals were
    sent, how many requests were answered, and how many messages made no sense and were ignored.
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
        self.max_silence = number("max_silence", max_silence, 1)
        self.counts: Counter[str] = Counter(
            readings=0, skipped=0, published=0, answered=0, ignored=0
        )
        self._topics = Topics(check_name("the root of the topics", root))
        self._options: dict[str, Any] = {"rule": rule, "costs": costs, "limits": tuple(limits)}
        self._options["max_silence"] = self.max_silence * SPEAK_AFTER
        _refuse_moving(rule, costs)
        Source("", 0.0, **self._options)  # complains of what makes no sense before it connects
        self._sources: dict[str, Source] = {}
        self._unsent: dict[str, Refresh] = {}  # the latest of each key
        self._run = 0
        self._taken_over = self._closing = self._sending = False
        self._lock = threading.Lock()  # never held while something is sent
        self._wake, self._echoed = threading.Event(), threading.Event()
        keepalive = min(max(int(self.max_silence), 5), 60)
        self._link = Link(broker, self, keepalive)
        self._open(broker, timeout)
        self._speaker = threading.Thread(target=self._speak, name="speaker", daemon=True)
        self._speaker.start()

    @property
    def backlog(self) -> int:
        """How many keys have news that are not sent yet."""
        return len(self._unsent)

    def set(self, key: str, value: float) -> None:
        """Take a reading. Does not wait: if the network is slow, only the last value is sent."""
        if self._taken_over:
            raise PenstockError(
                f"another source named {self.name!r} has started; give one of them another name"
            )
        now = time.monotonic()
        with self._lock:
            source = self._sources.get(key)
            if source is None:
                self._unsent[key] = self._add(key, value).subscribe(ALL, now)
            else:
                refresh = source.update(value, now).get(ALL)
                if refresh is None:
                    self.counts["readings"] += 1
                    return
                self._unsent[key] = refresh
            self.counts["readings"] += 1
        self._wake.set()

    def feed(
        self,
        readings: Iterable[tuple[str, float]],
        on_skip: Callable[[str, float], None] | None = None,
    ) -> None:
        """Take readings one after another; count and skip those that are no finite numbers.

        The reading before stands. `on_skip` is told of every one that was skipped.
        """
        for key, value in readings:
            if math.isfinite(value):
                self.set(key, value)
                continue
            self.counts["skipped"] += 1
            if on_skip is not None:
                on_skip(key, value)

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until the broker has everything; tell whether it has."""
        ends = time.monotonic() + timeout
        while time.monotonic() < ends:
            if self._is_all_sent():
                # What we tell ourselves comes back after the broker has read all that was before.
                self._echoed.clear()
                self._link.send(self._topics.ask(self.name), ECHO)
                if self._echoed.wait(ECHO_EVERY):
                    return True
            time.sleep(0.002)
        return False

    def close(self) -> None:
        """Say that the values are no longer watched, and leave."""
        if self.up:
            self.flush(LAST_WORDS)
        self._closing = True
        self._wake.set()
        self._speaker.join()
        self._link.close(with_will=True)

    # ------------------------------------------------------------ told by the link

    def will(self) -> tuple[str, bytes]:
        """Begin a new run: what an earlier connection sent is void once its will is read."""
        with self._lock:
            self._run = _later(self._run)
            for source in self._sources.values():
                source.run = self._run
        return self._topics.state(self.name), write_state(State(self._run, here=False))

    def on_up(self) -> None:
        """Say who is there, and every interval: the broker may have forgotten them."""
        self._link.subscribe([self._topics.ask(self.name), self._topics.state(self.name)])
        self._announce()

    def on_down(self) -> None:
        """Do nothing: the broker says our will."""

    def on_message(self, message: Message) -> None:
        """Answer a request; notice another source of this name, and who says that we are gone."""
        try:
            if message.topic == self._topics.ask(self.name):
                self._echoed.set() if message.payload == ECHO else self._answer(message)
            elif message.topic == self._topics.state(self.name):
                self._compare(read_state(message.payload))
        except BadPayload:
            self.counts["ignored"] += 1

    def on_room(self) -> None:
        """Go on sending."""
        if self._unsent:
            self._wake.set()

    # ------------------------------------------------------------

    def _open(self, broker: Broker, timeout: float) -> None:
        state = self._topics.state(self.name)
        contact = first_contact(broker, timeout, state, self._topics.ask(self.name))
        try:  # a clock may have gone back since this source was there last
            self._run = read_state(contact.retained).run
        except BadPayload:
            self._run = 0
        self._link.open(contact.protocol, timeout)

    def _announce(self) -> None:
        """Say that we are here, and every interval."""
        here = write_state(State(self._run, here=True))
        self._link.send(self._topics.state(self.name), here, retain=True)
        now = time.monotonic()
        with self._lock:
            for key, source in self._sources.items():
                self._unsent[key] = source.subscribe(ALL, now)
        self._wake.set()

    def _compare(self, state: State) -> None:
        """Yield to a later source of this name; deny what no source says, or that we are gone."""
        later = state.run > self._run
        if state.here and later and state.run + 1 < LAST_RUN:
            self._taken_over = True
        elif (later or state == State(self._run, here=False)) and not self._taken_over:
            self._announce()

    def _add(self, key: str, value: float) -> Source:
        check_name("a key", key)
        source = Source(key, value, **self._options, seed=zlib.crc32(key.encode()), run=self._run)
        self._sources[key] = source
        return source

    def _answer(self, message: Message) -> None:
        request = read_request(message.payload)
        reply = message.reply or request.reply
        if not self._topics.is_reply(reply) or request.key not in self._sources:
            raise BadPayload("request")
        with self._lock:
            refresh = self._sources[request.key].ask(ALL, time.monotonic(), need=request.need)
            self._unsent[request.key] = refresh
            self.counts["answered"] += 1
        self._link.send(reply, self._write(refresh, request), mark=message.mark)
        self._wake.set()

    def _write(self, refresh: Refresh, request: Request | None = None) -> bytes:
        mark = request.mark if request else ""
        return write_refresh(refresh, self.name, self.max_silence, time.time(), mark)

    def _is_all_sent(self) -> bool:
        with self._lock:
            return not self._unsent and not self._sending

    def _speak(self) -> None:
        """Send what is to be sent, and see to it that no source is silent for too long."""
        look = time.monotonic()
        while not self._closing:
            self._wake.wait(max(0.0, look - time.monotonic()))
            self._wake.clear()
            if time.monotonic() >= look:
                self._tick()
                look = time.monotonic() + LOOK_EVERY * self.max_silence
            self._send_some()

    def _tick(self) -> None:
        now = time.monotonic()
        with self._lock:
            for key, source in self._sources.items():
                for refresh in source.tick(now).values():
                    self._unsent[key] = refresh

    def _send_some(self) -> None:
        """Send as much as the network takes; the rest may be superseded before its turn comes."""
        with self._lock:
            room = max(0, self._link.room) if self._link.up else 0
            some = list(itertools.islice(self._unsent, room))
            refreshes = [self._unsent.pop(key) for key in some]
            self._sending = bool(refreshes)
        for refresh in refreshes:
            if refresh.run == self._run:  # else a newer one waits
                payload = self._write(refresh)
                sent = self._link.send(self._topics.interval(refresh.key), payload, retain=True)
                self.counts["published"] += sent
        self._sending = False


def _later(run: int) -> int:
    """Return a run after this one; the time of day, unless a clock has gone back.

    A run that leaves no room for a later one is nothing to go by. Caches then go by the word that
    we are here, which is the last one of this topic.
    """
    now = time.time_ns() // 1_000
    return max(run + 1, now) if run + 1 < LAST_RUN else now


def _refuse_moving(rule: str, costs: Costs) -> None:
    if tune(rule, costs).rule.moves:
        raise BadInput(
            f"intervals of rule {rule!r} move with time, which takes clocks that agree;"
            " on a wire choose another rule"
        )
