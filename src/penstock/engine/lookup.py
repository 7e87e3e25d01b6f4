"""Look references up in a relation through a cache: hits, what to fetch, what to evict.

Rows of the relation stay outside: a cached row is known by its slot, which it keeps for as long
as it is cached. A reference either finds its key (a hit), or its row must be fetched; then the
policy decides whether to keep it and which row it displaces.
"""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import policies
from ..errors import BadInput
from ..kernel import keymap
from ..kernel.policy import CACHING, Configured, Policy, Setup
from . import lookup_kernel
from .adapt.shadows import Columns
from .base import NO_LIMIT, Engine
from .lookup_kernel import EMIT, MISSES, NOTE, SAVED, TAKEN, USED
from .lookup_kernel import HITS as HIT
from .saved import arguments, flatten, pack_header, restored, unpack_header

if TYPE_CHECKING:
    from ..models import Model

COUNTERS = ("hits", "misses", "evicted", "rejected")
HITS, BYTES, COSTS = "hits", "bytes", "costs"
GOALS = HITS, BYTES, COSTS
NO_NUMBERS = np.empty(0, np.int64)
NO_BATCH = np.zeros(0, bool), NO_NUMBERS
SIZES = "a cache with a budget in bytes needs the size of every row"
PRICES = "a cache with the goal of costs needs what each row costs to fetch"


class Outcome(NamedTuple):
    """What became of each reference of one push."""

    hit: np.ndarray  # bool[n]
    slot: np.ndarray  # int32[n]: where the row is (hit) or is to be put (miss); -1: do not keep it
    evicted: np.ndarray  # bool[n]: a row was evicted to make room
    victim: np.ndarray  # int64[n]: its key; the last one's, where a large row displaced several


