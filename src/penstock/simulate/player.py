"""One policy over one trace: its results after the warm-up, and how long the engine took."""

import functools
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from .. import policies
from ..core.gains import PAIRS
from ..core.policy import CACHING, JOINING, Chosen
from ..core.shape import TWO_WAY
from ..engines import Join, Lookup
from ..engines.join import Matches
from ..errors import BadInput
from ..models import Model
from .arrivals import Arrivals, arrivals, steps_of
from .catalogue import SIMULATED, check_terms, choose, fit_before
from .flowexpect import FLOWEXPECT, FlowExpect
from .optimum import lfd, most_results
from .traces import AnyTrace, JoinTrace, LookupTrace, Trace, with_ordered_keys

WARMING = 2048  # distinct keys per push: enough for tables to grow, which is compiled code too


class Terms(NamedTuple):
    """The terms of a replay, beside the policy and its memory."""

    within: int | None = None
    layout: str = "unified"
    drop: float = 0.0  # the chance of an arrival to be dropped before it is looked at
    first: int = 0  # the row from which on results count
    seed: int = 0
    models: Sequence[Model] | None = None  # of the streams, for policies that need them
    goal: str = PAIRS  # what a join gets the most of


class Played(NamedTuple):
    """The figures of one replay."""

    results: int  # join results or hits, after the warm-up
    rows: int  # arrivals in all
    seconds: float  # that the engine took for them
    before: int = 0  # results or hits in the warm-up; 0 of the simulated policies
    explained: dict[str, Any] | None = None  # of `auto`: its last choice, and why
    matched: int | None = None  # rows in a result for the first time, after the warm-up; of joins


def play(trace: Trace, policy: str | Chosen, memory: int, **terms: Any) -> Played:
    """Replay a trace under a policy; `terms` are the fields of `Terms`.

    >>> play(LookupTrace([1, 2, 1, 3, 1]), "lru", memory=2, first=1).results
    2
    """
    on = Terms(**terms)
    chosen = _chosen(policy, trace)
    memory = min(memory, max(2, len(trace)))  # the rest would stay empty
    if chosen.policy in SIMULATED:
        joins = trace.joins if isinstance(trace, JoinTrace) else TWO_WAY
        check_terms(chosen.policy, on.layout, on.drop, joins, on.goal)
        if chosen.policy is not FLOWEXPECT:
            return _hindsight(trace, memory, on.within, on.first)
        planner = FlowExpect(on.models, memory, within=on.within, **chosen.all_params)
        return _plan(trace, planner, on.first)
    if isinstance(trace, JoinTrace):
        return _join(trace, chosen, memory, on)
    return _look_up(trace, chosen, memory, on)


def prepare_join(
    trace: JoinTrace, policy: str | Chosen, memory: int, on: Terms
) -> tuple[Arrivals, Callable[[], Join]]:
    """Return the rows in the order in which they are taken, and what makes a new join."""
    chosen = _chosen(policy, trace)
    trace, models = _as_policy_needs(trace, chosen, on.models)
    rows = arrivals(trace, on.within)
    shares = np.bincount(rows.side, minlength=trace.streams) / max(1, len(trace))
    fresh = functools.partial(
        Join,
        chosen,
        memory,
        goal=on.goal,
        within=on.within,
        joins=trace.joins,
        layout=on.layout,
        shares=shares.tolist() if on.layout == "split" else None,
        drop=on.drop,
        together=trace.together,
        seed=on.seed,
        models=models,
    )
    return rows, fresh


def push(join: Join, rows: Arrivals, emit: bool = False) -> Matches:
    """Push some rows into a join."""
    return join.push(rows.side, rows.key, rows.time, end=rows.end, emit=emit)


def _chosen(policy: str | Chosen, trace: Trace) -> Chosen:
    if isinstance(policy, Chosen):
        return policy
    return choose(policy, JOINING if isinstance(trace, JoinTrace) else CACHING)


def _as_policy_needs(
    trace: AnyTrace, chosen: Chosen, models: Sequence[Model] | None
) -> tuple[AnyTrace, Sequence[Model] | None]:
    """Return the trace with ordered keys where the policy goes by their order, and its models."""
    policy = chosen.policy
    models = fit_before(chosen, trace) or models
    if policy.ordered or (policy is policies.AUTO and trace.value is not None):
        trace = with_ordered_keys(trace, policy.name)
    return trace, models


def _join(trace: JoinTrace, chosen: Chosen, memory: int, on: Terms) -> Played:
    rows, fresh = prepare_join(trace, chosen, memory, on)
    warming = fresh()
    for number in range(2):
        push(warming, _warming_rows(number, rows))
    join = fresh()
    started = perf_counter()
    push(join, rows.part(0, on.first))
    before, matched = join.results, join.rows_matched
    push(join, rows.part(on.first, None))
    seconds = perf_counter() - started
    explained = join.explain() if chosen.policy is policies.AUTO else None
    matched = join.rows_matched - matched
    return Played(join.results - before, len(trace), seconds, before, explained, matched)


def _look_up(trace: LookupTrace, chosen: Chosen, memory: int, on: Terms) -> Played:
    trace, models = _as_policy_needs(trace, chosen, on.models)
    model = None if models is None else models[-1]  # S is the stream of references
    warming = Lookup(chosen, memory, seed=on.seed, model=model)
    for number in range(2):
        warming.push(np.arange(WARMING) + number * WARMING, emit=False)
    cache = Lookup(chosen, memory, seed=on.seed, model=model)
    started = perf_counter()
    cache.push(trace.key[: on.first], emit=False)
    before = cache.hits
    cache.push(trace.key[on.first :], emit=False)
    seconds = perf_counter() - started
    explained = cache.explain() if chosen.policy is policies.AUTO else None
    return Played(cache.hits - before, len(trace), seconds, before, explained)


def _plan(trace: Trace, planner: FlowExpect, first: int) -> Played:
    assert isinstance(trace, JoinTrace), "a planner joins"
    if first % 2:
        raise BadInput(f"first must be the first row of a step, which is an even one, got {first}")
    started = perf_counter()
    results = [planner.push(*step) for step in steps_of(trace, planner.within)]
    return Played(sum(results[first // 2 :]), len(trace), perf_counter() - started)


@functools.lru_cache(maxsize=2)  # the same in every run over a file
def _hindsight(trace: Trace, memory: int, within: int | None, first: int) -> Played:
    if isinstance(trace, LookupTrace):
        lfd([0], 1)  # compiles it
        started = perf_counter()
        results = int(lfd(trace.key, memory, first=first)[first:].sum())
    else:
        rows = arrivals(trace, within)
        started = perf_counter()
        results = most_results(*rows, budget=memory, together=trace.together, first=first)
    return Played(results, len(trace), perf_counter() - started)


def _warming_rows(number: int, rows: Arrivals) -> Arrivals:
    """Return rows of distinct keys, one of each side a step, in the form of others."""
    at = np.arange(WARMING) + number * WARMING
    streams = int(rows.side.max(initial=1)) + 1
    key = at if rows.key.ndim == 1 else np.tile(at[:, None], rows.key.shape[1])
    time = at // streams
    end = None if rows.end is None else time + WARMING
    return Arrivals(at % streams, key, time, end)
