"""AUTO: the twin in every shape, what may not matter, and its parts.

Constants are made small in both, so that within a few hundred rows keys are sampled, candidates
sleep and wake, and policies and layouts change. Every candidate is a kernel to compile in each
layout: minutes in all. So all candidates are tried as plain Python, and two of them compiled.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine import Join, Lookup, footprint
from penstock.engine.adapt import chooser, miniatures, pilot
from penstock.engine.shares import moved
from penstock.kernel.policy import Trial
from penstock.policies import families, registry
from tests.compare import assert_same_join, assert_same_lookup, push_rows
from tests.marks import UNFIT, plain
from tests.naive import choosing as naive
from tests.naive import tuning as naive_tuning
from tests.recount import recount

SMALL = {"FIRST": 8, "LOOKS": 12, "FEWEST": 2, "SURE": 0.25, "TURN": 1.0}
SMALL |= {"LATELY": 30, "BEHIND": 0.0, "DOUBT": 0.5, "RECENT": 2, "REST": 24, "BEGIN": 48}
CHAIN = (((0, 0), (1, 0)), ((1, 0), (2, 0)))
# Each with a seed that leads to several changes, and the layout in the end where it is fixed.
SHAPES = [
    ({}, 10, None),
    ({"params": {"split": "no"}}, 0, "unified"),
    ({"layout": "split"}, 0, "split"),
    ({"layout": "split", "shares": [0.8, 0.2]}, 2, "split"),
    ({"delay": 3}, 0, None),
    ({"together": True}, 10, None),
    ({"sized": True}, 7, None),
    ({"window": "count"}, 2, None),
    ({"joins": CHAIN}, 0, None),
    ({"drop": 0.2}, 1, None),
]


def patch(monkeypatch, **constants):
    """Set constants in the package and in the twin."""
    for name, value in constants.items():
        monkeypatch.setattr(naive, name, value)
        monkeypatch.setattr(chooser, name, value)


def sample(monkeypatch, room):
    """Let miniatures hold so many tuples, in the package and in the twin."""
    for module in (footprint, naive_tuning):
        monkeypatch.setattr(module, "ROOM", room)


@pytest.fixture
def small(monkeypatch):
    """Make everything happen within some hundred rows, in miniatures of 8 tuples."""
    patch(monkeypatch, **SMALL)
    sample(monkeypatch, 8)
    patch(monkeypatch, HOT=1 / 8)
    for module in (miniatures, naive):
        monkeypatch.setattr(module, "RING_FEWEST", 64)


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
@pytest.mark.parametrize(("options", "seed", "fixed"), SHAPES, ids=str)
def test_joins_as_its_twin_in_every_shape(small, options, seed, fixed):
    facts = joined_as_twin(options, seed).explain()
    assert facts["switches"] >= 2  # else little of it would have been tried
    assert fixed in (None, facts["layout"])


@plain
@pytest.mark.parametrize("options", [{}, {"together": True}, {"drop": 0.2}], ids=str)
def test_joins_as_its_twin_where_the_engine_stands_in_for_a_miniature(small, options, monkeypatch):
    sample(monkeypatch, 12)  # all keys
    assert joined_as_twin(options, 3).explain()["switches"] >= 2


def test_two_candidates_join_as_their_twins(small, monkeypatch):
    two = [
        replace(policy, auto={"joining": Trial(rank)})
        for rank, policy in enumerate((registry.FIFO, registry.LRU))
    ]
    monkeypatch.setattr(registry, "known", lambda: tuple(two))
    monkeypatch.setattr(naive, "JOINING", [[("fifo", {})], [("lru", {})]])
    facts = joined_as_twin({"params": {"split": "no"}}, 5).explain()
    assert facts["switches"] >= 2


@plain
@given(seed=st.integers(0, 2**32), budget=st.integers(2, 30), within=st.integers(5, 80))
@settings(max_examples=4, suppress_health_check=UNFIT)
def test_joins_as_its_twin_on_any_stream(small, seed, budget, within):
    rows = pieces(drawn(seed, 200))
    assert_same_join("auto", rows, budget, within=within, restore=True, seed=seed)


@plain
def test_miniatures_that_cost_too_much_rest_as_in_the_twin(small, monkeypatch):
    patch(monkeypatch, FREE=500, ALLOWED=2.0, ROUND=20)
    join = Join("auto", 12, within=30)
    rested = []
    for row in drawn(3):
        push_rows(join, [row])
        rested.append(join.explain()["resting"])
    assert {True, False} == set(rested[-300:])  # they rest and are woken again
    joined_as_twin({}, 3)


@plain
def test_policies_that_go_by_the_order_of_keys_come_in_as_in_the_twin(small, monkeypatch):
    sample(monkeypatch, 12)  # all keys
    patch(monkeypatch, BEHIND=9.0, BEGIN=1000)  # nobody is put to sleep
    walk = np.cumsum(np.random.default_rng(4).integers(-2, 3, 240)).tolist()
    rows = [{"stream": n % 2, "keys": (key,), "time": n} for n, key in enumerate(walk)]
    # The twin of HEEB ends where HEEB begins to learn.
    join = assert_same_join("auto", [rows[:100], rows[100:]], 12, within=30, restore=True)
    assert "heeb" in join.explain()["scores"]


@plain
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_caches_as_its_twin(small, seed):
    keys = [row["keys"][0] for row in drawn(seed)]
    cache = assert_same_lookup("auto", [keys[:111], keys[111:300], keys[300:]], 12, restore=True)
    assert cache.explain()["switches"] >= 2


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
def test_no_more_is_held_than_allowed_while_memories_move(small, stream):
    join, layouts = Join("auto", 12, within=30), []
    for side, key, time in zip(*stream, strict=True):
        join.push([side], [key], [time])
        recount(join)
        assert join.used <= 12
        layouts.append(join.explain()["layout"])
    assert {"unified", "split"} == set(layouts)


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
    sampled = saved["tuner.numbers"][3]
    assert saved["tuner.own"][-1] * sampled == after.results - results


@pytest.mark.parametrize("kind", ["join", "cache"])
def test_beside_a_very_small_budget_nothing_is_tried(kind):
    engine = Join("auto", 150, sized=True) if kind == "join" else Lookup("auto", 1)
    facts = engine.explain()
    assert facts["in_force"] == "rate"
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
    assert facts["scores"] == facts["errors"] == {}
    assert facts["why"].startswith(
        "too few rows to learn from so far (2 sampled): rate is in force"
    )


def test_without_a_budget_nothing_is_to_be_chosen():
    assert Join(within=30).explain()["why"] == "there is no budget"


# Parts


@given(batches=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=9), max_size=90))
def test_a_ring_holds_the_last_rows(batches):
    kept, rows = miniatures.Ring(7), []
    for number, batch in enumerate(batches):
        kept.add((np.array(batch), -np.array(batch)))
        rows += batch
        if number % 20 == 0:
            after = miniatures.Ring(7)
            after.load(kept.save())
            kept = after
        assert kept.columns()[0].tolist() == rows[-7:]
        assert (kept.columns()[1] == -kept.columns()[0]).all()


@given(keys=st.lists(st.integers(0, 40), max_size=400), held=st.lists(st.integers(0, 40)))
def test_hot_keys(keys, held):
    found = chooser.hot_keys(np.array(keys, np.int64), 0.5)
    assert found.tolist() == sorted(naive.hot_keys(keys))
    cold = chooser.cold_share(np.array(held, np.int64), found)
    assert cold == pytest.approx(naive.cold_share(held, set(found.tolist())))
    assert chooser.hot_keys(np.array(keys, np.int64), 1.0).size == 0


@given(seed=st.integers(0, 2**32), length=st.integers(0, 200), spread=st.integers(1, 400))
def test_order(seed, length, spread):
    random = np.random.default_rng(seed)
    keys = np.arange(length) + random.integers(0, spread, length)
    assert chooser.looks_ordered(keys) == naive.look_ordered(keys.tolist())


@given(data=st.data(), lanes=st.integers(1, 3), total=st.integers(3, 60))
def test_memories_move_to_their_sizes(data, lanes, total):
    def parts(most):
        cut = st.lists(st.integers(0, most), min_size=lanes - 1, max_size=lanes - 1)
        cuts = sorted(data.draw(cut))
        return [b - a for a, b in zip([0, *cuts], [*cuts, most], strict=True)]

    target = parts(total)
    used = budget = parts(data.draw(st.integers(0, total)))
    for _ in range(2 * total):
        before = budget
        budget = moved(np.array(used), np.array(before), np.array(target)).tolist()
        assert budget == naive.moved(used, before, target)
        assert sum(max(pair) for pair in zip(used, budget, strict=True)) <= total
        used = [min(pair) for pair in zip(used, budget, strict=True)]  # newcomers came
    assert budget == target


def named(each):
    """Return a candidate of the package as the twin writes it."""
    return each.family, each.chosen.policy.name, each.chosen.params, each.shares


@pytest.mark.parametrize("streams", [2, 3])
def test_the_candidates_are_those_of_the_twin(streams):
    real = miniatures.candidates(families("joining", True, True), streams, split=True)
    twin = naive.candidates(naive.JOINING, [None, *naive.layouts_of(streams)])
    assert [named(each) for each in real] == [
        (each.family, each.name, each.params, each.shares) for each in twin
    ]
    for one, other in zip(real, twin, strict=True):
        assert one.chosen.policy.cost == other.cost
        assert one.chosen.policy.ordered == other.by_order
        for two, another in zip(real, twin, strict=True):
            assert miniatures.are_neighbours(one, two) == other.is_neighbour_of(another)


def test_the_candidates_of_caches_are_those_of_the_twin():
    real = miniatures.candidates(families("caching", True, False), 1, split=False)
    twin = naive.candidates(naive.CACHING, [None])
    assert [named(each)[:3] for each in real] == [
        (each.family, each.name, each.params) for each in twin
    ]
    assert [each.chosen.policy.cost for each in real] == [each.cost for each in twin]


def test_the_constants_are_those_of_the_twin():
    for module in (chooser, miniatures):
        names = set(vars(naive)) & {name for name in vars(module) if name.isupper()}
        assert {name: getattr(module, name) for name in names} == {
            name: getattr(naive, name) for name in names
        }
        assert {"HOT", "ORDER_FEWEST"} <= names or {"RING_FEWEST", "RING_MOST"} <= names
    assert (naive_tuning.ROOM, naive.PART) == (miniatures.ROOM, pilot.PART)
