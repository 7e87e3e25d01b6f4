"""Outer, semi and anti joins, windows of two bounds, and rows that have one partner at most."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config

from penstock.engine import Join
from penstock.errors import BadInput
from penstock.kernel.shape import all_streams
from tests.compare import cut, push_rows, streams
from tests.marks import long, plain
from tests.naive.how import (
    HOWS,
    MATCHES,
    NO_PARTNER,
    PRESERVED,
    NaiveHow,
    exact_pairs,
    exact_results,
    in_time,
    single_sides,
)
from tests.naive.policies import factory
from tests.recount import recount

# Which sides have one partner at most, and whether any is preserved, is compiled for each policy
# and goal, which takes seconds: compiled few must do, as plain Python all are tried.
COMPILED = not config.DISABLE_JIT
KINDS = [(how, match) for how in HOWS for match in MATCHES if (how, match) != ("inner", "all")]
FEW = [("full", "all"), ("left", "first"), ("right", "one"), ("semi", "all"), ("anti", "all")]
POLICIES = ["fifo", "lru", "prob", "rate"]
WINDOWS = {
    "none": None,
    "symmetric": 9,
    "now": 0,
    "shifted": (-3, 11),
    "only later": (0, 12),
    "only earlier": (-12, 0),
    "low above 0": (4, 10),
    "high below 0": (-9, -2),
    "one distance": (5, 5),
}
windows = st.sampled_from(list(WINDOWS.values())) | st.builds(
    lambda a, b: (min(a, b), max(a, b)), st.integers(-15, 15), st.integers(-15, 15)
)
budgets = st.integers(1, 12)
kinds = st.sampled_from(KINDS)
every_kind = pytest.mark.parametrize(("how", "match"), KINDS)


def results_of(matches) -> list[tuple[int, int]]:
    assert matches.join.tolist() == [0] * len(matches.rows)
    return [tuple(pair) for pair in matches.rows.tolist()]


def counters_of(join) -> dict[str, list[int]]:
    return {name: value.tolist() for name, value in join.counters.items()}


@st.composite
def dense(draw, most=60, nulls=True):
    """Draw many rows that are likely to match, by a seed: lists tend to be short."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = int(rng.integers(most // 2, most))
    columns = (
        rng.integers(0, 2, count),
        rng.integers(0, rng.integers(2, 9), count),
        np.cumsum(rng.integers(0, rng.integers(2, 5), count)),
        rng.integers(1, 6, count),
        rng.random(count) < 0.1 * nulls,
    )
    return [
        {"stream": side, "keys": None if null else (key,), "time": time, "size": size}
        for side, key, time, size, null in zip(*map(np.ndarray.tolist, columns), strict=True)
    ]


@st.composite
def cases(draw, most=60, nulls=True):
    """Draw batches of rows, a delay and a window; most rows are late by less than the delay."""
    rows = draw(streams(keys=4, most=most, nulls=nulls) | dense(most, nulls))
    delay = draw(st.none() | st.integers(0, 8))
    if delay is not None:
        shift = random.Random(draw(st.integers(0, 2**32)))
        far = [delay, delay, delay, 3 * delay + 1]
        rows.sort(key=lambda row: row["time"] + shift.randint(0, shift.choice(far)))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), min_size=3, max_size=3)))
    batches = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    return batches, {"delay": delay, "within": draw(windows)}


def assert_conserved(join) -> None:
    """Expect that every row that arrived is accounted for once."""
    told = join.counters
    left = ("late", "null", "dropped", "expired", "evicted", "rejected", "completed")
    held = np.bincount(join.tuples["stream"], minlength=2)
    assert (sum(told[name] for name in left) + held).tolist() == told["arrived"].tolist()
    assert (told["unmatched_evicted"] <= told["unmatched"]).all()
    assert (told["unmatched_evicted"] <= told["evicted"] + told["rejected"]).all()


def assert_same(real: Join, twin: NaiveHow) -> None:
    """Expect the same rows held and the same counts of both."""
    recount(real)
    assert real.held_rows.tolist() == [t.row for t in twin.held]
    assert counters_of(real) == twin.counters
    assert_conserved(real)


