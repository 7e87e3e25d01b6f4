"""One query on its way to an answer: what must be fetched, and what is known so far."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import BadInput
from .interval import ends
from .message import Refresh
from .queries import Query, most_telling, need, refreshes
from .queries import answer as bounds_and_within

if TYPE_CHECKING:
    from .cache import Cache


class Answer(NamedTuple):
    """An interval that contains the answer."""

    low: float
    high: float
    within: bool  # whether it is as narrow as was asked for, but for the rounding of its ends
    refreshed: tuple[str, ...]  # keys whose exact value was fetched
    stale: tuple[str, ...]  # keys whose source is lost: nothing was assumed of them
    reason: str = ""  # why all of them are, if there is one reason, such as a lost connection


class Asking:
    """A query that is being answered.

    Fetch the keys that are `wanted` and hand each answer to `supply` (or tell `fail` that there is
    none) until nothing is wanted; then take the `answer`.

    >>> from .cache import Cache
    >>> from .source import Source
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
        cache: "Cache",
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
            raise BadInput(
                f"what it costs to fetch a key must be at least 0, got {min(costs.values())}"
            )
        self._patient = patient
        self._stale = {key for key, is_stale in zip(keys, stale) if is_stale}
        self._refreshed: list[str] = []
        self._failed: set[str] = set()
        self.wanted: tuple[str, ...] = self._plan()

    def need(self, key: str) -> float:
        """Return how wide an interval of this key the query could have lived with."""
        return need(self.query, self._low, self._high, self._place[key])

    def supply(self, refresh: Refresh) -> None:
        """Take the exact value of a key that was wanted."""
        self._cache.receive(refresh)
        i = self._place[refresh.key]
        self._low[i], self._high[i] = ends(refresh.value, refresh.rounded)
        self._stale.discard(refresh.key)
        self._refreshed.append(refresh.key)
        self._go_on(refresh.key)

    def fail(self, key: str) -> None:
        """Go on without a key, whose source does not answer."""
        self._failed.add(key)
        self._go_on(key)

    @property
    def answer(self) -> Answer:
        """What is known of the answer now."""
        low, high, within = bounds_and_within(self.query, self._low, self._high)
        stale = tuple(key for key in self._place if key in self._stale)
        return Answer(low, high, within, tuple(self._refreshed), stale)

    def _go_on(self, key: str) -> None:
        self.wanted = tuple(other for other in self.wanted if other != key)
        if not self.wanted:
            self.wanted = self._plan()

    def _plan(self) -> tuple[str, ...]:
        """Return what to fetch next; nothing once those that are left cannot help."""
        keys = list(self._place)
        known = self._failed.union(self._refreshed)  # to ask again would tell nothing new
        useless = np.array([key in known for key in keys]) & (self._low < self._high)
        costs = self._costs
        if useless.any():  # the others first, whatever they cost
            costs = np.ones(len(keys)) if costs is None else costs
            costs = np.where(useless, 1 + costs.sum(), costs)
        chosen = refreshes(self.query, self._low, self._high, costs)
        chosen = [i for i in chosen if not useless[i]]
        if self._patient and chosen:
            chosen = [most_telling(self.query, self._low, self._high, chosen)]
        return tuple(keys[i] for i in chosen)
