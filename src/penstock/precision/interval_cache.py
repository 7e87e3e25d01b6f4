"""A cache: intervals of many values, and queries that are answered from them.

Both are pure state machines. Their driver passes the messages of the sources to the cache, and
fetches the values that a query wants (`Asking`).
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput, BadState
from ..numeric import Json, check_count, check_number
from .interval_source import Interval, Refresh, ends
from .queries import Query, answer, most_telling, need, refreshes

FORMAT = 1


class Answer(NamedTuple):
    """An interval that contains the answer."""

    low: float
    high: float
    within: bool  # whether it is as narrow as the query asks, but for the rounding of its ends
    refreshed: tuple[str, ...]  # keys whose exact value was fetched
    stale: tuple[str, ...]  # keys whose source is lost: nothing is assumed of them
    reason: str = ""  # why all of them are stale, if there is one reason such as a lost connection


class Cache:
    """Holds intervals, and answers queries from them.

    capacity: the number of intervals that it holds; by default all. A full cache evicts the
        interval with the largest original width; the source does not see that, and continues to
        send.
    grace: how much longer than its `max_silence` a source may be silent before it counts as lost:
        the delay of messages, and the difference of clocks.

    >>> from .interval_source import Source
    >>> cache, boiler = Cache(), Source("boiler", 20.0, rule="static:width=4")
    >>> cache.receive(boiler.subscribe("north", now=0))
    True
    >>> cache.bounds("boiler", now=1)
    (18.0, 22.0)
    """

    def __init__(self, capacity: int | None = None, grace: float = 0.0):
        self.capacity = None if capacity is None else check_count("capacity", capacity, 0)
        self.grace = check_number("grace", grace, 0)
        self._held: dict[str, Refresh] = {}
        self._last: dict[str, tuple[int, int]] = {}  # the latest message of each key, held or not
        self._lost: set[str] = set()
        self._doubted: set[str] = set()

    def __len__(self) -> int:
        return len(self._held)

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key of which a message was received, held or not."""
        return tuple(self._last)

    def receive(self, refresh: Refresh) -> bool:
        """Take a message; return False if a later one was received before."""
        key = refresh.key
        if key in self._last:
            if refresh.order >= self._last[key]:
                self._doubted.discard(key)
            if refresh.order <= self._last[key]:
                return False
        self._last[key] = refresh.order
        self._lost.discard(key)
        self._held[key] = refresh
        if self.capacity is not None and len(self._held) > self.capacity:
            # Of equal widths the newcomer is evicted.
            widest = max(self._held, key=lambda other: (self._held[other].rank, other == key))
            del self._held[widest]
        return True

    def lose(self, key: str) -> None:
        """Stop trusting a key until its source sends a later message: the source is gone."""
        self._check_known([key])
        self._lost.add(key)

    def doubt(self) -> None:
        """Stop trusting all keys, each until its latest message is received, even if once more.

        For a cache that is disconnected: later messages may exist that it cannot receive.
        """
        self._doubted.update(self._last)

    def forget(self, key: str) -> None:
        """Remove a key that was taken out of service."""
        self._held.pop(key, None)
        self._last.pop(key, None)
        self._lost.discard(key)
        self._doubted.discard(key)

    def is_stale(self, key: str, now: float) -> bool:
        """Tell whether the source of a key is lost, in doubt, or silent for too long."""
        self._check_known([key])
        return self.look(key, check_number("now", now))[2]

    def bounds(self, key: str, now: float) -> tuple[float, float]:
        """Return the bounds of a value; infinite ones if it is not held or its source is lost."""
        self._check_known([key])
        return self.look(key, check_number("now", now))[:2]

    def look(self, key: str, now: float) -> tuple[float, float, bool]:
        """Return the bounds of a known key, and whether it is stale."""
        held = self._held.get(key)
        stale = key in self._lost or key in self._doubted
        stale |= held is not None and now > held.sent + held.max_silence + self.grace
        if stale or held is None:
            return -math.inf, math.inf, stale
        return *held.interval.bounds(now), False

    def ask(
        self,
        query: Query,
        now: float,
        keys: Iterable[str] | None = None,
        costs: dict[str, float] | None = None,
        patient: bool = False,
    ) -> "Asking":
        """Begin to answer a query; `Asking` names the values to fetch.

        keys: the keys of the query; by default every key.
        costs: the cost of fetching a key, where that differs; 1 by default.
        patient: fetch one value at a time, since it may make others unnecessary; more round trips.
        """
        chosen = list(dict.fromkeys(self._last if keys is None else keys))
        self._check_known(chosen)
        return Asking(self, query, chosen, check_number("now", now), costs or {}, patient)

    def save(self) -> dict[str, Json]:
        """Return the whole state as plain values, for `restore`."""
        return {
            "format": FORMAT,
            "capacity": self.capacity,
            "grace": self.grace,
            "last": {key: list(order) for key, order in self._last.items()},
            "lost": sorted(self._lost),
            "doubted": sorted(self._doubted),
            "held": [[*held[:2], list(held.interval), *held[3:]] for held in self._held.values()],
        }

    @classmethod
    def restore(cls, saved: dict[str, Json]) -> "Cache":
        """Return a cache that continues where `save` left off."""
        if saved.get("format") != FORMAT:
            raise BadState(f"a saved cache must be of format {FORMAT}, got {saved.get('format')}")
        plain: dict[str, Any] = saved
        cache = cls(plain["capacity"], plain["grace"])
        cache._last = {key: (run, number) for key, (run, number) in plain["last"].items()}
        cache._lost = set(plain["lost"])
        cache._doubted = set(plain["doubted"])
        for key, value, interval, *rest in plain["held"]:
            cache._held[key] = Refresh(key, value, Interval(*interval), *rest)
        return cache

    def _check_known(self, keys: Iterable[str]) -> None:
        unknown = [key for key in keys if key not in self._last]
        if unknown:
            some = ", ".join(list(self._last)[:10]) or "none yet"
            raise BadInput(
                f"no message was received about {', '.join(map(repr, unknown[:5]))};"
                f" check the name or wait for its source. Known: {some}"
            )


