"""The policies that can be compared: those of the engines, and three that only a simulation runs.

`opt` and `lfd` are the optimum with hindsight, of a join and of a cache. `flowexpect` decides about
whole steps, in Python. Each has a record like any policy, so that names and parameters are read,
checked and listed alike.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import policies
from ..core.gains import PAIRS
from ..core.options import check_word
from ..core.policy import CACHING, JOINING, Chosen, Policy, make_no_state, parse, refuse
from ..core.shape import Joins, Shape
from ..engines import Join, Lookup
from ..errors import BadInput
from ..models import Model
from ..policies.heeb_tables import fit_family
from .flowexpect import FLOWEXPECT, FlowExpect
from .scenario import Scenario
from .traces import JoinTrace, Trace, with_ordered_keys

OPT = Policy("opt", "hindsight: the most results that any policy could get", make_no_state, refuse)
LFD = Policy(
    "lfd",
    "hindsight: the most hits that any policy could get",
    make_no_state,
    refuse,
    problems=(CACHING,),
)
HINDSIGHT = (OPT, LFD)
SIMULATED = (FLOWEXPECT, *HINDSIGHT)  # an engine cannot run them
KNOWN = (*policies.ALL, policies.AUTO, *SIMULATED)


def choose(text: str, problem: str) -> Chosen:
    """Read `NAME` or `NAME:key=value,...`, if the policy is defined for the problem.

    >>> choose("opt", "joining").all_params, str(choose("gdj:percentile=0.9", "joining"))
    ({}, 'gdj:percentile=0.9')
    """
    name = text.strip().partition(":")[0]
    check_word("policy", name, [policy.name for policy in KNOWN])
    if (name, problem) == (LFD.name, JOINING):
        raise BadInput("'lfd' is not defined for joining; the optimum of a join is 'opt'")
    simulated = name in [policy.name for policy in SIMULATED]
    return policies.choose(parse(text, SIMULATED) if simulated else text, problem)


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
            "params": Chosen(policy, {}).all_params,
        }
        for policy in KNOWN
    ]


def suitable(scenario: Scenario) -> list[str]:
    """Return the names of all policies that are defined for a scenario.

    Without a window these are none that weighs what remains of it; without numbers none that goes
    by their order; for other than two streams and one key none that is defined for these alone.
    """
    plain = Shape(scenario.joins).is_plain
    numeric = scenario.trace(0).value is not None
    return [
        policy.name
        for policy in (*policies.ALL, policies.AUTO)
        if scenario.problem in policy.problems
        and (scenario.windowed or not policy.needs_window)
        and (numeric or not policy.ordered)
        and (plain or not policy.plain)
    ]


def fit_before(chosen: Chosen, trace: Trace) -> list[Model] | None:
    """Return models fitted to each stream of a whole trace, if the policy asks for `fit=before`.

    So the HEEB paper does with real data. `model=` names the family, by default the best one.
    """
    params = chosen.all_params
    if params.get("fit") != "before":
        return None
    ordered = with_ordered_keys(trace, chosen.policy.name)
    streams = [ordered.key]
    if isinstance(ordered, JoinTrace):
        streams = [ordered.key[ordered.side == side] for side in range(ordered.streams)]
    family, period = params.get("model", "auto"), params.get("period")
    return [fit_family(family, stream, period) for stream in streams]


def check(chosen: Chosen, scenario: Scenario) -> None:
    """Refuse at once what would fail later: an engine is made for it, and given nothing to do."""
    policy, models = chosen.policy, scenario.source.models
    if policy in SIMULATED:
        check_terms(policy, scenario.layout, scenario.drop, scenario.joins, scenario.goal)
        if scenario.distortion:
            raise BadInput(
                f"{policy.name!r} counts results and does not list them; leave out {policy.name} "
                "or --distortion"
            )
        if policy is FLOWEXPECT:
            FlowExpect(models, scenario.memory, **chosen.all_params)
        return
    given: Sequence[Model] | None = models
    if chosen.params.get("fit") == "before":
        given = fit_before(chosen, scenario.trace(0))
    if scenario.problem == CACHING:
        Lookup(chosen, 1, model=None if given is None else given[-1])
    else:
        _check_join(chosen, scenario, given)


def _check_join(chosen: Chosen, scenario: Scenario, models: Sequence[Model] | None) -> None:
    if chosen.policy.needs_window and not scenario.windowed:
        raise BadInput(
            f"policy {chosen.policy.name!r} weighs what remains of a window, and there is none;"
            " give --within"
        )
    shape = Shape(scenario.joins)
    join = Join(
        chosen,
        min(scenario.memory, shape.streams),  # a split memory has a row for each side
        within=scenario.window,
        goal=scenario.goal,
        joins=scenario.joins,
        layout=scenario.layout,
        models=models,
    )
    none = np.empty((0, shape.attributes), np.int64)
    join.push([], none, [], end=[] if scenario.windowed else None)


def check_terms(policy: Policy, layout: str, drop: float, joins: Joins, goal: str) -> None:
    """Refuse terms that the simulated policies are not defined for.

    They have one memory, see all arrivals of one join of two streams, and count results.
    """
    name = policy.name
    if layout != "unified":
        raise BadInput(f"{name!r} has the unified layout only; leave out {name} or --layout")
    if goal != PAIRS:
        raise BadInput(f"{name!r} maximises results, not rows; leave out {name} or --goal")
    if drop:
        raise BadInput(f"{name!r} takes all arrivals, none dropped; leave out {name} or --drop")
    if not Shape(joins).is_plain:
        raise BadInput(
            f"{name!r} is defined for one join of two streams, got {joins}; leave out {name}"
        )
