"""Make the tables of a join, and make them larger without changing what they say."""

from typing import Any

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


def grow_tables(form: Form, old: dict[str, Any], capacity: int) -> Tables:
    """Return the tables with room for `capacity` tuples.

    `old` are the parts of the tables by name, which nothing else may refer to: each is dropped as
    soon as there is a larger one, so that there are never two of everything.
    """
    shape = form.shape
    index = dict(old.pop("keys")._asdict())
    del index["chain"]  # a view of the tuples
    held = grow_held(old.pop("held"), capacity)
    fresh = indexes.make_index(capacity, len(shape.joins), shape.sides, shape.legs, chains(held))
    keymap.rehash(index.pop("buckets"), fresh.buckets)
    keys = fresh._replace(
        entry=grown(index.pop("entry"), fresh.entry),
        unused=stack.grow_stack(index.pop("unused"), len(fresh.entry)),
    )
    free = stack.grow_stack(old.pop("free"), capacity)
    expiry = old.pop("expiry")
    expiry = grown(expiry, make_expiry(capacity, len(expiry.ends)))
    spent = grown(old.pop("spent"), make_order(capacity if form.rows else 0, shape.streams))
    return Tables(held=held, free=free, keys=keys, expiry=expiry, spent=spent, **old)
