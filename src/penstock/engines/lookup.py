"""Look references up in a relation through a cache: hits, what to fetch, what to evict.

Rows of the relation stay outside: a cached row is known by its slot, which it keeps for as long
as it is cached. A reference either finds its key (a hit), or its row must be fetched; then the
policy decides whether to keep it and whom it displaces.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import policies
from ..core import keymap, stack
from ..core.jit import jit, specialise
from ..core.policy import (
    CACHING,
    KEEP_ALL,
    REFUSE,
    UNKNOWN_SCALE,
    Chosen,
    Policy,
    Setup,
    grown,
    nothing,
)
from ..core.slots import FOREVER, Held, make_held
from ..errors import BadInput
from .refresh import most_arrivals, refreshed
from .saved import flatten, pack_header, part, unflatten, unpack_header
from .tables import capacity_of, claim_slots, live_slots
from .trials import Columns, Tools
from .tuning import Tuner, share_of

FORMAT = 1
CHUNK = 65_536  # references between two looks at whether the tables must grow
NO_LIMIT = 2**62
AHEAD = 12  # references between asking for a bucket and needing it
NEAR = 1 << 17  # a table of up to so many buckets is always at hand
ROW, REFERENCE = 0, 1  # the streams of the join that caching is a case of
HITS, MISSES, EVICTED, REFUSED, TAKEN = range(5)
COUNTERS = ("hits", "misses", "evicted", "refused")


class Tables(NamedTuple):
    """Everything a cache remembers, except what its policy remembers."""

    held: Held
    free: np.ndarray  # int32[capacity + 1]: a stack of free slots
    buckets: np.ndarray  # int64[1, power of two]: from key to slot
    counts: np.ndarray  # int64[5]: hits, misses, evicted, refused, references taken


class Outcome(NamedTuple):
    """What became of each reference of one push."""

    hit: np.ndarray  # bool[n]
    slot: np.ndarray  # int32[n]: where the row is (hit) or is to be put (miss); -1: do not keep it
    evicted: np.ndarray  # bool[n]: somebody was sent away to make room
    victim: np.ndarray  # int64[n]: its key


@functools.cache
def compile_lookup(policy: Policy):
    """Return the kernel `run(tables, state, keys, start, stop, budget, emit, out)`."""
    on_arrival, on_insert, on_match, on_remove, choose_victim = policy.hooks
    heeds_arrivals = on_arrival is not nothing

    @jit
    def seat(tables, room, stream, key, now):
        """Write what has come into the waiting room."""
        held = tables.held
        held.key[room, 0] = key
        held.at[room]["time"] = now
        held.at[room]["stream"] = stream

    @jit
    def send_away(tables, state, by_slot, victim, now):
        on_remove(state, tables.held, victim, now)
        keymap.erase(tables.buckets, 0, by_slot[victim], victim)

    @jit
    def take_in(tables, state, slot, key, now):
        held = tables.held
        held.key[slot, 0] = key
        held.at[slot]["stream"] = ROW
        held.at[slot]["time"] = now
        held.at[slot]["born"] = now
        keymap.add(tables.buckets, 0, key, slot)
        on_insert(state, held, slot, now)

    def run(tables, state, keys, start, stop, budget, emit, out):
        by_slot = tables.held.key[:, 0]
        room = len(by_slot) - 1
        far = tables.buckets.shape[1] > NEAR
        hits = evicted = refused = 0
        first = tables.counts[TAKEN] - start
        for i in range(start, stop):
            key, now = keys[i], first + i
            if far and i + AHEAD < stop:
                keymap.announce(tables.buckets, 0, keys[i + AHEAD])
            if heeds_arrivals:
                seat(tables, room, REFERENCE, key, now)
                on_arrival(state, tables.held, room, now)
            slot = keymap.find(tables.buckets, 0, by_slot, key)
            hit, gone = slot >= 0, False
            if hit:
                hits += 1
                on_match(state, tables.held, slot, now)
            else:
                if len(tables.free) - 1 - tables.free[0] < budget:
                    slot = stack.pop(tables.free)
                else:
                    seat(tables, room, ROW, key, now)
                    slot = np.int64(choose_victim(state, tables.held, room, now))
                    gone = slot != REFUSE
                    if gone:
                        evicted += 1
                        if emit:
                            out.victim[i] = by_slot[slot]
                        send_away(tables, state, by_slot, slot, now)
                    else:
                        refused += 1
                if slot != REFUSE:
                    take_in(tables, state, slot, key, now)
            if emit:
                out.hit[i] = hit
                out.slot[i] = slot
                out.evicted[i] = gone
        tables.counts[HITS] += hits
        tables.counts[MISSES] += stop - start - hits
        tables.counts[EVICTED] += evicted
        tables.counts[REFUSED] += refused
        tables.counts[TAKEN] += stop - start

    return specialise(run, policy.name, hooks=policy.hooks)


class Lookup:
    """A cache of up to `budget` rows of a relation.

    >>> cache = Lookup(policy="lru", budget=2)
    >>> cache.push([1, 2, 1, 3, 2]).hit.tolist()
    [False, False, True, False, False]
    >>> cache.hits, cache.misses
    (1, 4)
    """

    def __init__(
        self,
        policy: str | Policy | Chosen = "lru",
        budget: int | None = None,
        *,
        seed: int = 0,
        model: Any = None,
    ):
        if budget is not None and budget < 1:
            raise BadInput(f"budget must be at least 1, got {budget}")
        self.chosen = policies.choose(policy, CACHING)
        if budget is None:
            self.chosen = Chosen(KEEP_ALL, {})
        self.budget = budget
        self.seed = seed
        self.model = model  # what is known of the references beforehand, for policies that ask
        self._limit = NO_LIMIT if budget is None else budget
        self._scale = UNKNOWN_SCALE if budget is None else budget
        capacity = min(1024, self._limit)
        self._tables = Tables(
            _empty(capacity),
            stack.make_stack(0, capacity, capacity),
            keymap.make_buckets(capacity, roomy=True),
            np.zeros(5, np.int64),
        )
        self._state = self._fresh_state()
        self._tuner = self._make_tuner()

    def push(self, key: npt.ArrayLike, *, emit: bool = True) -> Outcome:
        """Take a batch of references and return what became of each.

        With `emit=False` the outcome is only counted.
        """
        keys = np.asarray(key)
        if keys.ndim != 1:
            raise BadInput(f"key must be one column, got shape {keys.shape}")
        if len(keys) and keys.dtype.kind not in "iu":
            raise BadInput(
                f"key must be integers (ids or hashes), got {keys.dtype}; encode it first"
            )
        keys = np.ascontiguousarray(keys, np.int64)
        out = _outcome(len(keys) if emit else 0)
        run = compile_lookup(self.chosen.policy)
        start, policy = 0, self.chosen.policy
        if self._tuner is not None:
            self._tuner.watch((keys,), keys)
        while start < len(keys):
            stop = min(start + CHUNK, len(keys), start + most_arrivals(policy, [self._state]))
            if self._tuner is not None:
                stop = self._tuner.stop(stop)
            self._reserve(stop - start)
            run(self._tables, self._state, keys, start, stop, self._limit, emit, out)
            self._state = refreshed(policy, self._state)
            if self._tuner is not None and self._tuner.take(stop):
                self._state = self._tuner.adopted(self._state)
            start = stop
        return out

    def _make_tuner(self) -> Tuner | None:
        if not self.chosen.is_tuned:
            return None
        share = share_of(self._limit)
        budget = max(1, round(self._limit * share))
        tools = Tools(lambda chosen: Lookup(chosen, budget), _show, _found, Lookup.restore)
        return Tuner(self.chosen, share, tools)

    @property
    def in_force(self) -> Chosen:
        """The policy with the parameters that are in force now, also those found by itself."""
        return self.chosen if self._tuner is None else self._tuner.in_force

    def _fresh_state(self) -> Any:
        capacity = capacity_of(self._tables.free)
        models = None if self.model is None else (None, self.model)
        setup = Setup(capacity, self._scale, self.seed, problem=CACHING, models=models)
        return self.chosen.make_state(setup)

    def _reserve(self, references: int) -> None:
        capacity = capacity_of(self._tables.free)
        wanted = min(self.held + references, self._limit)
        if wanted > capacity:
            self._grow(max(wanted, min(capacity * 3 // 2, self._limit)))
        reserve = self.chosen.policy.reserve
        if reserve is not None:
            self._state = reserve(self._state, references)

    def _grow(self, capacity: int) -> None:
        old = self._tables
        buckets = keymap.make_buckets(capacity, roomy=True)
        keymap.rehash(old.buckets, buckets)
        self._tables = old._replace(
            held=_grown(old.held, capacity),
            free=stack.grow_stack(old.free, capacity),
            buckets=buckets,
        )
        self._state = grown(self._state, self._fresh_state())

    @property
    def held(self) -> int:
        """How many rows are cached."""
        return capacity_of(self._tables.free) - int(self._tables.free[0])

    @property
    def hits(self) -> int:
        return int(self._tables.counts[HITS])

    @property
    def misses(self) -> int:
        return int(self._tables.counts[MISSES])

    @property
    def counters(self) -> dict[str, int]:
        """What happened to the references so far."""
        return dict(zip(COUNTERS, self._tables.counts.tolist(), strict=False))

    @property
    def resident(self) -> np.ndarray:
        """The keys of the cached rows, in the order in which they came."""
        return self._tables.held.key[self._live(), 0]

    def _live(self) -> np.ndarray:
        return live_slots(self._tables.free, self._tables.held.at["born"])

    def check(self) -> None:
        """Recount every structure; raises AssertionError where two of them disagree."""
        live, tables = self._live(), self._tables
        by_slot = tables.held.key[:, 0]
        assert len(live) <= self._limit
        assert len(set(by_slot[live].tolist())) == len(live), "a key is cached twice"
        found = [keymap.seek(tables.buckets, 0, by_slot, by_slot[slot]) for slot in live]
        assert found == live.tolist()
        assert int((tables.buckets != keymap.EMPTY).sum()) == len(live)
        tracked = self.chosen.policy.tracked
        assert tracked is None or tracked(self._state) == len(live)

    def save(self) -> dict[str, np.ndarray]:
        """Return the whole state as plain arrays; `restore` goes on as if nothing had happened."""
        live, tables = self._live(), self._tables
        header = {
            "format": FORMAT,
            "engine": "lookup",
            "policy": self.chosen.policy.name,
            "params": self.chosen.params,
            "budget": self.budget,
            "scale": self._scale,
            "seed": self.seed,
            "capacity": capacity_of(tables.free),
        }
        saved = {"header": pack_header(header), "slot": live.astype(np.int32)}
        saved["held.key"] = tables.held.key[live, 0]
        for name in ("time", "born"):
            saved[f"held.{name}"] = tables.held.at[name][live]
        saved["counts"] = tables.counts.copy()
        if self._tuner is not None:
            saved |= {f"tuner.{name}": array for name, array in self._tuner.save().items()}
        return saved | flatten(self._state, "policy")

    @classmethod
    def restore(cls, saved: dict[str, np.ndarray]) -> "Lookup":
        """Return a cache that goes on where `save` left off."""
        header = unpack_header(saved, "lookup", FORMAT)
        chosen = Chosen(policies.named(header["policy"]), header["params"])
        cache = cls(
            policies.DEFAULT if header["budget"] is None else chosen,
            header["budget"],
            seed=header["seed"],
        )
        if header["capacity"] > capacity_of(cache._tables.free):
            cache._grow(header["capacity"])
        cache._load(saved)
        return cache

    def _load(self, saved: dict[str, np.ndarray]) -> None:
        tables, live = self._tables, saved["slot"].astype(np.int64)
        tables.held.key[live, 0] = saved["held.key"]
        for name in ("time", "born"):
            tables.held.at[name][live] = saved[f"held.{name}"]
        tables.counts[:] = saved["counts"]
        claim_slots(tables.free, live)
        keymap.fill(tables.buckets, 0, saved["held.key"], live)
        self._state = unflatten(self._state, "policy", saved)
        if self._tuner is not None:
            self._tuner.load(part(saved, "tuner."))


def _show(miniature: Lookup, columns: Columns) -> None:
    miniature.push(columns[0], emit=False)


def _found(miniature: Lookup) -> int:
    return miniature.hits


def _empty(capacity: int) -> Held:
    """Return room for `capacity` rows; keys lie apart, since a hit looks at nothing else."""
    at = make_held(capacity, 1).at
    at["deadline"] = FOREVER
    return Held(np.zeros((capacity + 1, 1), np.int64), at)


def _grown(old: Held, capacity: int) -> Held:
    new = _empty(capacity)
    new.key[: len(old.key)] = old.key
    new.at[: len(old.at)] = old.at
    return new


def _outcome(n: int) -> Outcome:
    return Outcome(
        np.zeros(n, bool), np.full(n, -1, np.int32), np.zeros(n, bool), np.zeros(n, np.int64)
    )
