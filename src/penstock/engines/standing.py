"""Which policies rule, counted over many engines: what each bucket of a query reports of `auto`.

Names cannot be added up, so that each policy has numbers of its own.
"""

from dataclasses import dataclass
from typing import Any

from ..policies import ALL, FAMILIES, choose
from .chooser import Chooser


@dataclass(frozen=True)
class Ruling:
    """Who rules, over all buckets."""

    buckets: dict[str, int]  # how many each policy rules
    scores: dict[str, float]  # what each that is tried finds in miniature, beside those that rule
    switches: int


def names(problem: str) -> list[str]:
    """Return the names of the counters for a problem."""
    ruling = [f"rules_{policy.name}" for policy in ALL if problem in policy.problems]
    tried = [choose(family[0]).policy.name for family in FAMILIES[problem]]
    scores = [f"{what}_{name}" for name in tried for what in ("more", "beside")]
    return [*ruling, *scores, "switches"]


def counters(engine: Any, problem: str) -> dict[str, float]:
    """Return what one engine adds to the counters.

    >>> from penstock.engines import Join
    >>> found = counters(Join("auto", 100, within=10), "joining")
    >>> found["rules_rate"], found["rules_prob"], found["switches"]
    (1.0, 0.0, 0.0)
    """
    counted = dict.fromkeys(names(problem), 0.0)
    if f"rules_{engine.in_force.policy.name}" in counted:
        counted[f"rules_{engine.in_force.policy.name}"] = 1.0
    chooser = engine.chooser
    if isinstance(chooser, Chooser):
        counted["switches"] = float(chooser.switches)
        for name, (more, beside) in chooser.standing().items():
            counted[f"more_{name}"], counted[f"beside_{name}"] = more, beside
    return counted


def read(row: dict[str, Any], problem: str) -> Ruling:
    """Return what the sums of the counters say."""
    known = names(problem)
    ruling = [name.removeprefix("rules_") for name in known if name.startswith("rules_")]
    tried = [name.removeprefix("more_") for name in known if name.startswith("more_")]
    return Ruling(
        {name: int(row[f"rules_{name}"]) for name in ruling if row[f"rules_{name}"]},
        {
            name: round(1 + row[f"more_{name}"] / row[f"beside_{name}"], 4)
            for name in tried
            if row[f"beside_{name}"]
        },
        int(row["switches"]),
    )