def follow(policy, batches, budget, *, most=None, between=lambda join: None, **options):
    """Push batches into the engine and its twin, saving and restoring before each of them."""
    real = Join(policy, budget, **options)
    twin = NaiveHow(factory(policy), budget, **options)
    for batch in batches:
        expected = twin.push(batch)
        real = Join.restore(real.save())
        assert Counter(results_of(push_rows(real, batch, most=most))) == Counter(expected)
        assert_same(real, twin)
        for join in (real, twin):
            between(join)
        assert_same(real, twin)
    assert Counter(results_of(real.finish())) == Counter(twin.finish())


# ---------------------------------------------------------------- worked cases


def taken(join, *rows):
    """Push rows given as (side, key, time), key None for a missing one; return the results."""
    side, key, time = zip(*rows, strict=True)
    null = [k is None for k in key]
    return results_of(join.push(side, [k or 0 for k in key], time, null=null))


def test_expired_left_row_is_emitted_with_no_partner():
    join = Join(within=10, how="left")
    assert taken(join, (0, 7, 0), (0, 8, 1), (1, 7, 2)) == [(0, 2)]
    assert taken(join, (1, 9, 30)) == [(1, NO_PARTNER)]
    assert counters_of(join)["unmatched"] == [1, 0]
    assert join.finish().rows.tolist() == []


def test_evicted_left_row_is_emitted_in_the_push_that_evicts_it():
    join = Join("fifo", 1, within=10, how="left")
    assert taken(join, (0, 7, 0)) == []
    assert taken(join, (1, 8, 1)) == [(0, NO_PARTNER)]
    assert counters_of(join)["unmatched_evicted"] == [1, 0]


def test_departures_not_yet_reported_are_saved():
    join = Join("fifo", 3, within=10, how="left")
    assert taken(join, (0, 7, 0), (0, 8, 1), (0, 9, 2)) == []
    join.resize(2)
    join = Join.restore(join.save())
    assert results_of(join.departed()) == [(0, NO_PARTNER)]
    join.resize(1)
    join = Join.restore(join.save(), budget=5)
    assert taken(join, (1, 9, 3)) == [(2, 3), (1, NO_PARTNER)]
    assert counters_of(join)["unmatched_evicted"] == [2, 0]


def test_missing_key_of_a_preserved_side_is_emitted_at_once():
    rows = (0, None, 0), (1, None, 0), (0, 7, 0)
    assert taken(Join(within=10, how="left"), *rows) == [(0, NO_PARTNER)]
    assert taken(Join(within=10, how="right"), *rows) == [(NO_PARTNER, 1)]
    assert sorted(taken(Join(within=10, how="full"), *rows)) == [(NO_PARTNER, 1), (0, NO_PARTNER)]
    assert taken(Join(within=10, how="anti"), *rows) == [(0, NO_PARTNER)]
    assert taken(Join(within=10, how="semi"), *rows) == []


def test_missing_key_needs_no_order():
    join = Join(within=10, how="left")
    assert taken(join, (0, 7, 9)) == []
    assert taken(join, (0, None, 3)) == [(1, NO_PARTNER)]


def test_late_row_is_not_emitted_with_or_without_a_key():
    join = Join(within=10, how="full", delay=2)
    assert taken(join, (0, 7, 90), (1, 8, 90)) == []
    assert taken(join, (0, None, 87), (1, 9, 87), (0, None, 88)) == [(4, NO_PARTNER)]
    told = counters_of(join)
    assert (told["late"], told["null"], told["unmatched"]) == ([0, 1], [2, 0], [1, 0])


def test_a_left_row_that_no_later_row_can_match_is_emitted_at_once():
    join = Join(within=(-9, -2), how="left")
    assert taken(join, (1, 7, 0), (0, 7, 1)) == [(1, NO_PARTNER)]  # 1 apart, and a window of 2 to 9
    assert taken(join, (0, 7, 5)) == [(2, 0)]
    assert counters_of(join)["expired"] == [2, 0]


def test_semi_gives_every_left_row_once():
    join = Join(within=10, how="semi")
    assert taken(join, (0, 7, 0), (1, 7, 1), (1, 7, 2), (0, 7, 3)) == [
        (0, NO_PARTNER),
        (3, NO_PARTNER),
    ]
    assert counters_of(join)["completed"] == [2, 0]
    assert join.held_rows.tolist() == [1, 2]


