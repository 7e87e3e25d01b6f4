"""When a policy is asked to think: after so many arrivals as it said, wherever batches are cut."""

from collections.abc import Sequence
from typing import Any

from ..core.policy import Policy

NEVER_ASKED = 2**62


def most_arrivals(policy: Policy, states: Sequence[Any]) -> int:
    """Return how many arrivals may be taken before somebody must be asked."""
    if policy.pause is None:
        return NEVER_ASKED
    return max(1, min(policy.pause(state) for state in states))


def refreshed(policy: Policy, state: Any) -> Any:
    """Return the state, after thought if it is due."""
    if policy.pause is None or policy.refresh is None or policy.pause(state) > 0:
        return state
    return policy.refresh(state)
