"""What several policies share: admission, and hooks over a set, lists, or counts of keys."""

from typing import Any

import numpy as np

from ..kernel import keycounts
from ..kernel import members as sets
from ..kernel import order as orders
from ..kernel.jit import jit
from ..kernel.policy import check_choice

ALWAYS, COMPETE = "always", "compete"


def admits_always(policy: str, admit: str) -> np.ndarray:
    """Return bool[1] for a policy's state: the newcomer is never rejected, `admit=always`."""
    check_choice(policy, "admit", admit, (ALWAYS, COMPETE))
    return np.array([admit == ALWAYS])


@jit
def count_keys(state, held, slot, now):
    """Count the keys of an arrival in `state.counts`."""
    keycounts.tally(state.counts, held, slot)


@jit
def add_member(state, held, slot, now):
    sets.add(state.members, slot)


@jit
def discard_member(state, held, slot, now):
    sets.discard(state.members, slot)


@jit
def append(state, held, slot, now):
    orders.push_back(state.order, 0, slot)


@jit
def unlink(state, held, slot, now):
    orders.unlink(state.order, 0, slot)


@jit
def enter_list(order, where, slot, which):
    """Put a slot at the back of one of several lists; `where` says in which each slot is."""
    orders.push_back(order, which, slot)
    where[slot] = which


@jit
def move_to_list(order, where, slot, which):
    """Move a slot to the back of another list."""
    orders.unlink(order, where[slot], slot)
    enter_list(order, where, slot, which)


# Arguments of a `Policy` whose state has `members`: the held slots.
WITH_MEMBERS: dict[str, Any] = {
    "on_insert": add_member,
    "on_remove": discard_member,
}
# Arguments of a `Policy` whose state has `order`: one list of the held slots.
WITH_ORDER: dict[str, Any] = {
    "on_insert": append,
    "on_remove": unlink,
}
