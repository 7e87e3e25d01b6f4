"""Restore with another budget or policy, and refuse what was not saved by us."""

import numpy as np
import pytest

from penstock.engine import Join, Lookup
from penstock.engine.saved import FORMAT
from penstock.errors import BadInput, BadState
from penstock.policies import BUILT_IN
from tests.marks import long, some
from tests.recount import recount

NAMES = [policy.name for policy in BUILT_IN if "joining" in policy.problems]
# Each is a kernel to compile; what differs is how a policy keeps order: list, heap, scan or model.
FEW = ["fifo", "prob", "gdj", "rate", "heeb"]


def rows(n=3000, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, 2, n), random.integers(0, 60, n), np.arange(n)


def push(join, side, key, time, part):
    return join.push(side[part], key[part], time[part]).rows.tolist()


@long
@pytest.mark.parametrize("name", some(NAMES, FEW))
@pytest.mark.parametrize("budget", some([7, 40, 2000, None], [7]))
def test_another_budget_takes_effect(name, budget):
    side, key, time = rows()
    join = Join(name, 40, within=500)
    push(join, side, key, time, slice(0, 1000))
    after = Join.restore(join.save(), budget=budget)
    recount(after)
    assert after.held == min(join.held, budget or join.held)
    assert set(after.held_rows) <= set(join.held_rows)
    push(after, side, key, time, slice(1000, 3000))
    recount(after)
    assert after.held <= (budget or 3000)
    exact = {tuple(pair) for pair in Join(within=500).push(side, key, time).rows.tolist()}
    assert after.results <= len(exact)


@long
@pytest.mark.parametrize("name", some(NAMES, FEW))
def test_another_policy_meets_what_is_held(name):
    side, key, time = rows()
    join = Join("fifo", 50, within=500)
    push(join, side, key, time, slice(0, 1000))
    after = Join.restore(join.save(), policy=name)
    recount(after)
    assert after.held_rows.tolist() == join.held_rows.tolist()
    assert after.chosen.policy.name == name
    push(after, side, key, time, slice(1000, 3000))
    recount(after)


@long
def room_in(name, layout, budget):
    """Return about how many rows a budget in bytes has room for."""
    try:
        return Join(name, budget, within=500, layout=layout, in_bytes=True).footprint.rows
    except BadInput:
        return 0


@pytest.mark.parametrize(
    ("name", "layout"),
    [  # few, for each of them is compiled anew
        ("prob", "unified"),
        ("prob", "split"),
        pytest.param("auto", "unified", marks=pytest.mark.slow),
        ("gdj:percentile=auto", "unified"),
    ],
)
def test_a_budget_in_another_unit(name, layout):
    side, key, time = rows()
    size = 50 + key % 7
    exact = Join(within=500)
    exact.push(side, key, time)

    def pushed(join, part, sized):
        join.push(side[part], key[part], time[part], size=size[part] if sized else None)
        recount(join)

    budget = 20_000  # bytes for some hundred rows, whatever the policy takes beside
    while room_in(name, layout, budget) < 80:
        budget += budget // 8
    join = Join(name, 200, within=500, layout=layout)
    pushed(join, slice(0, 1000), False)
    held = join.held_rows
    in_bytes = Join.restore(join.save(), budget=budget, in_bytes=True, size=size[held])
    recount(in_bytes)
    assert set(in_bytes.held_rows) < set(held)
    fixed, charge = in_bytes.footprint.fixed, in_bytes.footprint.charge
    assert in_bytes.used == fixed + (charge + size[in_bytes.held_rows]).sum() <= budget
    assert str(in_bytes.chosen) == name
    pushed(in_bytes, slice(1000, 2000), True)
    assert in_bytes.used <= budget
    in_rows = Join.restore(in_bytes.save(), budget=30, in_bytes=False)
    recount(in_rows)
    assert in_rows.held == 30
    assert set(in_rows.held_rows) < set(in_bytes.held_rows)
    pushed(in_rows, slice(2000, 3000), False)
    assert in_rows.held <= 30
    assert join.results < in_rows.results < exact.results


def test_a_budget_where_there_was_none():
    side, key, time = rows()
    join = Join(within=500)
    push(join, side, key, time, slice(0, 1000))
    after = Join.restore(join.save(), policy="lru", budget=20)
    recount(after)
    assert (join.held, after.held) == (501, 20)


@pytest.mark.parametrize("layout", ["unified", "split"])
def test_restoring_changes_nothing(layout):
    side, key, time = rows()
    whole = Join("gdj", 30, within=400, layout=layout, shares=None)
    expected = whole.push(side, key, time).rows.tolist()
    found, join = [], Join("gdj", 30, within=400, layout=layout)
    for start in range(0, 3000, 100):
        join = Join.restore(join.save())
        found += push(join, side, key, time, slice(start, start + 100))
    assert found == expected


@long
@pytest.mark.parametrize("policy", ["prob", "lfu", "life"])
def test_counts_are_saved_no_larger_than_they_need_to_be(policy):
    rng = np.random.default_rng(1)
    side, key, time = rng.integers(0, 2, 60_000), rng.integers(0, 300, 60_000), np.arange(60_000)
    join = Join(policy, 50, within=500)
    join.push(side[:30_000], key[:30_000], time[:30_000])
    saved = join.save()
    assert sum(array.nbytes for array in saved.values()) < 150_000
    again = Join.restore(saved)
    rest = [column[30_000:] for column in (side, key, time)]
    assert join.push(*rest).rows.tolist() == again.push(*rest).rows.tolist()


def test_a_foreign_state_is_refused():
    with pytest.raises(BadState, match="not a saved join"):
        Join.restore({"header": np.frombuffer(b"nonsense", np.uint8)})
    with pytest.raises(BadState, match="this is a saved lookup, not a saved join"):
        Join.restore(Lookup("lru", 3).save())
    saved = Join("lru", 3).save()
    header = saved["header"].tobytes().replace(b'"format": %d' % FORMAT, b'"format": 9')
    with pytest.raises(BadState, match="format 9"):
        Join.restore(saved | {"header": np.frombuffer(header, np.uint8)})
    del saved["policy.0.order.link"]
    with pytest.raises(BadState, match=r"policy\.0\.order\.link"):
        Join.restore(saved)
