"""Make the tables of a join, and make them larger without changing what they say."""

import numpy as np

from ..core import index as indexes
from ..core import keymap, stack
from ..core.expiry import make_expiry
from ..core.order import make_order
from ..core.policy import grown
from ..core.slots import chains, grow_held, make_held
from .kernel import COUNTS, NEVER, Form, Tables


def make_tables(form: Form, capacity: int, budgets: list[int]) -> Tables:
    """Return empty tables with room for `capacity` tuples."""
    shape = form.shape
    lanes = np.zeros((form.lanes, 2), np.int64)
    lanes[:, 1] = budgets
    held = make_held(capacity, shape.attributes, shape.legs, form.sized, form.rows)
    return Tables(
        held,
        stack.make_stack(0, capacity, capacity),
        indexes.make_index(capacity, len(shape.joins), shape.sides, shape.legs, chains(held)),
        make_expiry(capacity, shape.streams if form.counting else 1),
        make_order(capacity if form.rows else 0, shape.streams),
        np.zeros((shape.streams, COUNTS), np.int64),
        np.array([-1 if form.counting else NEVER, 0, 0], np.int64),
        np.full(shape.streams, NEVER),
        lanes,
        np.zeros((shape.sides + 1, 3), np.int64),
    )


def capacity_of(free: np.ndarray) -> int:
    """Return how many slots there are, by the stack of the free ones."""
    return len(free) - 1


def slots_to_add(capacity: int, held: int, used: int, budget: int, least: int = 1) -> int:
    """Return how many slots to add where rows of `used` bytes hold all of them.

    Half as many again, but hardly more than the budget will hold of rows such as these.

    >>> slots_to_add(100, 100, 5_000, 100_000), slots_to_add(100, 100, 5_000, 5_500)
    (50, 16)
    """
    could = budget * held // max(1, used) - capacity
    return max(least, 16, capacity // 32, min(capacity // 2, could))


def live_slots(free: np.ndarray, born: np.ndarray) -> np.ndarray:
    """Return the slots in use, in the order in which their tuples were kept."""
    used = np.ones(capacity_of(free), bool)
    used[free[1 : 1 + free[0]]] = False
    slots = np.flatnonzero(used)
    return slots[np.argsort(born[slots])]


def claim_slots(free: np.ndarray, live: np.ndarray) -> None:
    """Leave on the stack exactly the slots that are not in `live`."""
    idle = np.ones(capacity_of(free), bool)
    idle[live] = False
    unused = np.flatnonzero(idle)[::-1]
    free[0] = len(unused)
    free[1 : 1 + len(unused)] = unused


def grow_tables(form: Form, old: Tables, capacity: int) -> Tables:
    """Return the tables with room for `capacity` tuples."""
    held = grow_held(old.held, capacity)
    return old._replace(
        held=held,
        free=stack.grow_stack(old.free, capacity),
        keys=_grow_index(form, old.keys, capacity, chains(held)),
        expiry=grown(old.expiry, make_expiry(capacity, len(old.expiry.ends))),
        spent=grown(old.spent, make_order(capacity if form.rows else 0, form.shape.streams)),
    )


def _grow_index(form: Form, old: indexes.Index, capacity: int, chain: np.ndarray) -> indexes.Index:
    shape = form.shape
    fresh = indexes.make_index(capacity, len(shape.joins), shape.sides, shape.legs, chain)
    keymap.rehash(old.buckets, fresh.buckets)
    return fresh._replace(
        entry=grown(old.entry, fresh.entry),
        unused=stack.grow_stack(old.unused, len(fresh.entry)),
    )
