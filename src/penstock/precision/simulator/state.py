"""The state of a simulation: sources, caches, and what was counted."""

from typing import NamedTuple

import numpy as np

from ..rule import Tuned

VALUES, ASKED, WIDTHS, QUERIES = 0, 1, 2, 3  # columns of tally
LOW, HIGH = 0, 1  # columns of seen


class State(NamedTuple):
    """All that the kernel reads and writes; a row for each cache, a column for each source."""

    value: np.ndarray  # float64[sources]
    low: np.ndarray  # float64[caches, sources]: the interval that was last sent
    high: np.ndarray  # float64[caches, sources]
    at: np.ndarray  # float64[caches, sources]: when it was sent
    motion: np.ndarray  # float64[caches, sources, 3]: its drift, spread and power
    rank: np.ndarray  # float64[caches, sources]: as sent along, for the choice of who goes
    kept: np.ndarray  # bool[caches, sources]: whether the cache holds it
    memory: np.ndarray  # float64[caches, sources, numbers]: of the rule
    pool: np.ndarray  # int64[caches, sources]: shuffled little by little; a query takes the first
    seen: np.ndarray  # float64[asked, 2]: bounds that a query found, in the order of the pool
    next_query: np.ndarray  # float64[caches]
    since: np.ndarray  # float64[caches, sources]: from when on the width is to be summed up
    tally: np.ndarray  # float64[caches, 4]: refreshes of both kinds, width x time, queries
    steps_rng: np.ndarray  # uint64[1]: the walk
    query_rng: np.ndarray  # uint64[caches, 1]: who is asked for, and how precisely
    rule_rng: np.ndarray  # uint64[caches, 1]: the coins of the rules


class Load(NamedTuple):
    """The queries and the caches, in numbers."""

    period: float  # T_q
    low: float  # δ_min
    high: float  # δ_max
    asked: int  # how many values a query is about
    capacity: int  # κ
    extreme: bool  # MAX instead of SUM


def make_state(
    tuned: Tuned, caches: int, value: np.ndarray, load: Load, seed: int, now: float = 0.0
) -> State:
    """Return the state when each cache has just got its first interval of each source."""
    sources = len(value)
    grid = (caches, sources)
    memory = np.empty((*grid, len(tuned.start())))
    memory[:] = tuned.start()
    state = State(
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
        tally=np.zeros((caches, 4)),
        steps_rng=_stream(seed, 0),
        query_rng=np.stack([_stream(seed, 1, cache) for cache in range(caches)]),
        rule_rng=np.stack([_stream(seed, 2, cache) for cache in range(caches)]),
    )
    for cache, source in np.ndindex(grid):
        low, high, *motion = tuned.rule.shape(tuned.par, memory[cache, source], value[source])
        state.low[cache, source], state.high[cache, source] = low, high
        state.motion[cache, source] = motion
        state.rank[cache, source] = tuned.rule.rank(tuned.par, memory[cache, source])
    state.kept[:, : load.capacity] = True
    return state


def _stream(seed: int, *path: int) -> np.ndarray:
    """Return the generator of one stream of random numbers, independent of the others."""
    return np.random.SeedSequence([seed, *path]).generate_state(1, np.uint64)
