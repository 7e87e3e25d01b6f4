"""AUTO: the twin in every shape, what may not matter, and its parts.

Constants are made small in both, so that within a few hundred rows keys are sampled, challengers
are dropped, trials end and begin, and policies change. Every policy is a kernel to compile: minutes
in all. So all are tried as plain Python, and two of them compiled.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import policies
from penstock.engine import Join, Lookup, footprint
from penstock.engine.adapt import chooser, shadows
from penstock.kernel.policy import Trial
from tests.compare import assert_same_join, assert_same_lookup, push_rows, set_rules
from tests.marks import UNFIT, plain, some
from tests.naive import choosing as naive
from tests.recount import recount

SMALL = {"FIRST": 8, "ROUND": 2, "TURN": 0.01, "SHOWN": 1.0, "SPEND": 1.0, "WARM": 30}
SMALL |= {
    "FEWEST": 2,
    "SURE": 0.2,
    "SURE_JOINING": 0.25,
    "LOOKS": 12,
    "RECENT": 2,
    "HOT": 1 / 8,
    "REST": 10.0,
}
CHAIN = (((0, 0), (1, 0)), ((1, 0), (2, 0)))
SHAPES = [
    ({}, 3),
    ({"layout": "split"}, 0),
    ({"layout": "split", "shares": [0.8, 0.2]}, 2),
    ({"delay": 3}, 0),
    ({"together": True}, 7),
    ({"sized": True}, 7),
    ({"window": "count"}, 2),
    ({"joins": CHAIN}, 0),
    ({"drop": 0.2}, 1),
]


@pytest.fixture
def small(monkeypatch):
    """Make everything happen within some hundred rows, in shadow caches of 8 tuples."""
    for name, value in SMALL.items():
        monkeypatch.setattr(chooser, name, value)
    monkeypatch.setattr(footprint, "ROOM", 8)
    monkeypatch.setattr(shadows, "RING_FEWEST", 64)


def drawn(seed, length=450, streams=2):
    """Return rows by three laws in turn: recency, popularity, one stream that asks the other."""
    random = np.random.default_rng(seed)
    rows, now = [], 0
    for number in range(length):
        now += int(random.integers(0, 3))
        stream = int(random.integers(0, streams))
        if 3 * number < length:
            key = now // 8 - int(random.integers(0, 4))
        elif 3 * number < 2 * length:
            key = int(min(random.zipf(1.5), 30))
        else:
            stream = int(random.random() < 0.85) if streams == 2 else stream
            key = int(random.integers(0, 12))
        key = key * 7919 % 10_007  # names, whose order means nothing
        rows.append({"stream": stream, "keys": (key,), "time": now, "size": 90 + number % 20})
    return rows


def pieces(rows, count=9):
    """Cut rows, but not between rows of one time."""
    ends = [rows[len(rows) * place // count]["time"] for place in range(1, count)]
    return [
        [row for row in rows if low < row["time"] <= high]
        for low, high in zip([-1, *ends], [*ends, math.inf], strict=True)
    ]


def joined_as_twin(options, seed, length=450):
    options = {"within": 9 if "window" in options else 30} | options
    rows = drawn(seed, length, streams=3 if "joins" in options else 2)
    budget = 1200 if options.get("sized") else 12
    return assert_same_join("auto", pieces(rows), budget, restore=True, seed=seed, **options)


@plain
@pytest.mark.parametrize("shape", some(SHAPES, SHAPES[::2]), ids=str)
def test_joins_as_its_twin_in_every_shape(small, shape):
    options, seed = shape
    facts = joined_as_twin(options, seed).explain()
    assert facts["switches"] >= 2  # else little of it would have been tried
    assert facts["layout"] == options.get("layout", "unified")


@plain
@pytest.mark.parametrize("options", [{}, {"together": True}, {"drop": 0.2}], ids=str)
def test_joins_as_its_twin_where_all_keys_are_sampled(small, options, monkeypatch):
    monkeypatch.setattr(footprint, "ROOM", 12)
    assert joined_as_twin(options, 3).explain()["switches"] >= 2


def test_two_policies_join_as_their_twins(small, monkeypatch):
    two = [
        replace(policy, auto={"joining": Trial(rank)})
        for rank, policy in enumerate((policies.FIFO, policies.LRU))
    ]
    monkeypatch.setattr(policies, "known", lambda: tuple(two))
    facts = joined_as_twin({}, 5).explain()
    assert facts["switches"] >= 1


@plain
@given(seed=st.integers(0, 2**32), budget=st.integers(2, 30), within=st.integers(5, 80))
@settings(max_examples=4, suppress_health_check=UNFIT)
def test_joins_as_its_twin_on_any_stream(small, seed, budget, within):
    rows = pieces(drawn(seed, 200))
    assert_same_join("auto", rows, budget, within=within, restore=True, seed=seed)


@plain
def test_shadow_caches_that_cost_too_much_rest_until_they_are_paid_for(small, monkeypatch):
    for name, value in {
        "SPEND": 0.5,
        "FREE": 0.0,
        "ADVANCE": 0.0,
        "SURE": 50.0,
        "SURE_JOINING": 50.0,
    }.items():
        monkeypatch.setattr(chooser, name, value)
    join = Join("auto", 12, within=30)
    rested = []
    for row in drawn(3):
        push_rows(join, [row])
        rested.append(join.explain()["resting"])
    assert {True, False} == set(rested[30:])
    joined_as_twin({}, 3)


@plain
def test_a_policy_that_goes_by_the_order_of_keys_takes_over_at_first_as_in_the_twin(
    small, monkeypatch
):
    monkeypatch.setattr(footprint, "ROOM", 12)  # all keys
    for name, value in {
        "FIRST": 64,
        "SURE": 50.0,
        "SURE_JOINING": 50.0,
    }.items():  # nothing else does
        monkeypatch.setattr(chooser, name, value)
    walk = np.cumsum(np.random.default_rng(4).integers(-2, 3, 240)).tolist()
    rows = [{"stream": n % 2, "keys": (key,), "time": n} for n, key in enumerate(walk)]
    # The twin of HEEB ends where HEEB begins to learn.
    join = assert_same_join("auto", [rows[:100], rows[100:]], 12, within=30, restore=True)
    facts = join.explain()
    assert (facts["in_force"], facts["since"], facts["switches"]) == ("heeb", 64, 1)
    assert facts["why"] == "keys that follow each other are near each other, which heeb uses"
    assert "rate" in facts["scores"]


def test_nothing_is_fitted_to_keys_without_an_order(small):
    join = Join("auto", 12, within=30)
    for row in drawn(3, 60):
        push_rows(join, [row])
    assert "heeb" not in join.explain()["scores"]
    assert not any(each.policy.ordered for each in Lookup("auto", 9).chooser.candidates)


@plain
@pytest.mark.parametrize("seed", [0, 3, 4])
def test_caches_as_its_twin(small, seed):
    keys = [row["keys"][0] for row in drawn(seed)]
    cache = assert_same_lookup("auto", [keys[:111], keys[111:300], keys[300:]], 12, restore=True)
    assert cache.explain()["switches"] >= 2


@plain
@pytest.mark.parametrize("options", [{}, {"sized": True}], ids=str)
def test_where_costs_differ_what_weighs_them_takes_over_whatever_the_cuts(
    small, options, monkeypatch
):
    monkeypatch.setattr(chooser, "SURE", 1.0)
    keys = np.random.default_rng(2).zipf(1.2, 900) % 60
    given = {"cost": np.where(keys % 4 == 0, 50, 1)}
    if options:
        given["size"] = 1 + keys % 3
    budget = 24 if options else 12
    whole, cut = (Lookup("auto", budget, goal="costs", scale=12, **options) for _ in range(2))
    hit = whole.push(keys, **given).hit
    found = []
    for first in range(0, len(keys), 50):
        part = slice(first, first + 50)
        cut = Lookup.restore(cut.save())
        some = {name: each[part] for name, each in given.items()}
        found += cut.push(keys[part], **some).hit.tolist()
    assert found == hit.tolist()
    assert cut.explain() == whole.explain()
    assert whole.attained == given["cost"][hit].sum()
    assert "gdsf" in map(str, whole.chooser.candidates)
    assert whole.explain()["in_force"] == "gdsf"


@pytest.fixture
def stream():
    """Return side, key and time of a stream that changes its nature."""
    rows = [(row["stream"], row["keys"][0], row["time"]) for row in drawn(9)]
    rows.sort(key=lambda row: (row[2], row[0]))  # as a batch would be
    return tuple(np.array(column) for column in zip(*rows, strict=True))


@plain
def test_neither_cuts_nor_restores_matter(small, stream):
    side, key, time = stream
    whole = Join("auto", 12, within=30)
    expected = whole.push(side, key, time).rows.tolist()
    cut, found = Join("auto", 12, within=30), []
    for place in range(0, len(key), 7):
        part = slice(place, place + 7)
        found += cut.push(side[part], key[part], time[part]).rows.tolist()
        cut = Join.restore(cut.save()) if place % 3 == 0 else cut
    assert found == expected
    assert cut.explain() == whole.explain()
    assert whole.explain()["switches"] >= 2


@plain
def test_results_are_among_those_of_an_exact_join(small, stream):
    found = Join("auto", 12, within=30).push(*stream).rows.tolist()
    exact = {tuple(pair) for pair in Join(within=30).push(*stream).rows.tolist()}
    assert len(found) == len({tuple(pair) for pair in found})
    assert {tuple(pair) for pair in found} < exact


@plain
def test_another_budget_keeps_the_choice_and_begins_to_judge_anew(small, stream):
    side, key, time = stream
    join = Join("auto", 12, within=30)
    join.push(side, key, time)
    after = Join.restore(join.save(), budget=16)
    assert after.in_force == join.in_force
    assert after.layout == join.layout
    assert after.explain()["rows"] == 0
    results = after.results
    for place in range(len(key)):
        after.push(side[place : place + 1], key[place : place + 1], time[-1:] + place + 1)
        if after.explain()["rows"]:
            break
    recount(after)
    saved = after.save()
    found = saved["tuner.usual"][-1] * after.explain()["rows"]
    assert found == pytest.approx(after.results - results)


@pytest.mark.parametrize("kind", ["join", "cache"])
def test_beside_a_very_small_budget_nothing_is_tried(kind):
    engine = Join("auto", 150, sized=True) if kind == "join" else Lookup("auto", 1)
    facts = engine.explain()
    assert facts["in_force"] == ("rate" if kind == "join" else "s3fifo")
    assert facts["why"].startswith("a budget of 1 row is too small to try anything out")


@plain
def test_a_budget_may_become_too_small_to_try_anything_and_large_again(small, stream, monkeypatch):
    side, key, time = stream
    join = Join("auto", 12, within=30)
    for row in range(len(key)):
        join.push(side[row : row + 1], key[row : row + 1], time[row : row + 1])
        if str(join.in_force) != "rate":
            break
    assert str(join.in_force) != "rate"
    monkeypatch.setattr(chooser, "SMALLEST", 4)
    little = Join.restore(join.save(), budget=3)
    assert little.held <= 3
    assert little.explain()["in_force"] == "rate"
    again = Join.restore(little.save(), budget=12)
    again.push(side, key, time + int(time[-1]))
    recount(again)
    assert again.explain()["rows"] > 0


def test_of_too_short_a_stream_nothing_is_known_yet():
    join = Join("auto", 12, within=30)
    join.push([0, 1], [7, 7], [0, 1])
    facts = join.explain()
    assert facts["in_force"] == "rate"
    assert (facts["rows"], facts["switches"]) == (0, 0)
    assert facts["scores"] == {"rate": 1.0}
    assert facts["errors"] == {"rate": 0.0}
    assert facts["why"].startswith(
        "too few rows to learn from so far (2 sampled): rate is in force"
    )


def test_without_a_budget_nothing_is_to_be_chosen():
    assert Join(within=30).explain()["why"] == "there is no budget"


# Parts


@given(batches=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=9), max_size=90))
def test_a_ring_holds_the_last_rows(batches):
    kept, rows = shadows.Ring(7), []
    for number, batch in enumerate(batches):
        kept.add((np.array(batch), -np.array(batch)))
        rows += batch
        if number % 20 == 0:
            after = shadows.Ring(7)
            after.load(kept.save())
            kept = after
        assert kept.last()[0].tolist() == rows[-7:]
        assert kept.last(3)[0].tolist() == rows[-3:]
        assert (kept.last()[1] == -kept.last()[0]).all()


@given(keys=st.lists(st.integers(0, 40), max_size=400), held=st.lists(st.integers(0, 40)))
def test_hot_keys(keys, held):
    set_rules()
    found = chooser.hot_keys(np.array(keys, np.int64))
    assert found.tolist() == sorted(naive.hot_keys(keys))
    cold = chooser.cold_share(np.array(held, np.int64), found)
    assert cold == pytest.approx(naive.cold_share(held, set(found.tolist())))


@given(seed=st.integers(0, 2**32), length=st.integers(0, 200), spread=st.integers(1, 400))
def test_order(seed, length, spread):
    set_rules()
    random = np.random.default_rng(seed)
    keys = np.arange(length) + random.integers(0, spread, length)
    assert chooser.looks_ordered(keys) == naive.look_ordered(keys.tolist())
