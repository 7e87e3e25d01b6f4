"""Replay one trace under one policy: its results after the warm-up, and how long the engine took.

The policies are those of the engines, and three that only a simulation runs. `opt` and `lfd` are
the optimum with hindsight, of a join and of a cache. `flowexpect` decides about whole steps, in
Python. Each has a record like any policy, so that names and parameters are read, checked and listed
alike.
"""

import functools
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from .. import policies
from ..engine import Join, Lookup
from ..engine.join import Matches
from ..errors import BadInput
from ..kernel.gains import PAIRS
from ..kernel.options import check_word
from ..kernel.policy import CACHING, JOINING, Configured, Policy, make_no_state, reject
from ..kernel.shape import Shape
from ..models import Model
from ..policies.heeb_tables import fit_family
from . import traces
from .flowexpect import FLOWEXPECT, FlowExpect
from .optimum import lfd, most_results
from .scenario import Scenario
from .traces import AnyTrace, Arrivals, JoinTrace, LookupTrace, Trace

OPT = Policy("opt", "hindsight: the most results that any policy could get", make_no_state, reject)
LFD = Policy(
    "lfd",
    "hindsight: the most hits that any policy could get",
    make_no_state,
    reject,
    problems=(CACHING,),
)
WARMING = 2048  # distinct keys per push: enough for tables to grow, which is compiled code too
HINDSIGHT = (OPT, LFD)
SIMULATED = (FLOWEXPECT, *HINDSIGHT)  # an engine cannot run them


class ReplayTerms(NamedTuple):
    """The terms of a replay, beside the policy and its memory."""

    within: int | None = None
    layout: str = "unified"
    drop: float = 0.0  # the chance of an arrival to be dropped before it is looked at
    first: int = 0  # the row from which on results count
    seed: int = 0
    models: Sequence[Model] | None = None  # of the streams, for policies that need them
    goal: str = PAIRS  # what a join gets the most of
    near: int | float | None = None  # how far apart matching values may lie


class Played(NamedTuple):
    """The figures of one replay."""

    results: int  # join results or hits, after the warm-up
    rows: int  # arrivals in all
    seconds: float  # that the engine took for them
    before: int = 0  # results or hits in the warm-up; 0 of the simulated policies
    explained: dict[str, Any] | None = None  # of `auto`: its last choice, and why
    matched: int | None = None  # rows in a result for the first time, after the warm-up; of joins


def choose(text: str, problem: str) -> Configured:
    """Read `NAME` or `NAME:key=value,...`, if the policy is defined for the problem.

    >>> choose("opt", "joining").all_params, str(choose("gdj:percentile=0.9", "joining"))
    ({}, 'gdj:percentile=0.9')
    """
    name, _, options = text.strip().partition(":")
    if (name, problem) == (LFD.name, JOINING):
        raise BadInput("'lfd' is not defined for joining; the optimum of a join is 'opt'")
    for policy in SIMULATED:
        if policy.name == name:
            return policies.choose(policy.configured(options), problem)
    check_word("policy", name, [*policies.names(), *(policy.name for policy in SIMULATED)])
    return policies.choose(text, problem)


def list_policies() -> list[dict[str, Any]]:
    """Return name, summary, problems and default parameters of everything that can be compared.

    >>> [each["policy"] for each in list_policies()][-2:]
    ['opt', 'lfd']
    """
    return [
        {
            "policy": policy.name,
            "summary": policy.summary,
            "problems": list(policy.problems),
            "params": Configured(policy, {}).all_params,
        }
        for policy in (*policies.known(), policies.AUTO, *SIMULATED)
    ]


def fit_before(chosen: Configured, trace: Trace) -> list[Model] | None:
    """Return models fitted to each stream of a whole trace, if the policy asks for `fit=before`.

    So the HEEB paper does with real data. `model=` names the family, by default the best one.
    """
    params = chosen.all_params
    if params.get("fit") != "before":
        return None
    ordered = traces.with_ordered_keys(trace, chosen.policy.name)
    streams = [ordered.key]
    if isinstance(ordered, JoinTrace):
        streams = [ordered.key[ordered.side == side] for side in range(ordered.streams)]
    family, period = params.get("model", "auto"), params.get("period")
    return [fit_family(family, stream, period) for stream in streams]