def test_first_takes_the_row_that_was_kept_first():
    join = Join(within=10, match="first")
    assert taken(join, (1, 7, 0), (1, 7, 1), (0, 7, 2), (0, 8, 3)) == [(2, 0)]
    assert taken(join, (1, 8, 4), (1, 8, 5)) == [(3, 4)]
    assert counters_of(join)["completed"] == [2, 0]


def test_one_uses_a_right_row_once():
    join = Join(within=10, match="one", how="full")
    assert taken(join, (1, 7, 0), (0, 7, 1), (0, 7, 2), (1, 7, 3)) == [(1, 0), (2, 3)]
    assert counters_of(join)["completed"] == [2, 2]
    assert join.held == 0


def test_goal_depends_on_the_kind():
    assert Join("fifo", 3, within=1).goal == "pairs"
    assert Join("fifo", 3, within=1, how="left").goal == "rows"
    assert Join("fifo", 3, within=1, match="first").goal == "rows"
    assert Join("fifo", 3, within=1, how="left", goal="pairs").goal == "pairs"


# ---------------------------------------------------------------- against the twin


@every_kind
@given(case=cases(), most=st.none() | st.integers(1, 40))
def test_the_twin_without_a_budget(how, match, case, most):
    batches, options = case
    follow("fifo", batches, None, how=how, match=match, most=most, **options)


@pytest.mark.parametrize("policy", ["lru"] if COMPILED else ["fifo", "lru"])
@every_kind
@given(case=cases(), budget=budgets, goal=st.sampled_from(["pairs", "rows", None]))
def test_the_twin_under_a_budget(how, match, policy, case, budget, goal):
    batches, options = case
    if COMPILED:
        goal = "pairs"
    follow(policy, batches, budget, how=how, match=match, goal=goal, **options)


@pytest.mark.parametrize("policy", ["prob", "rate", "clock"])
@plain
@given(case=cases(), budget=budgets, kind=kinds)
def test_the_twins_of_other_policies(policy, case, budget, kind):
    batches, options = case
    how, match = kind
    follow(policy, batches, budget, how=how, match=match, goal="pairs", **options)


@pytest.mark.parametrize("kind", FEW[:1] if COMPILED else FEW)
@given(data=st.data(), budget=st.none() | budgets, within=st.integers(1, 8))
def test_windows_by_count(kind, data, budget, within):
    how, match = kind
    batches = data.draw(cut(data.draw(streams(nulls=True, keys=4, most=60))))
    options = {"window": "count", "within": within, "goal": "pairs"}
    follow("lru", batches, budget, how=how, match=match, **options)


@given(data=st.data(), kind=kinds)
def test_intervals_of_validity(data, kind):
    how, match = kind
    batches = data.draw(cut(data.draw(streams(ends=True, keys=4, most=60, nulls=True))))
    follow("fifo", batches, None, how=how, match=match)


@plain
@given(case=cases(), budget=st.integers(2, 12), kind=kinds)
def test_split_memory(case, budget, kind):
    batches, options = case
    how, match = kind
    options |= {"layout": "split", "goal": "pairs"}
    follow("lru", batches, budget, how=how, match=match, **options)


@plain
@given(case=cases(), budget=st.integers(3, 30), kind=kinds)
def test_budgets_in_bytes(case, budget, kind):
    batches, options = case
    how, match = kind
    options |= {"sized": True, "goal": "pairs"}
    follow("lru", batches, budget, how=how, match=match, **options)


@plain
@given(case=cases(), budget=st.none() | budgets, kind=kinds, drop=st.floats(0, 0.9))
def test_dropped_rows(case, budget, kind, drop):
    batches, options = case
    how, match = kind
    options |= {"drop": drop, "seed": 3, "goal": "pairs"}
    follow("fifo", batches, budget, how=how, match=match, **options)


@plain
@given(case=cases(), kind=kinds, told=st.lists(st.integers(0, 90), min_size=4, max_size=4))
def test_streams_that_have_come_further_elsewhere(case, kind, told):
    batches, options = case
    how, match = kind
    if options["delay"] is None:
        return
    reached = {}

    def between(join):
        rest = reached.setdefault(type(join), list(told))
        if rest:
            join.advance([rest[0], rest.pop(0)])

    follow("fifo", batches, None, how=how, match=match, between=between, **options)