class Asking:
    """A query that is being answered.

    Fetch the keys that are `wanted` and pass each answer to `supply`, or call `fail` if a source
    does not answer, until no key is wanted; then take the `answer`.

    >>> from .interval_source import Source
    >>> sources = {key: Source(key, value, rule="static:width=4") for key, value in
    ...            {"a": 1.0, "b": 5.0, "c": 20.0}.items()}
    >>> cache = Cache()
    >>> for source in sources.values():
    ...     _ = cache.receive(source.subscribe("here", now=0))
    >>> asking = cache.ask(Query("sum", delta=5), now=1)
    >>> while asking.wanted:
    ...     for key in asking.wanted:
    ...         asking.supply(sources[key].ask("here", now=1, need=asking.need(key)))
    >>> asking.answer
    Answer(low=24.0, high=28.0, within=True, refreshed=('a', 'b'), stale=(), reason='')
    """

    def __init__(
        self,
        cache: Cache,
        query: Query,
        keys: list[str],
        now: float,
        costs: dict[str, float],
        patient: bool,
    ):
        if not keys:
            raise BadInput("a query must be about at least one key, got none")
        self.query = query.checked()
        self._cache = cache
        self._place = {key: i for i, key in enumerate(keys)}
        low, high, stale = zip(*(cache.look(key, now) for key in keys))
        self._low, self._high = np.array(low), np.array(high)
        self._costs = np.array([costs.get(key, 1.0) for key in keys]) if costs else None
        if self._costs is not None and not (self._costs >= 0).all():
            raise BadInput(f"the cost to fetch a key must be at least 0, got {min(costs.values())}")
        self._patient = patient
        self._stale = {key for key, is_stale in zip(keys, stale) if is_stale}
        self._refreshed: list[str] = []
        self._failed: set[str] = set()
        self.wanted: tuple[str, ...] = self._choose()

    def need(self, key: str) -> float:
        """Return how wide an interval of this key the query could have used."""
        return need(self.query, self._low, self._high, self._place[key])

    def supply(self, refresh: Refresh) -> None:
        """Take the exact value of a wanted key."""
        self._cache.receive(refresh)
        i = self._place[refresh.key]
        self._low[i], self._high[i] = ends(refresh.value, refresh.rounded)
        self._stale.discard(refresh.key)
        self._refreshed.append(refresh.key)
        self._continue(refresh.key)

    def fail(self, key: str) -> None:
        """Continue without a key whose source does not answer."""
        self._failed.add(key)
        self._continue(key)

    @property
    def answer(self) -> Answer:
        """The answer as far as it is known now."""
        low, high, within = answer(self.query, self._low, self._high)
        stale = tuple(key for key in self._place if key in self._stale)
        return Answer(low, high, within, tuple(self._refreshed), stale)

    def _continue(self, key: str) -> None:
        self.wanted = tuple(other for other in self.wanted if other != key)
        if not self.wanted:
            self.wanted = self._choose()

    def _choose(self) -> tuple[str, ...]:
        """Return the keys to fetch next; none once the remaining ones cannot help."""
        keys = list(self._place)
        known = self._failed.union(self._refreshed)  # to ask again would bring nothing new
        useless = np.array([key in known for key in keys]) & (self._low < self._high)
        chosen = refreshes(self.query, self._low, self._high, self._costs, last=useless)
        chosen = [i for i in chosen if not useless[i]]
        if self._patient and chosen:
            chosen = [most_telling(self.query, self._low, self._high, chosen)]
        return tuple(keys[i] for i in chosen)
