"""Who is compared: the policies, and beside them hindsight under the names `opt` and `lfd`."""

from typing import Any, NamedTuple

import numpy as np

from .. import policies
from ..core.gains import PAIRS
from ..core.options import nearest
from ..core.policy import CACHING, Chosen, parse
from ..core.shape import Joins, Shape
from ..engines import Join, Lookup
from ..errors import BadInput
from ..offline import FLOWEXPECT, FlowExpect
from .before import fit_before
from .scenario import Scenario

OPT, LFD = "opt", "lfd"


class Contender(NamedTuple):
    """A policy as it was asked for."""

    name: str
    chosen: Chosen | None  # None: hindsight

    @property
    def params(self) -> dict[str, Any]:
        """Every parameter in force."""
        return {} if self.chosen is None else self.chosen.all_params

    @property
    def plans(self) -> bool:
        """Whether it decides about whole steps, in Python and not in an engine."""
        return self.chosen is not None and self.chosen.policy is FLOWEXPECT

    def __str__(self) -> str:
        return self.name if self.chosen is None else str(self.chosen)


def contender(text: str, problem: str) -> Contender:
    """Read `NAME` or `NAME:key=value,...`.

    >>> contender("opt", "joining").params, str(contender("gdj:percentile=0.9", "joining"))
    ({}, 'gdj:percentile=0.9')
    """
    name, _, tail = text.strip().partition(":")
    known = [each.name for each in (*policies.ALL, policies.AUTO, FLOWEXPECT)] + [OPT, LFD]
    if name not in known:
        raise BadInput(f"unknown policy {name!r}; {nearest(name, known)}")
    if name not in (OPT, LFD):
        planner = name == FLOWEXPECT.name
        chosen = policies.choose(parse(text, (FLOWEXPECT,)) if planner else text, problem)
        return Contender(chosen.policy.name, chosen)
    if tail:
        raise BadInput(f"{name!r} is hindsight and has no parameters, got {tail!r}; leave them out")
    if name == LFD and problem != CACHING:
        raise BadInput("'lfd' is not defined for joining; the optimum of a join is 'opt'")
    return Contender(name, None)


def check(who: Contender, scenario: Scenario) -> None:
    """Refuse at once what would fail later: an engine is made for it, and given nothing to do."""
    models: Any = scenario.source.models
    if who.params.get("fit") == "before":
        models = fit_before(scenario.trace(0), who.params)
    if who.chosen is None or who.plans:
        check_terms(who, scenario.layout, scenario.drop, scenario.joins, scenario.goal)
        _check_listing(who, scenario.distortion)
    if who.plans:
        FlowExpect(models, scenario.memory, **who.params)
    elif who.chosen is not None and scenario.problem == CACHING:
        Lookup(who.chosen, 1, model=None if models is None else models[-1])
    elif who.chosen is not None:
        _check_join(who.chosen, scenario, models)


def _check_join(chosen: Chosen, scenario: Scenario, models: Any) -> None:
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


def check_terms(who: Contender, layout: str, drop: float, joins: Joins, goal: str = PAIRS) -> None:
    """Refuse what hindsight and plans do not know: other than one memory, all arrivals, one join
    of two streams, results.
    """
    name = FLOWEXPECT.name if who.plans else OPT
    if layout != "unified":
        raise BadInput(f"{name!r} knows only the unified layout; leave out {name} or --layout")
    if goal != PAIRS:
        raise BadInput(f"{name!r} gets the most results, not rows; leave out {name} or --goal")
    if drop:
        raise BadInput(f"{name!r} drops nothing before it looks; leave out {name} or --drop")
    if not Shape(joins).is_plain:
        raise BadInput(
            f"{name!r} is known for one join of two streams, got {joins}; leave out {name}"
        )


def _check_listing(who: Contender, distortion: bool) -> None:
    if distortion:
        raise BadInput(
            f"{who.name!r} counts results and does not list them; leave out it or --distortion"
        )


def everybody(scenario: Scenario) -> list[str]:
    """Return all policies that make sense.

    Without a window none that weighs what remains of it; without numbers none that goes by their
    order; for other than two streams and one key none that is defined for these.
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
