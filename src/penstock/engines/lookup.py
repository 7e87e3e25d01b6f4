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
from ..core.pages import zeros
from ..core.policy import (
    CACHING,
    KEEP_ALL,
    REFUSE,
    Chosen,
    Policy,
    Setup,
    grown,
    nothing,
)
from ..core.slots import FOREVER, Held, make_held
from ..errors import BadInput
from . import upkeep
from .candidate import Candidate, candidates
from .changeover import compile_cache_adoption
from .chooser import Chooser
from .footprint import Footprint, Line, footprint, grown_state, line_of, plain_footprint
from .nbytes import nbytes
from .pilot import Pilot
from .refresh import most_arrivals, refreshed
from .saved import expanded, flatten, pack_header, unflatten, unpack_header
from .tables import capacity_of, claim_slots, live_slots, slots_to_add
from .trials import Columns, Tools
from .upkeep import EVICTED, HITS, MISSES, REFUSED, TAKEN, USED

FORMAT = 2
CHUNK = 65_536  # references between two looks at whether the tables must grow
NO_LIMIT = 2**62
FIRST, FIRST_SIZED = 1024, 64  # slots to begin with
AHEAD = 12  # references between asking for a bucket and needing it
NEAR = 1 << 17  # a table of up to so many buckets is always at hand
ROW, REFERENCE = 0, 1  # the streams of the join that caching is a case of
ROW_BYTES = 16  # key and size: what is remembered of the last rows
OLD_CHARGE = 120  # bytes that were counted for a row's slot before the engine knew
COUNTERS = ("hits", "misses", "evicted", "refused")


class Tables(NamedTuple):
    """Everything a cache remembers, except what its policy remembers."""

    held: Held
    free: np.ndarray  # int32[capacity + 1]: a stack of free slots
    buckets: np.ndarray  # int64[1, power of two]: from key to slot
    counts: np.ndarray  # int64[6]: hits, misses, evicted, refused, references taken, budget used


class Outcome(NamedTuple):
    """What became of each reference of one push."""

    hit: np.ndarray  # bool[n]
    slot: np.ndarray  # int32[n]: where the row is (hit) or is to be put (miss); -1: do not keep it
    evicted: np.ndarray  # bool[n]: somebody was sent away to make room
    victim: np.ndarray  # int64[n]: its key; the last one's, where a large row displaced several


@functools.cache
def compile_lookup(policy: Policy, sized: bool = False):
    """Return the kernel `run(tables, state, keys, sizes, start, stop, budget, emit, out) -> next`.

    It returns the first reference not taken: `stop`, or one whose row may fit a budget in bytes
    while no slot is free.
    """
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

    def run(tables, state, keys, sizes, start, stop, budget, emit, out):
        by_slot = tables.held.key[:, 0]
        room = len(by_slot) - 1
        far = tables.buckets.shape[1] > NEAR
        hits = evicted = refused = 0
        used, need = tables.counts[USED], np.int64(1)
        first = tables.counts[TAKEN] - start
        for i in range(start, stop):
            key, now = keys[i], first + i
            if sized and tables.free[0] == 0 and used + sizes[i] <= budget:
                stop = i
                break
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
                if sized:
                    need = sizes[i]
                if used + need > budget:
                    seat(tables, room, ROW, key, now)
                welcome = need <= budget
                while welcome and used + need > budget:
                    victim = np.int64(choose_victim(state, tables.held, room, now))
                    welcome = victim != REFUSE
                    if welcome:
                        gone = True
                        evicted += 1
                        if emit:
                            out.victim[i] = by_slot[victim]
                        send_away(tables, state, by_slot, victim, now)
                        if sized:
                            used -= np.int64(tables.held.at[victim]["size"])
                            stack.push(tables.free, victim)
                        else:  # one is enough, and the newcomer takes its slot
                            used -= 1
                            slot = victim
                if welcome:
                    if slot < 0:
                        slot = stack.pop(tables.free)
                    if sized:
                        tables.held.at[slot]["size"] = need
                    used += need
                    take_in(tables, state, slot, key, now)
                else:
                    refused += 1
            if emit:
                out.hit[i] = hit
                out.slot[i] = slot
                out.evicted[i] = gone
        tables.counts[HITS] += hits
        tables.counts[MISSES] += stop - start - hits
        tables.counts[EVICTED] += evicted
        tables.counts[REFUSED] += refused
        tables.counts[TAKEN] += stop - start
        tables.counts[USED] = used
        return stop

    return specialise(run)