class Lookup(Engine):
    """A cache of rows of a relation, inside a budget.

    >>> cache = Lookup(policy="lru", budget=2)
    >>> cache.push([1, 2, 1, 3, 2]).hit.tolist()
    [False, False, True, False, False]
    >>> cache.hits, cache.misses
    (1, 4)

    Args:
        policy: str, `Policy` or `Configured`; default `"auto"`. What decides which row is evicted:
            the name of a policy, with parameters as in `"gdj:percentile=0.9"`. Of some the
            parameters can be found while the cache runs: `"gdj:percentile=auto"`. With `"auto"` the
            policy itself is: `explain()` says which, and why.
        budget: int or None; default None. How many rows may be cached, or with `sized` the sum of
            their sizes, or with `in_bytes` the bytes that the cache may take. None: no limit.
        goal: `"hits"`, `"bytes"` or `"costs"`; default `"hits"`. What to get the most of: hits, the
            sizes of the rows found, which are not fetched, or what it would have cost to fetch
            them. It decides what `auto` compares, and what policies made for rows that differ
            (`gdsf`) evict.
        sized: bool; default False. Rows have sizes, of any unit, and the budget counts these.
        in_bytes: bool; default False. The budget is in bytes and counts all that the cache takes:
            payloads, slots, what the policy remembers, and what `auto` tries beside.
        seed: int; default 0. The seed of everything that is drawn at random.
        model: `penstock.models.Model` or None; default None. What is known of the references
            beforehand, for policies that use it.
        scale: int or None; default None. About how many rows will be cached, where sizes do not
            say.
    """

    kind, problem = "lookup", CACHING
    _batch = NO_BATCH  # which references of the batch were hits so far, and what each is worth

    def __init__(
        self,
        policy: str | Policy | Configured = policies.DEFAULT,
        budget: int | None = None,
        *,
        goal: str = HITS,
        sized: bool = False,
        in_bytes: bool = False,
        seed: int = 0,
        model: "Model | None" = None,
        scale: int | None = None,
    ) -> None:
        if goal not in GOALS:
            raise BadInput(f"goal must be one of {', '.join(GOALS)}, got {goal!r}")
        if goal == BYTES and not (sized or in_bytes):
            raise BadInput(
                "goal='bytes' needs rows with sizes; pass sized=True or in_bytes=True, and size= "
                "with the references"
            )
        super().__init__(policy, budget, sized, in_bytes, seed)
        self.goal, self.priced = goal, goal != HITS
        self.options["goal"] = goal
        self.model = model
        self._models = None if model is None else (None, model)
        self.footprint = self._divided(scale, self._models)
        self._budgets = [NO_LIMIT if budget is None else budget - self.footprint.fixed]
        self._scales = [self.footprint.rows]
        self._start()

    def push(
        self,
        key: npt.ArrayLike,
        *,
        size: npt.ArrayLike | None = None,
        cost: npt.ArrayLike | None = None,
        emit: bool = True,
    ) -> Outcome:
        """Take a batch of references and return what became of each.

        Args:
            key: int[n]. The key of each reference.
            size: int[n] or None; default None. The size of the row of each, in bytes or the unit of
                the budget; needed where the cache is `sized` or `in_bytes`.
            cost: int[n] or None; default None. What it costs to fetch the row of each, of any unit;
                needed with the goal of costs.
            emit: bool; default True. False: the outcome is only counted.
        """
        keys = _keys(key)
        self._refuse_needless(cost)
        sizes = _numbers("size", size, len(keys), 1, SIZES) if self.sized else NO_NUMBERS
        prices = sizes if self.priced else NO_NUMBERS
        if self.goal == COSTS:
            prices = _numbers("cost", cost, len(keys), 0, PRICES)
        if self.in_bytes:
            sizes = sizes + self.footprint.charge
        return self._take(keys, sizes, prices, emit)

    def _refuse_needless(self, cost: npt.ArrayLike | None) -> None:
        if self.goal != COSTS and cost is not None:
            raise BadInput(f"a cache with the goal of {self.goal} takes no cost; pass goal='costs'")

    def _take(self, keys: np.ndarray, sizes: np.ndarray, prices: np.ndarray, emit: bool) -> Outcome:
        """Take references; sizes and prices are empty where there are none."""
        n = len(keys) if emit else 0
        found, victim = np.full(n, -1, np.int32), np.zeros(n, np.int64)
        hit = np.zeros(n if self.chooser is None else len(keys), bool)
        out = Outcome(hit, found, np.zeros(n, bool), victim)
        self._batch = hit, prices
        what = np.int64(EMIT * emit + NOTE * (self.chooser is not None))
        shown = keys, *((sizes,) if self.sized else ()), *((prices,) if self.priced else ())
        for start, stop in self._chunks(shown, keys):
            taken, limit = start, self._budgets[0]
            while taken < stop:
                rest = (keys, sizes, prices, taken, stop, limit, what, out)
                run, states, most = self._pick(self._kernel, rest)
                until = min(stop, taken + most)
                rest = (keys, sizes, prices, taken, until, limit, what, out)
                taken = run(self._tables, self._given(states), *rest)
                if taken < until:
                    self._grow_by_size()
        self._batch = NO_BATCH
        return out

    def _kernel(self, policy: Policy) -> Any:
        return lookup_kernel.compile_lookup(policy, self.sized, self.priced)

    def find(self, key: npt.ArrayLike) -> np.ndarray:
        """Return the slot of each key, -1 where it is not cached; asking changes nothing.

        Args:
            key: int[n].
        """
        keys = _keys(key)
        out = np.empty(len(keys), np.int32)
        lookup_kernel.find_all(self._tables.buckets, self._tables.held.key[:, 0], keys, out)
        return out

    def discard(self, key: npt.ArrayLike) -> np.ndarray:
        """Discard keys whose rows are out of date; return which of them were cached: bool[n].

        Args:
            key: int[n].

        >>> cache = Lookup(policy="lru", budget=2)
        >>> cache.push([1, 2]).hit.tolist(), cache.discard([2, 3]).tolist()
        ([False, False], [True, False])
        >>> cache.push([1, 2]).hit.tolist()
        [True, False]
        """
        keys = _keys(key)
        gone = np.zeros(len(keys), bool)
        policy, states = self._any_hooks()
        run = lookup_kernel.compile_discard(policy, self.sized)
        run(self._tables, states[0], keys, gone)
        self._pilot.discard(keys)
        return gone

    @property
    def hits(self) -> int:
        """How many references found their row in the cache."""
        return int(self._tables.counts[HIT])

    @property
    def misses(self) -> int:
        """How many references did not."""
        return int(self._tables.counts[MISSES])

    @property
    def attained(self) -> int:
        """How much of its goal the cache has reached so far: hits, or what these were worth."""
        return int(self._tables.counts[SAVED]) if self.priced else self.hits

    @property
    def counters(self) -> dict[str, int]:
        """What happened to the references so far."""
        return dict(zip(COUNTERS, self._tables.counts.tolist(), strict=False))

    @property
    def resident(self) -> np.ndarray:
        """The keys of the cached rows, in the order in which they came."""
        return self._tables.held.key[self._live(), 0]

    @property
    def slots(self) -> np.ndarray:
        """The slots of the cached rows, in the order of `resident`."""
        return self._live()

    def save(self, copy: bool = True) -> dict[str, np.ndarray]:
        """Return the whole state as plain arrays; `restore` goes on as if nothing had happened.

        Args:
            copy: bool; default True. False: some of the arrays are the cache's own, to be written
                before it goes on.
        """
        live, tables = self._live(), self._tables
        saved = {"header": pack_header(self._header()), "slot": live.astype(np.int32)}
        saved["held.key"] = tables.held.key[live, 0]
        for name in self._columns():
            saved[f"held.{name}"] = tables.held.at[name][live]
        if self._weighed:
            saved["held.worth"] = tables.held.worth[live]
        saved["counts"] = tables.counts.copy()
        return saved | self._pilot.save() | flatten(self._states[0], "policy", copy)

    @classmethod
    def restore(
        cls,
        saved: dict[str, np.ndarray],
        *,
        policy: str | Policy | Configured | None = None,
        budget: int | Literal["same"] | None = "same",
        goal: str | None = None,
        cost: npt.ArrayLike | None = None,
    ) -> "Lookup":
        """Return a cache that goes on where `save` left off. Rows keep their slots.

        Args:
            saved: dict of str to array, as `save` returned it.
            policy: str, `Policy`, `Configured` or None; default None, the policy of then. Another
                one gets the cached rows as if they had just been fetched, and so does the same one
                with another `goal` or other costs.
            budget: int, `"same"` or None; default `"same"`, the budget of then. With a smaller one
                the policy evicts what no longer fits. None: no limit.
            goal: `"hits"`, `"bytes"`, `"costs"` or None; default None, the goal of then.
            cost: int[n] or None; default None, as it was. What it costs to fetch each cached row
                from now on, in the order of `resident`; needed if the goal becomes costs.

        >>> cache = Lookup(policy="gdsf", budget=2)
        >>> cache.push([1, 2]).hit.tolist()
        [False, False]
        >>> cache = Lookup.restore(cache.save(), goal="costs", cost=[9, 1])
        >>> cache.push([3], cost=[5]).victim.tolist()
        [2]
        """
        header = unpack_header(saved, cls.kind)
        given = arguments(header, policy, budget) | ({} if goal is None else {"goal": goal})
        cache = cls(**given)
        cache._refuse_needless(cost)
        anew = cost is not None or cache.goal != header["options"]["goal"]
        same, resized, kept = cache._resume(saved, header, anew)
        if header["capacity"] > cache._capacity:
            cache._grow(header["capacity"])
        if cache._weighed and anew:
            saved = saved | {"held.worth": cache._worths(saved, header["charge"], cost)}
        cache._load(saved, kept, header["charge"])
        if anew:
            cache._tables.counts[SAVED] = 0
        if resized or not same:
            cache._pilot.begin(cache.attained)
        return cache

    def _load(self, saved: dict[str, np.ndarray], kept: bool, charge: int) -> None:
        """Put saved rows into their slots; the policy keeps its state, or gets them anew."""
        tables, live = self._tables, saved["slot"].astype(np.int64)
        tables.held.key[live, 0] = saved["held.key"]
        tables.held.at["row"][live] = saved["held.time"]
        for name in self._columns():
            if f"held.{name}" in saved:  # uses are noted with `auto` only
                tables.held.at[name][live] = saved[f"held.{name}"]
        if self._weighed:
            tables.held.worth[live] = saved["held.worth"]
        tables.counts[:] = saved["counts"]
        if self.in_bytes:  # another policy takes another number of bytes for each row
            tables.held.at["size"][live] += self.footprint.charge - charge
            tables.counts[USED] += (self.footprint.charge - charge) * len(live)
            tables.held.worth[live] *= saved["held.size"] / tables.held.at["size"][live]
        self._claim_slots(live)
        keymap.fill(tables.buckets, 0, _writable(saved["held.key"]), live)
        if kept:
            self._states = (restored(self._states[0], "policy", saved),)
        if not kept or self._used > self._budgets[0]:
            policy, states = self._any_hooks()
            fit = lookup_kernel.compile_fit(policy, self.sized)
            fit(tables, states[0], live, self._unmarked(), not kept, self._budgets[0])

    def _worths(
        self, saved: dict[str, np.ndarray], charge: int, cost: npt.ArrayLike | None
    ) -> np.ndarray:
        """Return what a hit of each saved row is worth for the room that it took."""
        count = len(saved["held.key"])
        size = saved["held.size"] if self.sized else np.ones(count, np.int64)
        if self.goal == COSTS:
            return _numbers("cost", cost, count, 0, PRICES) / size
        return (size - charge if self.goal == BYTES else np.ones(count)) / size

    def _columns(self) -> list[str]:
        """Return the fields of a row that are worth saving."""
        noted = ["row", "matched"] if self.chooser is not None else []
        return ["time", "born", *noted] + ["size"] * self.sized

    @property
    def _weighed(self) -> bool:
        """Whether it is kept of each row what a hit is worth for the room that it takes."""
        return self.sized or self.priced

    def _terms(self) -> dict[str, Any]:
        return super()._terms() | {"goal": COSTS if self.priced else HITS}

    @property
    def _used(self) -> int:
        return int(self._tables.counts[USED])

    def _make_tables(self, capacity: int) -> lookup_kernel.LookupTables:
        return lookup_kernel.make_tables(capacity, self.sized, self._weighed)

    def _grown_tables(
        self, old: dict[str, np.ndarray], capacity: int
    ) -> lookup_kernel.LookupTables:
        return lookup_kernel.grow_tables(old, capacity, self.sized, self._weighed)

    def _setup(self, capacity: int, scale: int, lane: int) -> Setup:
        return Setup(capacity, scale, self.seed, problem=CACHING, models=self._models)

    def _families(self) -> list[list[Configured]]:
        return policies.families(CACHING, plain=True, windowed=False, weighed=self._weighed)

    def _given(self, states: tuple[Any, ...]) -> Any:
        return states[0]

    def _shadow(self, chosen: Configured, share: float) -> "Lookup":
        # A hot key takes one row, as any other does, so that nothing is to be left out for it.
        budget, scale = (max(1, round(n * share)) for n in (self._budgets[0], self._scales[0]))
        goal = COSTS if self.priced else HITS  # it is shown what a hit is worth
        return Lookup(chosen, budget, goal=goal, sized=self.sized, model=self.model, scale=scale)

    def _gained(self, rows: np.ndarray) -> int:
        hit, prices = self._batch
        return int(prices[rows] @ hit[rows] if self.priced else hit[rows].sum())

    def _show(self, columns: Columns) -> None:
        sizes = columns[1] if self.sized else NO_NUMBERS
        self._take(columns[0], sizes, columns[-1] if self.priced else NO_NUMBERS, emit=False)

    def _replay(self, columns: Columns) -> None:
        keys = columns[0]
        policy, states = self._any_hooks()
        adopt = lookup_kernel.compile_cache_adoption(policy)
        first = int(self._tables.counts[TAKEN]) - len(keys)
        live = self._live()
        live = live[np.argsort(self._tables.held.at["row"][live], kind="stable")]
        adopt(self._tables, states[0], live, keys, first)


def _keys(key: npt.ArrayLike) -> np.ndarray:
    keys = np.asarray(key)
    if keys.ndim != 1:
        raise BadInput(f"key must be one column, got shape {keys.shape}")
    if len(keys) and keys.dtype.kind not in "iu":
        raise BadInput(f"key must be integers (ids or hashes), got {keys.dtype}; encode it first")
    return _writable(np.ascontiguousarray(keys, np.int64))


def _numbers(what: str, given: npt.ArrayLike | None, n: int, least: int, needed: str) -> np.ndarray:
    """Return the sizes or costs of `n` references, none of them below `least`."""
    if given is None:
        raise BadInput(f"{needed}; pass {what}=")
    numbers = _writable(np.ascontiguousarray(given, np.int64))
    if numbers.shape != (n,):
        raise BadInput(f"{what} must be one number per key ({n}), got shape {numbers.shape}")
    if n and numbers.min() < least:
        raise BadInput(f"{what} must be at least {least}, got {numbers.min()}")
    return numbers


def _writable(column: np.ndarray) -> np.ndarray:
    """Return a column of one type: for columns of Arrow kernels would be compiled once more."""
    return column if column.flags.writeable else column.copy()
