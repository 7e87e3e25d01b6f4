"""The discrete-event simulator, compiled for one rule.

Updates come one after another, in the order of time; at one time updates come before queries. A
value that has left the interval that its source last sent to a cache is refreshed at once: at the
cost of a message, and whether or not the cache still holds it, since caches do not
report evictions.

A query picks its sources at random and its constraint δ from [δ_min, δ_max]. A SUM refreshes the
widest intervals until the widths of the others add up to at most δ; a MAX refreshes those whose
upper bound exceeds the largest lower bound by more than δ. Evicted intervals are infinitely wide.

Sources: the precision paper, section 4.1; Olston, Widom, "Offering a precision-performance tradeoff
for aggregation queries over replicated data" (2000) for the choice of refreshes.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..kernel.jit import jit, kernel, specialise
from ..kernel.rng import below, uniform
from .interval_source import moved
from .rule import ABOVE, ASKED, BELOW, WIDTH, Rule, Tuned

VALUES, ASKS, WIDTHS = 0, 1, 2  # columns of tally
LOW, HIGH = 0, 1  # columns of seen
REFRESH = np.dtype(
    {
        "names": ("time", "cache", "source", "why", "value", "low", "high", "width"),
        "formats": ("f8", "i8", "i8", "i8", "f8", "f8", "f8", "f8"),
    }
)


class Load(NamedTuple):
    """The queries and the caches, in numbers."""

    period: float  # T_q
    low: float  # δ_min
    high: float  # δ_max
    asked: int  # the number of values of a query
    capacity: int  # κ
    extreme: bool  # MAX instead of SUM


class World(NamedTuple):
    """The state of a simulation; a row for each cache, a column for each source."""

    value: np.ndarray  # float64[sources]
    low: np.ndarray  # float64[caches, sources]: the interval that was last sent
    high: np.ndarray  # float64[caches, sources]
    at: np.ndarray  # float64[caches, sources]: when it was sent
    motion: np.ndarray  # float64[caches, sources, 3]: its drift, spread and power
    rank: np.ndarray  # float64[caches, sources]: as sent; a full cache evicts the highest
    kept: np.ndarray  # bool[caches, sources]: whether the cache holds it
    memory: np.ndarray  # float64[caches, sources, numbers]: of the rule
    pool: np.ndarray  # int64[caches, sources]: partly shuffled; a query takes the first ones
    seen: np.ndarray  # float64[asked, 2]: the bounds that a query found, in the order of the pool
    next_query: np.ndarray  # float64[caches]
    since: np.ndarray  # float64[caches, sources]: the time up to which widths are summed up
    tally: np.ndarray  # float64[caches, 3]: refreshes of both kinds, width × time
    query_rng: np.ndarray  # uint64[caches, 1]: of the sources and constraints of queries
    rule_rng: np.ndarray  # uint64[caches, 1]: of the rules
    log: np.ndarray  # REFRESH[room]: the first refreshes
    logged: np.ndarray  # int64[1]: how many of them there are


def make_world(
    tuned: Tuned, caches: int, value: np.ndarray, load: Load, seed: int, now: float, log: int
) -> World:
    """Return the state when each cache has just received its first interval of each source."""
    sources = len(value)
    grid = (caches, sources)
    memory = np.tile(np.array(tuned.start()), (*grid, 1))
    world = World(
        value=value.astype(np.float64),
        low=np.empty(grid),
        high=np.empty(grid),
        at=np.full(grid, now),
        motion=np.zeros((*grid, 3)),
        rank=np.zeros(grid),
        kept=np.zeros(grid, np.bool_),
        memory=memory,
        pool=np.tile(np.arange(sources), (caches, 1)),
        seen=np.zeros((load.asked, 2)),
        next_query=np.full(caches, now + load.period),
        since=np.full(grid, now),
        tally=np.zeros((caches, 3)),
        query_rng=np.stack([random_stream(seed, 1, cache) for cache in range(caches)]),
        rule_rng=np.stack([random_stream(seed, 2, cache) for cache in range(caches)]),
        log=np.zeros(log, REFRESH),
        logged=np.zeros(1, np.int64),
    )
    for cache, source in np.ndindex(grid):
        low, high, *motion = tuned.rule.shape(tuned.par, memory[cache, source], value[source])
        world.low[cache, source], world.high[cache, source] = low, high
        world.motion[cache, source] = motion
        world.rank[cache, source] = tuned.rule.rank(tuned.par, memory[cache, source])
    world.kept[:, : load.capacity] = True
    return world


def random_stream(seed: int, *path: int) -> np.ndarray:
    """Return the generator of one stream of random numbers, independent of the others."""
    return np.random.SeedSequence([seed, *path]).generate_state(1, np.uint64)


@kernel
def walk_on(rng, walk, position, made):
    """Fill `made` with the next values of random walks, in each step source by source.

    One random number gives both the direction and the size of a step.
    """
    for i in range(len(made)):
        s = i % len(position)
        draw = uniform(rng)
        up = draw < walk.up
        share = draw / walk.up if up else (draw - walk.up) / (1 - walk.up)
        size = walk.small + (walk.large - walk.small) * share
        position[s] += size if up else -size
        made[i] = position[s]


@jit
def _write_log(world, now, c, s, why):
    place = world.logged[0]
    if place < world.log.shape[0]:
        world.logged[0] = place + 1
        world.log[place]["time"] = now
        world.log[place]["cache"] = c
        world.log[place]["source"] = s
        world.log[place]["why"] = why
        world.log[place]["value"] = world.value[s]
        world.log[place]["low"] = world.low[c, s]
        world.log[place]["high"] = world.high[c, s]
        world.log[place]["width"] = world.memory[c, s, WIDTH]


@jit
def _keep(world, load, c, s):
    """Admit what a cache was sent, if there is room; return the source that it evicts, or -1."""
    if load.capacity >= world.value.shape[0] or world.kept[c, s]:
        return -1
    worst, held = -1, 0
    for other in range(world.value.shape[0]):
        if world.kept[c, other]:
            held += 1
            if worst < 0 or world.rank[c, other] > world.rank[c, worst]:
                worst = other
    evicted = -1
    if held >= load.capacity:
        evicted = worst if held > 0 and world.rank[c, worst] > world.rank[c, s] else s
        world.kept[c, evicted] = False
    if evicted != s:
        world.kept[c, s] = True
    return evicted


@jit
def _pick(world, load, c):
    """Bring the sources of a query to the front of the pool, and draw δ."""
    sources = world.value.shape[0]
    if load.asked < sources:
        for i in range(load.asked):
            j = i + below(world.query_rng[c], sources - i)
            world.pool[c, i], world.pool[c, j] = world.pool[c, j], world.pool[c, i]
    return load.low + uniform(world.query_rng[c]) * (load.high - load.low)


def _refresher(rule: Rule) -> tuple[Callable, Callable, Callable]:
    """Return the functions that read an interval, replace it, and replace it if it is invalid."""
    on_refresh, shape, rank = rule.on_refresh, rule.shape, rule.rank
    moves, reports_evictions = rule.moves, rule.reports_evictions

    @jit
    def bounds(world, c, s, now):
        low, high = world.low[c, s], world.high[c, s]
        if moves:
            motion = world.motion[c, s]
            return moved(low, high, now - world.at[c, s], motion[0], motion[1], motion[2])
        return low, high

    @jit
    def refresh(par, world, load, c, s, now, why, need):
        memory = world.memory[c, s]
        if now > world.since[c, s]:  # 0 × an infinite width is not a number
            world.tally[c, WIDTHS] += memory[WIDTH] * (now - world.since[c, s])
            world.since[c, s] = now
        draw = uniform(world.rule_rng[c])
        on_refresh(par, memory, why, world.value[s], now, need, draw)
        low, high, drift, spread, power = shape(par, memory, world.value[s])
        world.low[c, s] = low
        world.high[c, s] = high
        world.rank[c, s] = rank(par, memory)
        if moves:
            world.at[c, s] = now
            world.motion[c, s, 0] = drift
            world.motion[c, s, 1] = spread
            world.motion[c, s, 2] = power
        world.tally[c, ASKS if why == ASKED else VALUES] += 1
        _write_log(world, now, c, s, why)
        evicted = _keep(world, load, c, s)
        if reports_evictions and evicted >= 0:  # the source need not keep it valid any longer
            world.low[c, evicted] = -np.inf
            world.high[c, evicted] = np.inf

    @jit
    def check(par, world, load, c, s, now):
        low, high = bounds(world, c, s, now)
        value = world.value[s]
        if value > high or value < low:
            refresh(par, world, load, c, s, now, ABOVE if value > high else BELOW, 0.0)

    return bounds, refresh, check


def _asker(rule: Rule, bounds: Callable, refresh: Callable, check: Callable) -> Callable:
    """Return the function that asks all the queries that are due."""
    on_read, moves = rule.on_read, rule.moves

    @jit
    def add_up(par, world, load, c, delta, now):
        """Refresh the widest, until the widths of the others add up to δ at most."""
        width = world.seen[:, HIGH]
        for i in range(load.asked):
            width[i] -= world.seen[i, LOW]
        while True:
            widest, left = 0, 0.0
            for i in range(load.asked):
                left += width[i]
                if width[i] > width[widest]:
                    widest = i
            if left <= delta:
                break
            if width[widest] == np.inf:
                need = delta / load.asked
            else:  # had all been narrower in proportion, this one would not have been refreshed
                need = width[widest] * delta / left
            width[widest] = 0.0
            refresh(par, world, load, c, world.pool[c, widest], now, ASKED, need)

    @jit
    def find_largest(par, world, load, c, delta, now):
        """Refresh the values that may exceed the largest lower bound by more than δ."""
        floor = -np.inf
        for i in range(load.asked):
            floor = max(floor, world.seen[i, LOW])
        for i in range(load.asked):
            low, high = world.seen[i, LOW], world.seen[i, HIGH]
            if high > floor + delta:
                known = high < np.inf or low > -np.inf
                need = max(high - low - 2 * (high - floor - delta), delta) if known else delta
                refresh(par, world, load, c, world.pool[c, i], now, ASKED, need)

    @jit
    def read(par, world, load, c, need, now):
        """Note what the cache holds; refreshes of this query may change that."""
        for i in range(load.asked):
            s = world.pool[c, i]
            if moves:  # the source notices by itself that time made it invalid
                check(par, world, load, c, s, now)
            on_read(par, world.memory[c, s], need, now)
        for i in range(load.asked):
            s = world.pool[c, i]
            low, high = bounds(world, c, s, now)
            world.seen[i, LOW] = low if world.kept[c, s] else -np.inf
            world.seen[i, HIGH] = high if world.kept[c, s] else np.inf

    @jit
    def ask(par, world, load, before):
        """Ask the queries that are due before a time."""
        for c in range(world.low.shape[0]):
            while world.next_query[c] < before:
                now = world.next_query[c]
                world.next_query[c] += load.period
                delta = _pick(world, load, c)
                read(par, world, load, c, delta if load.extreme else delta / load.asked, now)
                if load.extreme:
                    find_largest(par, world, load, c, delta, now)
                else:
                    add_up(par, world, load, c, delta, now)

    return ask


@functools.cache
def compile_run(rule: Rule) -> Any:
    """Return the kernel: it takes one update after another, and asks the queries in between."""
    bounds, refresh, check = _refresher(rule)
    ask, on_update = _asker(rule, bounds, refresh, check), rule.on_update

    def run(par, world, load, time, source, value, until):
        """Take the updates, then ask the queries that are due before `until`."""
        for i in range(len(time)):
            now, s = time[i], source[i]
            ask(par, world, load, now)
            changed = value[i] != world.value[s]
            world.value[s] = value[i]
            for c in range(world.low.shape[0]):
                if changed:
                    on_update(par, world.memory[c, s], value[i], now)
                check(par, world, load, c, s, now)
        ask(par, world, load, until)

    return specialise(run)
