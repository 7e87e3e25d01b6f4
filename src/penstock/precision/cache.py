"""A cache: intervals of many values, as many as it has room for.

A pure state machine. Whatever drives it hands it the messages of the sources and fetches what
queries want (`Asking`).
"""

import math
from collections.abc import Iterable
from typing import Any

from ..errors import BadInput, BadState
from .asking import Asking
from .checks import count, number
from .interval import Interval
from .message import Refresh
from .queries import Query

FORMAT = 1


class Cache:
    """Holds intervals, and answers queries from them.

    capacity: how many intervals fit; by default all. When it is full the widest goes, by its
        original width; the source is not told, so it keeps sending what the cache may then keep.
    grace: how much longer than its `max_silence` a source may be silent before it counts as lost:
        what messages may take, and clocks may differ.

    >>> from .source import Source
    >>> cache, boiler = Cache(), Source("boiler", 20.0, rule="static:width=4")
    >>> cache.receive(boiler.subscribe("north", now=0))
    True
    >>> cache.bounds("boiler", now=1)
    (18.0, 22.0)
    """

    def __init__(self, capacity: int | None = None, grace: float = 0.0):
        self.capacity = None if capacity is None else count("capacity", capacity, 0)
        self.grace = number("grace", grace, 0)
        self._held: dict[str, Refresh] = {}
        self._last: dict[str, tuple[int, int]] = {}  # the latest message of each key, held or not
        self._lost: set[str] = set()
        self._doubted: set[str] = set()

    def __len__(self) -> int:
        return len(self._held)

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that was heard of, held or not."""
        return tuple(self._last)

    def receive(self, refresh: Refresh) -> bool:
        """Take a message; return False if a later one is known already."""
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
            # Ties go to those that are there, as if the newcomer had not been let in.
            widest = max(self._held, key=lambda other: (self._held[other].rank, other == key))
            del self._held[widest]
        return True

    def lose(self, key: str) -> None:
        """Stop trusting a key until its source speaks again: it is known to be gone."""
        self._check_known([key])
        self._lost.add(key)

    def doubt(self) -> None:
        """Stop trusting all keys, each until its latest message comes, be it once more.

        For a cache that is cut off: later messages may exist, and it cannot hear them.
        """
        self._doubted.update(self._last)

    def forget(self, key: str) -> None:
        """Hear no more of a key, which was taken out of service."""
        self._held.pop(key, None)
        self._last.pop(key, None)
        self._lost.discard(key)
        self._doubted.discard(key)

    def is_stale(self, key: str, now: float) -> bool:
        """Tell whether the source of a key is lost, in doubt, or silent for too long."""
        self._check_known([key])
        return self.look(key, number("now", now))[2]

    def bounds(self, key: str, now: float) -> tuple[float, float]:
        """Return what is known of a value; nothing, if it is not held or its source is lost."""
        self._check_known([key])
        return self.look(key, number("now", now))[:2]

    def look(self, key: str, now: float) -> tuple[float, float, bool]:
        """Return what is known of a value, and whether it is stale; the key must be known."""
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
    ) -> Asking:
        """Begin to answer a query; `Asking` says what must be fetched.

        keys: what the query is about; by default every key.
        costs: what it costs to fetch a key, where that differs; 1 by default.
        patient: fetch one value at a time, since it may spare the others; more round trips.
        """
        chosen = list(dict.fromkeys(self._last if keys is None else keys))
        self._check_known(chosen)
        return Asking(self, query, chosen, number("now", now), costs or {}, patient)

    def save(self) -> dict[str, Any]:
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
    def restore(cls, saved: dict[str, Any]) -> "Cache":
        """Return a cache that goes on where `save` left off."""
        if saved.get("format") != FORMAT:
            raise BadState(f"a saved cache must be of format {FORMAT}, got {saved.get('format')}")
        cache = cls(saved["capacity"], saved["grace"])
        cache._last = {key: (run, number) for key, (run, number) in saved["last"].items()}
        cache._lost = set(saved["lost"])
        cache._doubted = set(saved.get("doubted", ()))
        for key, value, interval, *rest in saved["held"]:
            cache._held[key] = Refresh(key, value, Interval(*interval), *rest)
        return cache

    def _check_known(self, keys: Iterable[str]) -> None:
        unknown = [key for key in keys if key not in self._last]
        if unknown:
            some = ", ".join(list(self._last)[:10]) or "none yet"
            raise BadInput(
                f"nothing was heard of {', '.join(map(repr, unknown[:5]))};"
                f" check the name or wait for its source. Known: {some}"
            )
