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
from .adapt.miniatures import Candidate, Columns, candidates
from .base import NO_LIMIT, Engine
from .footprint import cache_footprint, plain_footprint
from .lookup_kernel import HITS, MISSES, TAKEN, USED
from .saved import arguments, flatten, pack_header, restored, unpack_header

if TYPE_CHECKING:
    from ..models import Model

COUNTERS = ("hits", "misses", "evicted", "rejected")


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
            policy itself is: `explain()` tells which, and why.
        budget: int or None; default None. How many rows may be cached, or with `sized` the sum of
            their sizes, or with `in_bytes` the bytes that the cache may take. None: no limit.
        sized: bool; default False. Rows have sizes, of any unit, and the budget counts these.
        in_bytes: bool; default False. The budget is in bytes and counts all that the cache takes:
            payloads, slots, what the policy remembers, and what `auto` tries beside.
        seed: int; default 0. The seed of everything that is drawn at random.
        model: `penstock.models.Model` or None; default None. What is known of the references
            beforehand, for policies that use it.
        scale: int or None; default None. About how many rows will be cached, where sizes do not
            tell.
    """

    kind, problem, alike = "lookup", CACHING, False

    def __init__(
        self,
        policy: str | Policy | Configured = policies.DEFAULT,
        budget: int | None = None,
        *,
        sized: bool = False,
        in_bytes: bool = False,
        seed: int = 0,
        model: "Model | None" = None,
        scale: int | None = None,
    ) -> None:
        super().__init__(policy, budget, sized, in_bytes, seed)
        self.model = model
        self._models = None if model is None else (None, model)
        self.footprint = plain_footprint(budget, self.sized, scale)
        if budget is not None and in_bytes:
            tried = self._families() if self.chosen.policy is policies.AUTO else []
            self.footprint = cache_footprint(budget, self.chosen, self._models, tried, scale)
        self._budgets = [NO_LIMIT if budget is None else budget - self.footprint.fixed]
        self._scales = [self.footprint.rows]
        self._start()

    def push(
        self, key: npt.ArrayLike, *, size: npt.ArrayLike | None = None, emit: bool = True
    ) -> Outcome:
        """Take a batch of references and return what became of each.

        Args:
            key: int[n]. The key of each reference.
            size: int[n] or None; default None. The size of the row of each, in bytes or the unit of
                the budget; needed where the cache is `sized` or `in_bytes`.
            emit: bool; default True. False: the outcome is only counted.
        """
        keys = _keys(key)
        sizes = _sizes(size, len(keys)) if self.sized else np.empty(0, np.int64)
        if self.in_bytes:
            sizes = sizes + self.footprint.charge
        n = len(keys) if emit else 0
        found, victim = np.full(n, -1, np.int32), np.zeros(n, np.int64)
        out = Outcome(np.zeros(n, bool), found, np.zeros(n, bool), victim)
        for start, stop in self._chunks((keys, sizes) if self.sized else (keys,), keys):
            taken, limit = start, self._budgets[0]
            while taken < stop:
                rest = (keys, sizes, taken, stop, limit, emit, out)
                run, states, most = self._pick(self._kernel, rest)
                until = min(stop, taken + most)
                rest = (keys, sizes, taken, until, limit, emit, out)
                taken = run(self._tables, self._given(states), *rest)
                if taken < until:
                    self._grow_by_size()
        return out

    def _kernel(self, policy: Policy) -> Any:
        return lookup_kernel.compile_lookup(policy, self.sized)

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
        return gone

    @property
    def hits(self) -> int:
        """How many references found their row in the cache."""
        return int(self._tables.counts[HITS])

    @property
    def misses(self) -> int:
        """How many references did not."""
        return int(self._tables.counts[MISSES])

    @property
    def attained(self) -> int:
        """How much of its goal the cache has reached so far: hits."""
        return self.hits

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
        saved["counts"] = tables.counts.copy()
        return saved | self._pilot.save() | flatten(self._states[0], "policy", copy)

    @classmethod
    def restore(
        cls,
        saved: dict[str, np.ndarray],
        *,
        policy: str | Policy | Configured | None = None,
        budget: int | Literal["same"] | None = "same",
    ) -> "Lookup":
        """Return a cache that goes on where `save` left off. Rows keep their slots.

        Args:
            saved: dict of str to array, as `save` returned it.
            policy: str, `Policy`, `Configured` or None; default None, the policy of then. Another
                one meets the cached rows as if they had just been fetched.
            budget: int, `"same"` or None; default `"same"`, the budget of then. With a smaller one
                the policy evicts what no longer fits. None: no limit.
        """
        header = unpack_header(saved, cls.kind)
        cache = cls(**arguments(header, policy, budget))
        same, resized, kept = cache._resume(saved, header)
        if header["capacity"] > cache._capacity:
            cache._grow(header["capacity"])
        cache._load(saved, kept, header["charge"])
        if resized or not same:
            cache._pilot.begin(cache.hits)
        return cache

    def _load(self, saved: dict[str, np.ndarray], kept: bool, charge: int) -> None:
        """Put saved rows into their slots; the policy goes on, or meets them anew."""
        tables, live = self._tables, saved["slot"].astype(np.int64)
        tables.held.key[live, 0] = saved["held.key"]
        for name in self._columns():
            tables.held.at[name][live] = saved[f"held.{name}"]
        tables.counts[:] = saved["counts"]
        if self.in_bytes:  # another policy takes another number of bytes for each row
            tables.held.at["size"][live] += self.footprint.charge - charge
            tables.counts[USED] += (self.footprint.charge - charge) * len(live)
        self._claim_slots(live)
        keymap.fill(tables.buckets, 0, _writable(saved["held.key"]), live)
        if kept:
            self._states = (restored(self._states[0], "policy", saved),)
        if not kept or self._used > self._budgets[0]:
            policy, states = self._any_hooks()
            fit = lookup_kernel.compile_fit(policy, self.sized)
            fit(tables, states[0], live, self._unmarked(), not kept, self._budgets[0])

    def _columns(self) -> list[str]:
        """Return the fields of a row that are worth saving."""
        return ["time", "born"] + ["size"] * self.sized

    @property
    def _used(self) -> int:
        return int(self._tables.counts[USED])

    def _make_tables(self, capacity: int) -> lookup_kernel.Tables:
        return lookup_kernel.make_tables(capacity, self.sized)

    def _grown_tables(self, old: dict[str, np.ndarray], capacity: int) -> lookup_kernel.Tables:
        return lookup_kernel.grow_tables(old, capacity, self.sized)

    def _setup(self, capacity: int, scale: int, lane: int) -> Setup:
        return Setup(capacity, scale, self.seed, problem=CACHING, models=self._models)

    def _families(self) -> list[list[Configured]]:
        return policies.families(CACHING, plain=True, windowed=False)

    def _given(self, states: tuple[Any, ...]) -> Any:
        return states[0]

    def _candidates(self) -> tuple[Candidate, ...]:
        return candidates(self._families(), 1, split=False)

    def _miniature(self, candidate: Candidate, share: float) -> "Lookup":
        # A hot key takes one row, as any other does, so that nothing is to be left out for it. What
        # is discarded stays in miniatures, so that they may find more than the cache does.
        budget, scale = (max(1, round(n * share)) for n in (self._budgets[0], self._scales[0]))
        return Lookup(candidate.chosen, budget, sized=self.sized, model=self.model, scale=scale)

    def _show(self, columns: Columns) -> None:
        self.push(columns[0], size=columns[1] if self.sized else None, emit=False)

    def _replay(self, columns: Columns) -> None:
        keys = columns[0]
        policy, states = self._any_hooks()
        adopt = lookup_kernel.compile_cache_adoption(policy)
        first = int(self._tables.counts[TAKEN]) - len(keys)
        adopt(self._tables, states[0], self._live(), keys, first)


def _keys(key: npt.ArrayLike) -> np.ndarray:
    keys = np.asarray(key)
    if keys.ndim != 1:
        raise BadInput(f"key must be one column, got shape {keys.shape}")
    if len(keys) and keys.dtype.kind not in "iu":
        raise BadInput(f"key must be integers (ids or hashes), got {keys.dtype}; encode it first")
    return _writable(np.ascontiguousarray(keys, np.int64))


def _sizes(size: npt.ArrayLike | None, n: int) -> np.ndarray:
    if size is None:
        raise BadInput("a cache with a budget in bytes needs the size of every row; pass size=")
    sizes = _writable(np.ascontiguousarray(size, np.int64))
    if sizes.shape != (n,):
        raise BadInput(f"size must be one number per key ({n}), got shape {sizes.shape}")
    if n and sizes.min() < 1:
        raise BadInput(f"size must be at least 1 byte, got {sizes.min()}")
    return sizes


def _writable(column: np.ndarray) -> np.ndarray:
    """Return a column of one type: for columns of Arrow kernels would be compiled once more."""
    return column if column.flags.writeable else column.copy()