@given(case=cases(), kind=kinds, sizes=st.lists(st.integers(1, 9), min_size=4, max_size=4))
def test_resize_and_expire_tell_what_departed(case, kind, sizes):
    batches, options = case
    how, match = kind
    options |= {"how": how, "match": match, "goal": "pairs"}
    real, twin = Join("lru", 9, **options), NaiveHow(factory("lru"), 9, **options)
    for number, (batch, size) in enumerate(zip(batches, sizes, strict=True)):
        for join in (real, twin):
            join.resize(size)
            if options["within"] is not None:
                join.expire()
        if number == 1:
            real = Join.restore(real.save())  # what departed and was not told is kept
        if number != 2:
            assert Counter(results_of(real.departed())) == Counter(twin.departed())
            assert results_of(real.departed()) == []
        assert Counter(results_of(push_rows(real, batch))) == Counter(twin.push(batch))
        assert_same(real, twin)
    real.resize(3)
    twin.resize(3)
    assert Counter(results_of(real.finish())) == Counter(twin.finish())


@given(case=cases(), kind=kinds, most=st.integers(1, 10))
def test_parts_are_what_push_returns(case, kind, most):
    batches, options = case
    how, match = kind
    one, other = (Join("lru", 5, how=how, match=match, goal="pairs", **options) for _ in range(2))
    for batch in batches:
        for join in (one, other):
            join.resize(4)
            join.resize(5)
        parts = results_of(push_rows(one, batch, most=most))
        assert Counter(parts) == Counter(results_of(push_rows(other, batch)))
        assert counters_of(one) == counters_of(other)


@given(case=cases(), kind=kinds)
def test_results_that_are_counted_only(case, kind):
    batches, options = case
    how, match = kind
    one, other = (Join("lru", 5, how=how, match=match, goal="pairs", **options) for _ in range(2))
    for batch in batches:
        push_rows(one, batch)
        side, time = ([row[name] for row in batch] for name in ("stream", "time"))
        key = np.array([(row["keys"] or (0,))[0] for row in batch], np.int64)
        null = np.array([row["keys"] is None for row in batch], bool)
        other.push(np.array(side, np.int64), key, np.array(time, np.int64), null=null, emit=False)
        assert counters_of(one) == counters_of(other)
        assert results_of(other.departed()) == []


# ---------------------------------------------------------------- against nested loops


def run(policy, batches, budget, restore=(), **options):
    """Return all results of a join to its end, and the join."""
    join = Join(policy, budget, **options)
    found = []
    for number, batch in enumerate(batches):
        found += results_of(push_rows(join, batch))
        if number in restore:
            join = Join.restore(join.save())
    return found + results_of(join.finish()), join


def split(found):
    """Return pairs, left rows alone and right rows alone."""
    pairs = [(a, b) for a, b in found if NO_PARTNER not in (a, b)]
    return pairs, [a for a, b in found if b == NO_PARTNER], [b for a, b in found if a == NO_PARTNER]


@pytest.mark.parametrize("how", HOWS)
@given(case=cases())
def test_without_a_budget_it_is_the_exact_join(how, case):
    batches, options = case
    found, _ = run("fifo", batches, None, how=how, **options)
    rows = in_time(batches, options["delay"])
    assert Counter(found) == Counter(exact_results(rows, options["within"], how))


@every_kind
@given(case=cases())
def test_one_partner_without_a_budget(how, match, case):
    batches, options = case
    found, _ = run("fifo", batches, None, how=how, match=match, **options)
    rows = in_time(batches, options["delay"])
    exact = exact_pairs(rows, options["within"])
    pairs, lefts, _ = split(found)
    if how == "semi":  # with match="one" which rows have a partner depends on their order
        assert set(lefts) <= {a for a, _ in exact}
        assert match == "one" or set(lefts) == {a for a, _ in exact}
        return
    if how == "anti":
        assert set(lefts) >= {n for n, row in rows if row["stream"] == 0} - {a for a, _ in exact}
        return
    assert_preserved(how, rows, found)
    assert not Counter(pairs) - Counter(exact)
    singles = single_sides(how, match)
    for side, count in enumerate((Counter(a for a, _ in pairs), Counter(b for _, b in pairs))):
        assert side not in singles or max(count.values(), default=1) == 1
    free = (
        {a for a, b in exact} - {a for a, _ in pairs},
        {b for _, b in exact} - {b for _, b in pairs},
    )
    assert match == "one" or not free[0]
    assert not [(a, b) for a, b in exact if a in free[0] and b in free[1]]


