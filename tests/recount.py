"""Recount every structure of an engine, and expect that all of them agree."""

from typing import Any

import numpy as np

from penstock.engine import Join, Lookup
from penstock.engine.join_kernel import USED, Form, JoinTables
from penstock.kernel import keymap
from penstock.kernel.gains import FRESH, SERVES, SPENT, WAITS
from penstock.kernel.order import SIZE as LENGTH
from penstock.kernel.slots import FOREVER, HELD, KEY, NONE, SIZE

# What a policy keeps its slots in, by the name in its state, and how many there are.
TRACKED = {
    "members": lambda state: state.members.size[0],
    "shortlist": lambda state: state.shortlist.members.size[0],
    "order": lambda state: state.order.ends[0, LENGTH],
    "queues": lambda state: state.queues.ends[:, LENGTH].sum(),
    "lists": lambda state: state.lists.ends[:, LENGTH].sum(),
    "heap": lambda state: state.heap.size[0],
    "ladder": lambda state: state.ladder.size[0] + _ranked(state),
    "cold": lambda state: state.cold.size[0] + state.hot.size[0],
}


def _ranked(state: Any) -> int:
    """Return how many slots a policy keeps by rank, as GDJ does with one of its methods."""
    if "ranks" not in state._fields or state.ranks.root[0] < 0:
        return 0
    return int(state.ranks.weight[state.ranks.root[0]])


def recount(engine: Any) -> None:
    """Raise AssertionError where two structures of a join or a cache disagree."""
    live = engine._live()
    assert len(set(live.tolist())) == len(live)
    _recount_join(engine, live) if isinstance(engine, Join) else _recount_cache(engine, live)


def _recount_policy(state: Any, held: int) -> None:
    for name, tracked in TRACKED.items():
        if name in state._fields:
            assert tracked(state) == held, f"{type(state).__name__} has {tracked(state)} of {held}"


def _recount_cache(cache: Lookup, live: np.ndarray) -> None:
    tables = cache._tables
    by_slot = tables.held.key[:, 0]
    assert cache._used <= cache._budgets[0]
    sizes = tables.held.at["size"][live] if cache.sized else np.ones(len(live), np.int64)
    assert sizes.sum() == cache._used
    assert len(set(by_slot[live].tolist())) == len(live), "a key is cached twice"
    found = [keymap.seek(tables.buckets, 0, by_slot, by_slot[slot]) for slot in live]
    assert found == live.tolist()
    assert int((tables.buckets != keymap.EMPTY).sum()) == len(live)
    _recount_policy(cache._states[0], len(live))


def _recount_join(join: Join, live: np.ndarray) -> None:
    tables, form, limit = join._tables, join.form, sum(join._budgets)
    held = tables.held
    _recount_index(tables, form, live)
    if form.rows:
        _recount_standings(tables, form, live)
    expiring = int((held.at["deadline"][live] != FOREVER).sum())
    waiting = int(tables.expiry.ends[:, SIZE].sum() + tables.expiry.late.size[0])
    assert expiring == waiting, f"{expiring} tuples can expire, {waiting} are queued to"
    # A lane may hold more than it is allowed while it is made smaller, all together may not.
    assert tables.lanes[:, USED].sum() <= limit, f"{tables.lanes[:, USED].sum()} of {limit} used"
    for lane in range(form.lanes):
        mine = live[held.at["stream"][live] == lane] if form.lanes > 1 else live
        used = int(held.at["size"][mine].sum()) if form.sized else len(mine)
        said = tables.lanes[lane, USED]
        assert used == said, f"lane {lane} uses {used}, says {said}"
        _recount_policy(join._states[lane], len(mine))


def _recount_index(tables: JoinTables, form: Form, live: np.ndarray) -> None:
    index, held, legs = tables.keys, tables.held, form.shape.leg_table
    linked: dict[int, int] = {}
    for slot in live.tolist():
        for leg, (join, _, attribute) in enumerate(legs[held.at["stream"][slot]].tolist()):
            if join < 0:
                continue
            entry = int(index.chain["entry"][slot, leg])
            key = index.entry[entry, KEY]
            assert key == held.key[slot, attribute]
            assert keymap.seek(index.buckets, join, index.entry[:, KEY], key) == entry
            linked[entry] = linked.get(entry, 0) + 1
    assert all(index.entry[entry, HELD] == count for entry, count in linked.items())
    filled = int((index.buckets != keymap.EMPTY).sum())
    assert filled == len(linked), f"{filled} keys are indexed, {len(linked)} are held"


def _recount_standings(tables: JoinTables, form: Form, live: np.ndarray) -> None:
    held, legs = tables.held, form.shape.leg_table
    for slot in live.tolist():
        matched = bool(held.at["matched"][slot])
        for leg, (join, _, _) in enumerate(legs[held.at["stream"][slot]].tolist()):
            standing = held.standing[slot, leg]
            if join < 0:
                right = standing == SPENT
            elif tables.keys.chain["newer"][slot, leg] == NONE:
                right = standing == (SERVES if matched else FRESH)
            else:
                right = standing == SPENT if matched else standing >= WAITS
            assert right, f"row {held.at['row'][slot]} has standing {standing} on leg {leg}"
    spent = live[(held.standing[live] == SPENT).all(axis=1)]
    counted = np.bincount(held.at["stream"][spent], minlength=form.shape.streams)
    listed = tables.spent.ends[:, LENGTH]
    assert counted.tolist() == listed.tolist(), f"{counted} are spent, {listed} are listed"
