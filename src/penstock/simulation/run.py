"""One policy over one trace: what it got after the warm-up, and how long the engine took."""

import functools
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from .. import policies
from ..core.gains import PAIRS
from ..core.policy import CACHING, JOINING, Chosen
from ..core.shape import TWO_WAY
from ..engines import Lookup
from ..errors import BadInput
from ..models import Model
from ..offline import FlowExpect, lfd, most_results
from ..workloads import JoinTrace, LookupTrace
from .arrivals import Arrivals, arrivals, part, steps_of
from .before import fit_before
from .contender import Contender, check_terms, contender
from .joining import Joining, push
from .ordered import with_ordered_keys
from .source import Trace

WARMING = 2048  # distinct keys per push: enough for tables to grow, which is compiled code too


class Played(NamedTuple):
    """What became of one run."""

    results: int  # join results or hits, after the warm-up
    rows: int  # taken in all
    seconds: float  # that the engine took for them
    before: int = 0  # results or hits in the warm-up; hindsight does not tell
    explained: dict[str, Any] | None = None  # of `auto`: who rules at the end, and why
    matched: int | None = None  # rows in a result for the first time, after the warm-up; of joins


def play(
    trace: Trace,
    policy: str | Contender,
    memory: int,
    *,
    within: int | None = None,
    layout: str = "unified",
    drop: float = 0.0,
    first: int = 0,
    seed: int = 0,
    models: Sequence[Model] | None = None,
    goal: str = PAIRS,
) -> Played:
    """Replay a trace under a policy; results count from the row number `first` on.

    `drop` is the chance of an arrival to be dropped before anybody looks at it. `models` are those
    of the streams, for policies that ask for them. `goal` is what a join gets the most of.

    >>> play(LookupTrace([1, 2, 1, 3, 1]), "lru", memory=2, first=1).results
    2
    """
    if isinstance(policy, str):
        policy = contender(policy, JOINING if isinstance(trace, JoinTrace) else CACHING)
    memory = min(memory, max(2, len(trace)))  # the rest would stay empty
    if policy.chosen is None or policy.plans:
        joins = trace.joins if isinstance(trace, JoinTrace) else TWO_WAY
        check_terms(policy, layout, drop, joins, goal)
    if policy.chosen is None:
        return _hindsight(trace, memory, within, first)
    if policy.plans and isinstance(trace, JoinTrace):
        planner = FlowExpect(models, memory, within=within, **policy.params)
        return _plan(trace, planner, first)
    if isinstance(trace, JoinTrace):
        joining = Joining(policy, memory, within, layout, drop, seed, models, goal)
        return _join(trace, joining, first)
    if policy.params.get("fit") == "before":
        models = fit_before(trace, policy.params)
    model = None if models is None else models[-1]  # S is the stream of references
    return _look_up(trace, policy.chosen, memory, first, seed, model)


def _join(trace: JoinTrace, joining: Joining, first: int) -> Played:
    rows, fresh = joining.prepare(trace)
    warming = fresh()
    for number in range(2):
        push(warming, _warming_rows(number, rows))
    join = fresh()
    started = perf_counter()
    push(join, part(rows, 0, first))
    before, matched = join.results, join.rows_matched
    push(join, part(rows, first, None))
    seconds = perf_counter() - started
    explained = join.explain() if join.chosen.policy is policies.AUTO else None
    matched = join.rows_matched - matched
    return Played(join.results - before, len(trace), seconds, before, explained, matched)


def _plan(trace: JoinTrace, planner: FlowExpect, first: int) -> Played:
    if first % 2:
        raise BadInput(f"first must be the first row of a step, which is an even one, got {first}")
    started = perf_counter()
    results = [planner.push(*step) for step in steps_of(trace, planner.within)]
    return Played(sum(results[first // 2 :]), len(trace), perf_counter() - started)


def _look_up(
    trace: LookupTrace, chosen: Chosen, memory: int, first: int, seed: int, model: Model | None
) -> Played:
    if chosen.policy.ordered or (chosen.policy is policies.AUTO and trace.value is not None):
        trace = with_ordered_keys(trace, chosen.policy.name)
    warming = Lookup(chosen, memory, seed=seed, model=model)
    for number in range(2):
        warming.push(np.arange(WARMING) + number * WARMING, emit=False)
    cache = Lookup(chosen, memory, seed=seed, model=model)
    started = perf_counter()
    cache.push(trace.key[:first], emit=False)
    before = cache.hits
    cache.push(trace.key[first:], emit=False)
    seconds = perf_counter() - started
    explained = cache.explain() if chosen.policy is policies.AUTO else None
    return Played(cache.hits - before, len(trace), seconds, before, explained)


@functools.lru_cache(maxsize=2)  # the same in every run over a file
def _hindsight(trace: Trace, memory: int, within: int | None, first: int) -> Played:
    if isinstance(trace, LookupTrace):
        lfd([0], 1)  # compiles it
        hits, seconds = _timed(lambda: lfd(trace.key, memory, first=first))
        return Played(int(hits[first:].sum()), len(trace), seconds)
    rows = arrivals(trace, within)
    results, seconds = _timed(
        lambda: most_results(*rows, budget=memory, together=trace.together, first=first)
    )
    return Played(results, len(trace), seconds)


def _timed(work: Callable) -> tuple:
    started = perf_counter()
    return work(), perf_counter() - started


def _warming_rows(number: int, rows: Arrivals) -> Arrivals:
    """Return rows of distinct keys, one of each side a step, in the form of others."""
    at = np.arange(WARMING) + number * WARMING
    streams = int(rows.side.max(initial=1)) + 1
    key = at if rows.key.ndim == 1 else np.tile(at[:, None], rows.key.shape[1])
    time = at // streams
    end = None if rows.end is None else time + WARMING
    return Arrivals(at % streams, key, time, end)