def assert_preserved(how, rows, found):
    """Expect every preserved row in a pair, or once alone, and no other row alone."""
    pairs, *alone = split(found)
    for side in (0, 1):
        mine = {number for number, row in rows if row["stream"] == side}
        paired = {pair[side] for pair in pairs}
        if side in PRESERVED.get(how, ()):
            assert sorted(alone[side]) == sorted(mine - paired)
        else:
            assert alone[side] == []


@pytest.mark.parametrize("policy", POLICIES[:1] if COMPILED else [*POLICIES, "auto"])
@pytest.mark.parametrize(("how", "match"), [*FEW, ("inner", "one")])
@given(case=cases(), budget=budgets, goal=st.sampled_from(["pairs", "rows"]))
def test_no_preserved_row_is_lost_under_a_budget(policy, how, match, case, budget, goal):
    batches, options = case
    goal = "rows" if COMPILED else goal
    if policy == "auto" and options["within"] is None:
        options["within"] = 9
    options |= {"how": how, "match": match, "goal": goal}
    found, join = run(policy, batches, budget, restore=(1,), **options)
    recount(join)
    assert_conserved(join)
    assert_plausible(how, match, in_time(batches, options["delay"]), found, options["within"])


def assert_plausible(how, match, rows, found, within):
    """Expect what holds of the results at any budget."""
    exact = exact_pairs(rows, within)
    if how == "semi":
        assert not Counter(found) - Counter(exact_results(rows, within, how))
    elif how == "anti":
        pairs, lefts, rights = split(found)
        assert not pairs
        assert not rights
        assert not Counter(exact_results(rows, within, how)) - Counter(found)
        assert max(Counter(lefts).values(), default=1) == 1
    else:
        assert_preserved(how, rows, found)
        pairs, _, _ = split(found)
        assert not Counter(pairs) - Counter(exact)
        for side in single_sides(how, match):
            count = Counter(pair[side] for pair in pairs)
            assert max(count.values(), default=1) == 1


