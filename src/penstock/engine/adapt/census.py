"""Which policies are in force in many engines: what each bucket of a query reports of `auto`.

Names cannot be added up, so that each policy has numbers of its own.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...policies import known, tried_by_auto

if TYPE_CHECKING:
    from ..base import Engine


@dataclass(frozen=True)
class InForce:
    """Which policies are in force, over all buckets."""

    buckets: dict[str, int]  # in how many each policy is in force
    scores: dict[str, float]  # what each finds in shadow caches, beside those in force
    switches: int


def policies(problem: str) -> tuple[list[str], list[str]]:
    """Return the policies that can be in force for a problem, and those that `auto` tries."""
    return [each.name for each in known() if problem in each.problems], [*tried_by_auto(problem)]


def names(problem: str) -> list[str]:
    """Return the names of the counters for a problem."""
    in_force, tried = policies(problem)
    scores = [f"{what}_{name}" for name in tried for what in ("more", "beside")]
    return [*(f"in_force_{name}" for name in in_force), *scores, "switches"]


def counters(engine: "Engine", problem: str) -> dict[str, float]:
    """Return what one engine adds to the counters.

    >>> from penstock.engine import Join
    >>> found = counters(Join("auto", 100, within=10), "joining")
    >>> found["in_force_rate"], found["in_force_prob"], found["switches"]
    (1.0, 0.0, 0.0)
    """
    counted = dict.fromkeys(names(problem), 0.0)
    if f"in_force_{engine.in_force.policy.name}" in counted:
        counted[f"in_force_{engine.in_force.policy.name}"] = 1.0
    chooser = engine.chooser
    if chooser is not None:
        counted["switches"] = float(chooser.switches)
        for name, (more, beside) in chooser.standing().items():
            if f"more_{name}" in counted:
                counted[f"more_{name}"], counted[f"beside_{name}"] = more, beside
    return counted