class Lookup:
    """A cache of up to `budget` rows of a relation.

    Where it is `sized` rows have sizes of any unit, and the budget counts these. With `in_bytes` it
    is bytes and counts all that the cache takes; then `size` is that of a row's payload.

    >>> cache = Lookup(policy="lru", budget=2)
    >>> cache.push([1, 2, 1, 3, 2]).hit.tolist()
    [False, False, True, False, False]
    >>> cache.hits, cache.misses
    (1, 4)
    """

    def __init__(
        self,
        policy: str | Policy | Chosen = policies.DEFAULT,
        budget: int | None = None,
        *,
        sized: bool = False,
        in_bytes: bool = False,
        seed: int = 0,
        model: Any = None,
        scale: int | None = None,
    ):
        if budget is not None and budget < 1:
            raise BadInput(f"budget must be at least 1, got {budget}")
        self.chosen = policies.choose(policy, CACHING)
        if budget is None:
            self.chosen = Chosen(KEEP_ALL, {})
        self.budget = budget
        self.sized = sized or in_bytes
        self.in_bytes = in_bytes and budget is not None
        self.seed = seed
        self.model = model  # what is known of the references beforehand, for policies that ask
        self.footprint = self._footprint(scale)
        self._limit = NO_LIMIT if budget is None else budget - self.footprint.fixed
        self._scale = self.footprint.rows
        capacity = min(FIRST_SIZED if self.sized else FIRST, self._limit)
        self._tables = _make_tables(capacity, self.sized)
        self._pilot = Pilot(
            self.chosen, self._scale, self.footprint.room, self._tools, tried=_candidates
        )
        self._state = self._fresh_state()

    def _footprint(self, scale: int | None) -> Footprint:
        """Return how the budget is divided: all of it is for rows, unless it counts everything."""
        if self.budget is None or not self.in_bytes:
            return plain_footprint(self.budget, self.sized, scale)
        tried = policies.families(CACHING, plain=True, windowed=False)
        families = tried if self.chosen.policy is policies.AUTO else []
        line = functools.partial(cache_line, model=self.model)
        return footprint(
            self.budget,
            self.chosen,
            families,
            [line],
            scale,
            ROW_BYTES,
            f"a cache under {self.chosen}",
        )

    def push(
        self, key: npt.ArrayLike, *, size: npt.ArrayLike | None = None, emit: bool = True
    ) -> Outcome:
        """Take a batch of references and return what became of each.

        `size` is how many bytes the row of each takes. With `emit=False` the outcome is only
        counted.
        """
        keys = _keys(key)
        sizes = _sizes(size, len(keys)) if self.sized else np.empty(0, np.int64)
        if self.in_bytes:
            sizes = sizes + self.footprint.charge
        out = _outcome(len(keys) if emit else 0)
        start, shown = 0, (keys, sizes) if self.sized else (keys,)
        self._pilot.watch(shown, keys)
        while start < len(keys):
            policy = self._pilot.policy
            run = compile_lookup(policy, self.sized)
            stop = min(start + CHUNK, len(keys), start + most_arrivals(policy, [self._state]))
            stop = self._pilot.stop(stop)
            self._reserve(stop - start)
            taken = start
            while taken < stop:
                taken = run(
                    self._tables, self._state, keys, sizes, taken, stop, self._limit, emit, out
                )
                if taken < stop:
                    self._grow_by_size()
            self._state = refreshed(policy, self._state)
            if self._pilot.learn(shown, start, stop, self.hits):
                self._follow()
            start = stop
        return out

    def _follow(self) -> None:
        """Go on as the pilot says: under other parameters, or ruled by another policy."""
        if self._pilot.retunes:
            self._state = self._pilot.adopted(self._state)
        else:
            self._change_over()

    def find(self, key: npt.ArrayLike) -> np.ndarray:
        """Return the slot of each key, -1 where it is not cached; asking changes nothing."""
        keys = _keys(key)
        out = np.empty(len(keys), np.int32)
        upkeep.find_all(self._tables.buckets, self._tables.held.key[:, 0], keys, out)
        return out

    def discard(self, key: npt.ArrayLike) -> np.ndarray:
        """Let keys go whose rows are out of date; return which of them were cached: bool[n].

        >>> cache = Lookup(policy="lru", budget=2)
        >>> cache.push([1, 2]).hit.tolist(), cache.discard([2, 3]).tolist()
        ([False, False], [True, False])
        >>> cache.push([1, 2]).hit.tolist()
        [True, False]
        """
        keys = _keys(key)
        gone = np.zeros(len(keys), bool)
        run = upkeep.compile_discard(self._pilot.policy, self.sized)
        run(self._tables, self._state, keys, gone)
        return gone

    def _tools(self, share: float) -> Tools:
        """Return how to deal with caches like this one, ruled by candidates, for some of the keys.

        A hot key takes one row, as any other does, so that nothing is to be left out for it. What
        is discarded stays in them, so that they may find more than the cache does.
        """
        budget = max(1, round(self._limit * share))

        def make(candidate: Candidate) -> "Lookup":
            scale = max(1, round(self._scale * share))
            return Lookup(candidate.chosen, budget, sized=self.sized, model=self.model, scale=scale)

        return Tools(make, _as_made, _show, _found, Lookup.restore)

    def _change_over(self) -> None:
        """Let another policy rule, after it has lived through what came lately."""
        policy, keys = self._pilot.policy, self._pilot.lately[0]
        self._state = self._fresh_state()
        if policy.reserve is not None:
            self._state = policy.reserve(self._state, len(keys))
        adopt = compile_cache_adoption(policy)
        first = int(self._tables.counts[TAKEN]) - len(keys)
        adopt(self._tables, self._state, self._live(), keys, first, REFERENCE)
        self._state = refreshed(policy, self._state)

    @property
    def in_force(self) -> Chosen:
        """The policy with the parameters that are in force now, also those found by itself."""
        return self._pilot.in_force

    @property
    def chooser(self) -> Chooser | None:
        """Who chooses the policy, with `auto`."""
        return self._pilot.chooser

    def explain(self) -> dict[str, Any]:
        """Return what rules, and with `auto` since when, why, and what else was tried."""
        return self._pilot.explain()

    def _fresh_state(self, scale: int | None = None) -> Any:
        """Return an empty state, for the cache's scale if no other is given."""
        capacity = capacity_of(self._tables.free)
        models = None if self.model is None else (None, self.model)
        setup = Setup(capacity, scale or self._scale, self.seed, problem=CACHING, models=models)
        return self._pilot.ruling.make_state(setup)

    def _reserve(self, references: int) -> None:
        if not self.sized:  # bytes do not tell how many slots they need: the kernel does
            capacity = capacity_of(self._tables.free)
            wanted = min(self.held + references, self._limit)
            if wanted > capacity:
                self._grow(max(wanted, min(capacity * 3 // 2, self._limit)))
        reserve = self._pilot.policy.reserve
        if reserve is not None:
            self._state = reserve(self._state, references)

    def _grow_by_size(self) -> None:
        """Add slots where all are taken and the budget in bytes is not."""
        capacity = capacity_of(self._tables.free)
        self._grow(capacity + slots_to_add(capacity, self.held, self._used, self._limit))

    def _grow(self, capacity: int) -> None:
        old = self._tables._asdict()
        del self._tables  # so that each part is dropped as soon as there is a larger one
        buckets = keymap.make_buckets(capacity, roomy=not self.sized)
        keymap.rehash(old.pop("buckets"), buckets)
        held = _grown(old.pop("held"), capacity, self.sized)
        free = stack.grow_stack(old.pop("free"), capacity)
        self._tables = Tables(held, free, buckets, old["counts"])
        # Only what there is for each slot grows: the rest need not be made for its scale again.
        self._state = grown(self._state, self._fresh_state(1))

    @property
    def held(self) -> int:
        """How many rows are cached."""
        return capacity_of(self._tables.free) - int(self._tables.free[0])

    @property
    def used(self) -> int:
        """Rows cached, or what the budget counts instead: sizes, or all bytes that are taken."""
        return int(self._tables.counts[USED]) + self.footprint.fixed

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays that the cache keeps, also for what `auto` tries beside it."""
        return nbytes(self._tables, self._state) + self._pilot.nbytes

    @property
    def _used(self) -> int:
        """What is left for rows, as far as it is used."""
        return int(self._tables.counts[USED])

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

    @property
    def slots(self) -> np.ndarray:
        """The slots of the cached rows, in the order of `resident`."""
        return self._live()

    def _live(self) -> np.ndarray:
        return live_slots(self._tables.free, self._tables.held.at["born"])

    def check(self) -> None:
        """Recount every structure; raises AssertionError where two of them disagree."""
        live, tables = self._live(), self._tables
        by_slot = tables.held.key[:, 0]
        assert self._used <= self._limit
        sizes = tables.held.at["size"][live] if self.sized else np.ones(len(live), np.int64)
        assert sizes.sum() == self._used
        assert len(set(by_slot[live].tolist())) == len(live), "a key is cached twice"
        found = [keymap.seek(tables.buckets, 0, by_slot, by_slot[slot]) for slot in live]
        assert found == live.tolist()
        assert int((tables.buckets != keymap.EMPTY).sum()) == len(live)
        tracked = self._pilot.policy.tracked
        assert tracked is None or tracked(self._state) == len(live)

    def save(self, copy: bool = True) -> dict[str, np.ndarray]:
        """Return the whole state as plain arrays; `restore` goes on as if nothing had happened.

        Without `copy` some of them are the cache's own, to be written before it goes on.
        """
        live, tables = self._live(), self._tables
        header = {
            "format": FORMAT,
            "engine": "lookup",
            "policy": self.chosen.policy.name,
            "params": self.chosen.params,
            "budget": self.budget,
            "scale": self._scale,
            "sized": self.sized,
            "in_bytes": self.in_bytes,
            "charge": self.footprint.charge,
            "seed": self.seed,
            "capacity": capacity_of(tables.free),
        }
        saved = {"header": pack_header(header), "slot": live.astype(np.int32)}
        saved["held.key"] = tables.held.key[live, 0]
        for name in self._columns():
            saved[f"held.{name}"] = tables.held.at[name][live]
        saved["counts"] = tables.counts.copy()
        saved |= self._pilot.save()
        return saved | flatten(self._state, "policy", copy)

    @classmethod
    def restore(
        cls,
        saved: dict[str, np.ndarray],
        *,
        policy: str | Policy | Chosen | None = None,
        budget: int | str | None = "same",
    ) -> "Lookup":
        """Return a cache that goes on where `save` left off.

        With another `budget` (None: no limit) the policy gives up what no longer fits. Another
        `policy` meets the cached rows as if they had just been fetched. Rows keep their slots.
        """
        header = unpack_header(saved, "lookup", FORMAT)
        before = Chosen(policies.named(header["policy"]), header["params"])
        after = before if policy is None else policies.choose(policy, CACHING)
        in_bytes = header.get("in_bytes", header["sized"])  # states saved before there was one
        cache = cls(
            after if after.policy is not KEEP_ALL else policies.DEFAULT,
            header["budget"] if budget == "same" else budget,  # type: ignore[arg-type]
            sized=header["sized"],
            in_bytes=in_bytes,
            seed=header["seed"],
            scale=header["scale"] if header["sized"] and not in_bytes else None,
        )
        same_policy = str(cache.chosen) == str(before) and cache._pilot.is_like(saved)
        resized = cache.budget != header["budget"]
        # A policy's tables keep the scale that they were made for, unless a budget that counts them
        # has become smaller: then it begins anew.
        kept = same_policy and not (cache.in_bytes and header["scale"] > cache._scale)
        if same_policy:
            if kept:
                cache._scale = header["scale"]
            cache._pilot.load(saved, resized)
            cache._state = cache._fresh_state()
        if header["capacity"] > capacity_of(cache._tables.free):
            cache._grow(header["capacity"])
        cache._load(saved, kept, header.get("charge", OLD_CHARGE))
        if resized or not same_policy:
            cache._pilot.begin(cache.hits)
        return cache

    def _load(self, saved: dict[str, np.ndarray], same_policy: bool, charge: int) -> None:
        tables, live = self._tables, saved["slot"].astype(np.int64)
        tables.held.key[live, 0] = saved["held.key"]
        for name in self._columns():
            tables.held.at[name][live] = saved[f"held.{name}"]
        tables.counts[:] = saved["counts"]
        if self.in_bytes:  # another policy takes another number of bytes for each row
            tables.held.at["size"][live] += self.footprint.charge - charge
            tables.counts[USED] += (self.footprint.charge - charge) * len(live)
        claim_slots(tables.free, live)
        keymap.fill(tables.buckets, 0, saved["held.key"], live)
        if same_policy:
            # A larger budget has made larger tables; what was saved must have room for them too.
            self._state = expanded(grown(unflatten(self._state, "policy", saved), self._state))
        if not same_policy or self._used > self._limit:
            settle = upkeep.compile_settle(self._pilot.policy, self.sized)
            gone = np.zeros(capacity_of(tables.free) + 1, bool)
            settle(tables, self._state, live, gone, not same_policy, self._limit)

    def _columns(self) -> list[str]:
        """Return the fields of a row that are worth saving."""
        return ["time", "born"] + ["size"] * self.sized


def _candidates() -> tuple[Candidate, ...]:
    """Return what `auto` chooses from."""
    return candidates(policies.families(CACHING, plain=True, windowed=False), 1, split=False)


def _show(miniature: Lookup, columns: Columns) -> None:
    miniature.push(columns[0], size=columns[1] if miniature.sized else None, emit=False)


def _as_made(miniature: Lookup, candidate: Candidate) -> None:
    """Leave a miniature as it is: a cache keeps its size."""


def _found(miniature: Lookup) -> int:
    return miniature.hits


def _keys(key: npt.ArrayLike) -> np.ndarray:
    keys = np.asarray(key)
    if keys.ndim != 1:
        raise BadInput(f"key must be one column, got shape {keys.shape}")
    if len(keys) and keys.dtype.kind not in "iu":
        raise BadInput(f"key must be integers (ids or hashes), got {keys.dtype}; encode it first")
    return np.ascontiguousarray(keys, np.int64)


def _sizes(size: npt.ArrayLike | None, n: int) -> np.ndarray:
    if size is None:
        raise BadInput("a cache with a budget in bytes must be told size= of each row")
    sizes = np.ascontiguousarray(size, np.int64)
    if sizes.shape != (n,):
        raise BadInput(f"size must be one number per key ({n}), got shape {sizes.shape}")
    if n and sizes.min() < 1:
        raise BadInput(f"size must be at least 1 byte, got {sizes.min()}")
    return sizes


def _make_tables(capacity: int, sized: bool) -> Tables:
    return Tables(
        _empty(capacity, sized),
        stack.make_stack(0, capacity, capacity),
        keymap.make_buckets(capacity, roomy=not sized),
        np.zeros(6, np.int64),
    )


def cache_line(chosen: Chosen, model: Any = None) -> Line:
    """Return what a cache takes under a policy; worked out once, if no model is given."""
    if model is not None:
        return _cache_line(chosen, model)
    if str(chosen) not in _known:
        _known[str(chosen)] = _cache_line(chosen, None)
    return _known[str(chosen)]


_known: dict[str, Line] = {}


def _cache_line(chosen: Chosen, model: Any) -> Line:
    models = None if model is None else (None, model)

    def measure(slots: int, scale: int) -> int:
        state = grown_state(chosen, Setup(slots, scale, problem=CACHING, models=models))
        return nbytes(_make_tables(slots, sized=True), state)

    return line_of(measure)


def _empty(capacity: int, sized: bool) -> Held:
    """Return room for `capacity` rows; keys lie apart, since a hit looks at nothing else."""
    held = make_held(capacity, 1, sized=sized)
    held.at["deadline"] = FOREVER
    return held._replace(key=zeros((capacity + 1, 1), np.int64))


def _grown(old: Held, capacity: int, sized: bool) -> Held:
    new = _empty(capacity, sized)
    new.key[: len(old.key)] = old.key
    new.at[: len(old.at)] = old.at
    return new


def _outcome(n: int) -> Outcome:
    return Outcome(
        np.zeros(n, bool), np.full(n, -1, np.int32), np.zeros(n, bool), np.zeros(n, np.int64)
    )