def suitable(scenario: Scenario) -> list[str]:
    """Return the names of all policies that are defined for a scenario.

    Without a window these are none that weighs what remains of it; without numbers none that goes
    by their order, and with `near` neither; for other than two streams and one key none that is
    defined for these alone.
    """
    trace = scenario.trace(0)
    return [
        policy.name
        for policy in (*policies.known(), policies.AUTO)
        if scenario.problem in policy.problems
        and (_expires(trace, scenario) or not policy.needs_window)
        and ((trace.value is not None and scenario.near is None) or not policy.ordered)
        and (_is_plain(trace) or not policy.plain)
    ]


def _is_plain(trace: Trace) -> bool:
    return isinstance(trace, LookupTrace) or Shape(trace.joins).is_plain


def _expires(trace: Trace, scenario: Scenario) -> bool:
    """Return whether rows expire, by a window or by themselves."""
    return scenario.within is not None or getattr(trace, "end", None) is not None


def check(chosen: Configured, scenario: Scenario) -> None:
    """Refuse at once what would fail later: an engine is made for it, and given nothing to do."""
    name, trace = chosen.policy.name, scenario.trace(0)
    on = ReplayTerms(**scenario.terms(trace, 0))
    if chosen.policy in SIMULATED:
        _check_terms(name, trace, on)
        if scenario.distortion:
            raise BadInput(
                f"{name!r} counts results and does not list them; leave out {name} or --distortion"
            )
        if chosen.policy is FLOWEXPECT:
            FlowExpect(on.models, scenario.memory, **chosen.all_params)
    elif isinstance(trace, LookupTrace):
        _prepare_lookup(trace, chosen, 1, on)[1]()
    else:
        if chosen.policy.needs_window and not _expires(trace, scenario):
            raise BadInput(
                f"policy {name!r} weighs what remains of a window, and there is none; give --within"
            )
        if chosen.policy.ordered and on.near is not None:
            raise BadInput(f"policy {name!r} models equal values; leave out {name} or --near")
        rows, fresh = prepare_join(trace, chosen, useful(scenario.memory, trace), on)
        push(fresh(), rows.part(0, 0))


def _check_terms(name: str, trace: Trace, on: ReplayTerms) -> None:
    """Refuse terms that the simulated policies are not defined for.

    They have one memory, see all arrivals of one join of two streams, and count results.
    """
    if on.layout != "unified":
        raise BadInput(f"{name!r} has the unified layout only; leave out {name} or --layout")
    if on.goal != PAIRS:
        raise BadInput(f"{name!r} maximises results, not rows; leave out {name} or --goal")
    if on.drop:
        raise BadInput(f"{name!r} takes all arrivals, none dropped; leave out {name} or --drop")
    if on.near is not None:
        raise BadInput(f"{name!r} is defined for equal keys; leave out {name} or --near")
    if isinstance(trace, JoinTrace) and not _is_plain(trace):
        raise BadInput(
            f"{name!r} is defined for one join of two streams, got {trace.joins}; leave out {name}"
        )


def useful(memory: int, trace: Trace) -> int:
    """Return the part of a memory that a trace can fill."""
    return min(memory, max(2, len(trace)))


def play(trace: Trace, policy: str | Configured, memory: int, **terms: Any) -> Played:
    """Replay a trace under a policy; `terms` are the fields of `ReplayTerms`.

    >>> play(LookupTrace([1, 2, 1, 3, 1]), "lru", memory=2, first=1).results
    2
    """
    on = ReplayTerms(**terms)
    chosen = _chosen(policy, trace)
    memory = useful(memory, trace)
    if chosen.policy in SIMULATED:
        _check_terms(chosen.policy.name, trace, on)
        if chosen.policy is not FLOWEXPECT:
            return _hindsight(trace, memory, on.within, on.first)
        planner = FlowExpect(on.models, memory, within=on.within, **chosen.all_params)
        return _plan(trace, planner, on.first)
    if isinstance(trace, JoinTrace):
        return _join(trace, chosen, memory, on)
    return _look_up(trace, chosen, memory, on)


