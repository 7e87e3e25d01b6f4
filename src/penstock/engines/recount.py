"""Count everything a second time: the structures of a join must agree on who is held."""

from typing import Any

import numpy as np

from ..core import keymap
from ..core.expiry import SIZE
from ..core.gains import FRESH, SERVES, SPENT, WAITS
from ..core.index import HELD, KEY, NONE
from ..core.order import SIZE as LENGTH
from ..core.policy import Policy
from ..core.slots import FOREVER
from .kernel import USED, Form, Tables


def recount(
    tables: Tables,
    states: tuple[Any, ...],
    policy: Policy,
    form: Form,
    live: np.ndarray,
    limit: int,
) -> None:
    """Raise AssertionError unless all tables and the policy agree about the slots in `live`."""
    held = tables.held
    assert len(set(live.tolist())) == len(live)
    _recount_index(tables, form, live)
    if form.rows:
        _recount_standings(tables, form, live)
    mortal = int((held.at["deadline"][live] != FOREVER).sum())
    waiting = int(tables.expiry.ends[:, SIZE].sum() + tables.expiry.late.size[0])
    assert mortal == waiting, f"{mortal} tuples can die, {waiting} wait to"
    # A lane may hold more than it is allowed while it is made smaller, all together may not.
    assert tables.lanes[:, USED].sum() <= limit, f"{tables.lanes[:, USED].sum()} of {limit} used"
    for lane in range(form.lanes):
        mine = live[held.at["stream"][live] == lane] if form.lanes > 1 else live
        used = int(held.at["size"][mine].sum()) if form.sized else len(mine)
        said = tables.lanes[lane, USED]
        assert used == said, f"lane {lane} uses {used}, says {said}"
        if policy.tracked is not None:
            known = policy.tracked(states[lane])
            assert known == len(mine), f"{policy.name} knows {known} of {len(mine)} tuples"


def _recount_index(tables: Tables, form: Form, live: np.ndarray) -> None:
    index, held, legs = tables.keys, tables.held, form.shape.leg_table
    hanging: dict[int, int] = {}
    for slot in live.tolist():
        for leg, (join, _, attribute) in enumerate(legs[held.at["stream"][slot]].tolist()):
            if join < 0:
                continue
            entry = int(index.chain["entry"][slot, leg])
            key = index.entry[entry, KEY]
            assert key == held.key[slot, attribute]
            assert keymap.seek(index.buckets, join, index.entry[:, KEY], key) == entry
            hanging[entry] = hanging.get(entry, 0) + 1
    assert all(index.entry[entry, HELD] == count for entry, count in hanging.items())
    filled = int((index.buckets != keymap.EMPTY).sum())
    assert filled == len(hanging), f"{filled} keys are indexed, {len(hanging)} are held"


def _recount_standings(tables: Tables, form: Form, live: np.ndarray) -> None:
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