@long
@pytest.mark.slow  # all policies of auto are compiled
@pytest.mark.parametrize(("how", "match"), [("full", "all"), ("anti", "all"), ("left", "first")])
def test_nothing_is_lost_when_auto_changes_policies_and_the_budget_changes(how, match):
    rng = np.random.default_rng(5)
    n, within = 60_000, (-300, 2500)
    side = rng.integers(0, 2, n)
    key = np.where(side == 1, rng.zipf(1.3, n) % 1000, rng.integers(0, 1000, n))
    key[n // 2 :] = rng.integers(0, 500, n - n // 2)  # another stream from here on
    null = rng.random(n) < 0.01
    join = Join("auto", 300, within=within, how=how, match=match)
    found = []
    for number, start in enumerate(range(0, n, 5000)):
        part = slice(start, start + 5000)
        time = np.arange(start, start + 5000)
        found += results_of(join.push(side[part], key[part], time, null=null[part]))
        if number % 4 == 1:
            join.resize(100 + 50 * number)
        if number % 4 == 2:
            join = Join.restore(join.save(), budget=400 - 20 * number)
        if number % 4 == 3:
            found += results_of(join.departed())
        recount(join)
        assert_conserved(join)
    found += results_of(join.finish())
    pairs, lefts, rights = (np.array(each, np.int64) for each in split(found))
    if len(pairs):
        left, right = pairs.T
        assert (key[left] == key[right]).all()
        assert (side[left] == 0).all()
        assert (side[right] == 1).all()
        assert not (null[left] | null[right]).any()
        apart = right - left
        assert within[0] <= apart.min() <= apart.max() <= within[1]
        assert len({tuple(pair) for pair in pairs.tolist()}) == len(pairs)
    if how == "anti":
        exact = Join(within=within, how="semi")
        partner = exact.push(side, key, np.arange(n), null=null).rows[:, 0]
        assert set(np.flatnonzero(side == 0)) - set(partner) <= set(lefts)
        assert len(set(lefts)) == len(lefts) == counters_of(join)["unmatched"][0]
        return
    for number, alone in enumerate((lefts, rights)):
        mine = np.flatnonzero(side == number)
        rest = np.setdiff1d(mine, pairs[:, number])
        expected = rest if number in PRESERVED[how] else []
        assert np.sort(alone).tolist() == list(expected)
    assert len(pairs) > 5000


@given(case=cases(), budget=budgets, kind=kinds)
def test_another_budget_after_a_restart_loses_no_row(case, budget, kind):
    batches, options = case
    how, match = kind
    join = Join("lru", 9, how=how, match=match, goal="pairs", **options)
    found = []
    for number, batch in enumerate(batches):
        found += results_of(push_rows(join, batch))
        if number == 0:
            join = Join.restore(join.save(), budget=budget)
        elif number == 1:
            policy = "lru" if COMPILED else "fifo"
            join = Join.restore(join.save(), budget=max(1, budget // 2), policy=policy)
        elif number == 2:
            join = Join.restore(join.save(), budget=None)
        recount(join)
        assert_conserved(join)
    found += results_of(join.finish())
    assert_plausible(how, match, in_time(batches, options["delay"]), found, options["within"])


@given(rows=streams(nulls=True), kind=kinds)
def test_cuts_change_nothing(rows, kind):
    """Of rows in order the results are the same, however they are cut into batches."""
    how, match = kind
    rows = sorted(rows, key=lambda row: (row["time"], row["stream"]))
    options = {"within": (-2, 9), "how": how, "match": match, "goal": "pairs"}
    whole, _ = run("lru", [rows], 6, **options)
    single, _ = run("lru", [[row] for row in rows], 6, **options)
    assert Counter(whole) == Counter(single)


def test_bounds_at_the_end_of_the_numbers():
    far = 2**62
    least, most = -(2**63), 2**63 - 1
    times = {
        (-5, 7, far + far // 2, far + far // 2): [(-far, far), (0, far), (-far, 0), None],
        (least, least + 9, 0, most): [(5, 30), (-30, -5), (0, 9)],
    }
    for time, within in ((time, each) for time, some in times.items() for each in some):
        join = Join(within=within, how="full")
        side = [0, 1, 0, 1]
        found = results_of(join.push(side, [1, 1, 1, 1], time))
        found += results_of(join.finish())
        rows = [
            (n, {"stream": s, "keys": (1,), "time": t})
            for n, (s, t) in enumerate(zip(side, time, strict=True))
        ]
        assert Counter(found) == Counter(exact_results(rows, within, "full"))


# ---------------------------------------------------------------- wrong values


def test_wrong_values_are_refused():
    three = all_streams(3)
    wrong = [
        ({"how": "outer"}, "how must be"),
        ({"how": "cross"}, "how must be"),
        ({"match": "any"}, "match must be"),
        ({"match": None}, "match must be"),
        ({"within": (3, 2)}, "within"),
        ({"within": (1, 2, 3)}, "within"),
        ({"within": (0.5, 2)}, "within"),
        ({"within": ("0", "2")}, "within"),
        ({"within": (None, 2)}, "within"),
        ({"within": (0, 5), "window": "count"}, "within|count"),
        ({"within": 3, "how": "left", "together": True}, "together"),
        ({"within": 3, "match": "first", "together": True}, "together"),
        ({"within": 3, "how": "left", "joins": three}, "two streams"),
        ({"within": 3, "match": "one", "joins": three}, "two streams"),
        ({"within": 3, "how": "left", "goal": "clicks"}, "goal must be"),
    ]
    for options, message in wrong:
        with pytest.raises(BadInput, match=message):
            Join("lru", 5, **options)


def test_three_streams_know_no_departures():
    join = Join(within=3, joins=all_streams(3))
    assert join.goal == "pairs"
    assert len(join.departed().rows) == len(join.finish().rows) == 0
    assert join.counters["completed"].tolist() == [0, 0, 0]