def prepare_join(
    trace: JoinTrace, policy: str | Configured, memory: int, on: ReplayTerms
) -> tuple[Arrivals, Callable[[], Join]]:
    """Return the rows in the order in which they are taken, and what makes a new join."""
    chosen = _chosen(policy, trace)
    trace, models = _as_policy_needs(trace, chosen, on.models)
    rows = traces.arrivals(trace, on.within, on.near)
    shares = np.bincount(rows.side, minlength=trace.streams) / max(1, len(trace))
    fresh = functools.partial(
        Join,
        chosen,
        memory,
        goal=on.goal,
        within=on.within,
        near=on.near,
        joins=trace.joins,
        layout=on.layout,
        shares=shares.tolist() if on.layout == "split" else None,
        drop=on.drop,
        together=trace.together,
        seed=on.seed,
        models=models if on.near is None else None,  # they are of values, not of cells
    )
    return rows, fresh


def push(join: Join, rows: Arrivals, emit: bool = False) -> Matches:
    """Push some rows into a join."""
    if join.band is None:
        return join.push(rows.side, rows.key, rows.time, end=rows.end, emit=emit)
    return join.push(rows.side, None, rows.time, value=rows.key, end=rows.end, emit=emit)


def _chosen(policy: str | Configured, trace: Trace) -> Configured:
    if isinstance(policy, Configured):
        return policy
    return choose(policy, JOINING if isinstance(trace, JoinTrace) else CACHING)


def _as_policy_needs(
    trace: AnyTrace, chosen: Configured, models: Sequence[Model] | None
) -> tuple[AnyTrace, Sequence[Model] | None]:
    """Return the trace with ordered keys where the policy goes by their order, and its models."""
    policy = chosen.policy
    models = fit_before(chosen, trace) or models
    if policy.ordered or (policy is policies.AUTO and trace.value is not None):
        trace = traces.with_ordered_keys(trace, policy.name)
    return trace, models


def _join(trace: JoinTrace, chosen: Configured, memory: int, on: ReplayTerms) -> Played:
    rows, fresh = prepare_join(trace, chosen, memory, on)
    warming = fresh()  # so that compiling is not timed
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


@functools.lru_cache(maxsize=2)  # the same for every policy
def unlimited(trace: JoinTrace, within: int | None, first: int, near: int | float) -> Played:
    """Return what a band join of a trace finds with memory enough."""
    on = ReplayTerms(within, first=first, near=near)
    return _join(trace, choose("fifo", JOINING), max(1, len(trace)), on)


def _prepare_lookup(
    trace: LookupTrace, chosen: Configured, memory: int, on: ReplayTerms
) -> tuple[LookupTrace, Callable[[], Lookup]]:
    """Return the references as the policy needs them, and what makes a new cache."""
    trace, models = _as_policy_needs(trace, chosen, on.models)
    model = None if models is None else models[-1]  # S is the stream of references
    return trace, functools.partial(Lookup, chosen, memory, seed=on.seed, model=model)


def _look_up(trace: LookupTrace, chosen: Configured, memory: int, on: ReplayTerms) -> Played:
    trace, fresh = _prepare_lookup(trace, chosen, memory, on)
    warming = fresh()
    for number in range(2):
        warming.push(np.arange(WARMING) + number * WARMING, emit=False)
    cache = fresh()
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
    results = [planner.push(*step) for step in traces.steps_of(trace, planner.within)]
    return Played(sum(results[first // 2 :]), len(trace), perf_counter() - started)


@functools.lru_cache(maxsize=2)  # the same in every run over a file
def _hindsight(trace: Trace, memory: int, within: int | None, first: int) -> Played:
    if isinstance(trace, LookupTrace):
        lfd([0], 1)  # compiles it
        started = perf_counter()
        results = int(lfd(trace.key, memory, first=first)[first:].sum())
    else:
        rows = traces.arrivals(trace, within)
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
