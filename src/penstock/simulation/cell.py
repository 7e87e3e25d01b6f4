"""One simulation of a grid: a policy over the arrivals of one run, told in plain values.

    {"workload": "tower", "policy": "heeb", "memory": 10, "run": 3}
    {"trace": "calls.csv", "key": "caller", "policy": "lru", "memory": 500, "problem": "caching"}

What else may be said: the fields of a scenario, and those of its source (length, key, time, side).
"""

import functools
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from ..core.policy import JOINING
from ..errors import BadInput
from ..models import Model
from ..workloads import JoinTrace
from .distortion import distortion
from .full import full_matched, full_results
from .run import play
from .scenario import Scenario
from .source import Source, Trace, choose_source
from .tallies import exact_tally, tally
from .words import check_word

_SOURCE = ("workload", "trace", "key", "time", "side", "length")
_SCENARIO = tuple(field.name for field in fields(Scenario) if field.name != "source")
KNOWN = (*_SOURCE, *_SCENARIO, "policy", "run")


def simulate_cell(given: dict[str, Any]) -> dict[str, Any]:
    """Simulate one cell of a grid.

    >>> found = simulate_cell({"workload": "zipf", "policy": "prob", "memory": 20, "length": 200})
    >>> list(found)
    ['results', 'full', 'recall', 'rows', 'seconds', 'matched', 'matchable']
    """
    for name in given:
        check_word("a cell's entry", name, KNOWN)
    for name in ("policy", "memory"):
        if name not in given:
            raise BadInput(f"a cell must name its {name}, got {given}; add {name!r}")
    source = choose_source(*(given.get(name) for name in _SOURCE[:2]), **_part(given, _SOURCE[2:]))
    scenario = Scenario(source, **{"problem": JOINING} | _part(given, _SCENARIO))
    run = given.get("run", 0)
    trace = _arrivals(scenario.source, scenario.problem, scenario.seed + run)
    return measure(
        trace,
        given["policy"],
        scenario.memory,
        within=scenario.window,
        layout=scenario.layout,
        drop=scenario.drop,
        first=scenario.first_row(trace),
        seed=scenario.seed + run,
        models=scenario.source.models,
        with_distortion=scenario.distortion,
        goal=scenario.goal,
    )


def measure(
    trace: Trace,
    policy: str,
    memory: int,
    *,
    within: int | None = None,
    first: int = 0,
    with_distortion: bool = False,
    models: Sequence[Model] | None = None,
    **terms: Any,
) -> dict[str, Any]:
    """Replay a trace under a policy; return plain values."""
    full = full_results(trace, within, first)
    terms |= {"within": within, "first": first, "models": models}
    played = play(trace, policy, memory, **terms)
    found = {
        "results": played.results,
        "full": full,
        "recall": played.results / full if full else 1.0,  # of nothing, nothing was missed
        "rows": played.rows,
        "seconds": played.seconds,
    }
    if played.matched is not None and isinstance(trace, JoinTrace):
        full = full_matched(trace, within, first)
        found |= {"matched": played.matched, "matchable": full}
    if with_distortion and isinstance(trace, JoinTrace):
        exact = exact_tally(trace, within=within, first=first)
        found |= distortion(exact, tally(trace, policy, memory, **terms))._asdict()
    return found


def _part(given: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}


@functools.lru_cache(maxsize=2)  # neighbours in a grid differ in policy and memory only
def _arrivals(source: Source, problem: str, seed: int) -> Trace:
    return source.trace(problem, seed)
