"""Sources and caches as state machines, and what they promise whatever happens in between."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInput, BadState
from penstock.precision import Cache, Query, Recorded, Source, Workload, make_costs, replay
from penstock.precision.interval_source import draw
from penstock.precision.rule import ABOVE, ASKED, BELOW, SPOKE, WHY
from penstock.precision.rules import ALL
from penstock.precision.simulator_kernel import random_stream

LIVE = [rule.name for rule in ALL if not rule.counts_reads]
TEXTS = st.sampled_from(
    ["adaptive", "adaptive:tau_0=1,tau_inf=6", "settling", "static:width=3", "uncentred"]
    + ["growing", "growing:drift=true", "majority:r=3"]
)
VALUES = st.floats(-1e6, 1e6)


def contains(interval, value, now):
    low, high = interval.bounds(now)
    return low <= value <= high


def settled(rule="static:width=4", value=20.0, **options):
    source = Source("boiler", value, rule=rule, **options)
    return source, source.subscribe("here", now=0)


def test_a_case_by_hand():
    source, first = settled("adaptive:width=4")
    assert (first.interval[:2], first.why, first.number) == ((18, 22), SPOKE, 1)
    assert source.update(22.0, now=1) == {}
    up = source.update(22.5, now=2)["here"]
    assert (up.interval[:2], up.why, up.rank, up.number) == ((18.5, 26.5), ABOVE, 8.0, 2)
    down = source.update(0.0, now=3)["here"]
    assert (down.interval[:2], down.why) == ((-8, 8), BELOW)
    asked = source.ask("here", now=4)
    assert (asked.interval[:2], asked.why, asked.value) == ((-4, 4), ASKED, 0.0)


@given(rule=TEXTS, values=st.lists(VALUES, max_size=40), asks=st.sets(st.integers(0, 40)))
def test_the_last_interval_always_contains_the_value(rule, values, asks):
    source, refresh = settled(rule, limits=[] if "growing" in rule else [0, 100])
    for now, value in enumerate(values, 1):
        refresh = source.update(value, now).get("here", refresh)
        assert contains(refresh.interval, value, now)
        if now in asks:
            refresh = source.ask("here", now, need=1.0)
            assert contains(refresh.interval, value, now)
            assert refresh.value == value


@given(
    limits=st.lists(st.integers(-5, 5), max_size=3),
    values=st.lists(st.integers(-7, 7), min_size=1, max_size=30),
)
def test_no_interval_straddles_a_limit(limits, values):
    source, refresh = settled("static:width=9", values[0], limits=limits)
    for now, value in enumerate(values, 1):
        refresh = source.update(float(value), now).get("here", refresh)
        low, high = refresh.interval[:2]
        for limit in limits:
            assert (low >= limit) == (high >= limit) == (value >= limit)


def test_a_source_speaks_at_least_so_often():
    source, _ = settled(max_silence=10)
    assert source.next_deadline() == 10
    assert source.tick(9.9) == {}
    beat = source.tick(10)["here"]
    assert (beat.why, beat.interval[:2], beat.sent) == (SPOKE, (18, 22), 10)
    source.update(30, now=15)  # that counts as speaking
    assert source.next_deadline() == 25
    assert source.update(30, now=25)["here"].why == SPOKE


def test_a_heartbeat_does_not_change_the_width():
    for rule in LIVE:
        source, first = settled(rule, max_silence=1)
        for now in range(1, 9):
            assert source.tick(now)["here"].rank == first.rank


def test_a_drifting_interval_is_renewed_in_time():
    source = Source("tide", 0.0, rule="growing:drift=true,width=4")
    source.subscribe("here", now=0)
    sent = [source.update(float(now), now) for now in range(1, 6)]
    assert sum(map(len, sent)) > 0
    deadline = source.next_deadline()  # the value stops: the bounds go on without it
    assert 5 < deadline < math.inf
    assert source.tick(deadline - 0.1) == {}
    assert source.tick(deadline)["here"].why in (ABOVE, BELOW)


def test_each_cache_has_widths_of_its_own():
    source = Source("boiler", 0.0, rule="adaptive:width=4")
    source.subscribe("calm", now=0)
    source.subscribe("nosy", now=0)
    for now in range(1, 4):
        source.ask("nosy", now)
    assert list(source.save()["lines"]) == ["calm", "nosy"]
    assert list(source.update(1.0, now=5)) == ["nosy"]  # its interval is 0.5 wide by now
    assert set(source.update(3.0, now=6)) == {"calm", "nosy"}
    source.forget("calm")
    assert list(source.update(99.0, now=7)) == ["nosy"]


@given(rule=TEXTS, values=st.lists(VALUES, max_size=30), cut=st.integers(0, 30))
def test_a_restored_source_goes_on(rule, values, cut):
    source, _ = settled(rule, costs=make_costs(4, 2), max_silence=7, seed=5)
    for now, value in enumerate(values, 1):
        if now == cut:
            source = Source.restore(source.save())
        twin = Source.restore(source.save())
        assert source.update(value, now) == twin.update(value, now)
        if now % 3 == 0:
            assert source.ask("here", now) == twin.ask("here", now)
    assert source.next_deadline() == Source.restore(source.save()).next_deadline()


@pytest.mark.parametrize("rule", LIVE)
def test_a_source_does_what_the_simulator_does(rule):
    random = np.random.default_rng(7)
    times = np.arange(0.0, 200.0)
    values = np.cumsum(random.uniform(-1.5, 1.5, 200))
    workload = Workload(period=3, delta=6, seed=9)
    recorded = Recorded(times, np.zeros(200, int), values)
    expected = replay(rule, workload, recorded, log=999).refreshes
    source = Source("a", values[0], rule=rule, seed=0)
    source.subscribe("c", now=0)
    source._lines["c"].rng = random_stream(9, 2, 0)
    asked = {row["time"] for row in expected if WHY[row["why"]] == "asked"}
    needs = iter(_needs(workload, len(times) // 3 + 1))
    found = []
    for now in times:
        found += source.update(float(values[int(now)]), now).values()
        if now % 3 == 0 and now > 0:
            need = next(needs)
            if now in asked:
                found.append(source.ask("c", now, need=need))
    found = [each for each in found if each.sent < times[-1]]
    kept = [row for row in expected if row["time"] < times[-1]]
    assert [(each.sent, each.why) for each in found] == [(row["time"], row["why"]) for row in kept]
    ends = [(row["low"], row["high"]) for row in kept]
    assert np.allclose([each.interval[:2] for each in found], ends, rtol=1e-9)


def _needs(workload, n):
    """Draw the constraints as the simulator does; of a single value they are its needs."""
    rng = random_stream(workload.seed, 1, 0)
    return [draw(rng) * 2 * workload.delta for _ in range(n)]


def test_the_interval_of_the_largest_original_width_is_evicted():
    sources = {
        key: Source(key, 0.0, rule=f"adaptive:width={width},tau_0=3")
        for key, width in {"a": 1.0, "b": 2.0, "c": 8.0}.items()
    }
    cache = Cache(capacity=2)
    for source in sources.values():
        cache.receive(source.subscribe("here", now=0))
    assert cache.keys == ("a", "b", "c")
    assert cache.bounds("c", 0) == (-math.inf, math.inf)  # the newcomer was the widest itself
    cache.receive(sources["c"].ask("here", now=1))  # 4 now: still the widest
    cache.receive(sources["c"].ask("here", now=2))
    cache.receive(sources["c"].ask("here", now=3))  # 1: b, sent as exact but 2 wide, goes
    assert len(cache) == 2
    assert cache.bounds("b", 3) == (-math.inf, math.inf)
    assert cache.bounds("c", 3) == (0, 0)


def test_duplicates_and_old_messages_are_ignored():
    source, first = settled()
    cache = Cache()
    second = source.update(30.0, now=1)["here"]
    assert cache.receive(second)
    assert not cache.receive(second)
    assert not cache.receive(first)
    assert cache.bounds("boiler", 1) == (28, 32)
    anew = Source("boiler", 50.0, rule="static:width=4", run=1).subscribe("here", now=2)
    assert cache.receive(anew)
    assert not cache.receive(source.update(90.0, now=3)["here"])  # of an earlier run


def test_a_lost_source_is_not_trusted():
    source, first = settled(max_silence=10)
    cache = Cache(grace=1)
    cache.receive(first)
    assert cache.bounds("boiler", 11) == (18, 22)
    assert cache.bounds("boiler", 11.1) == (-math.inf, math.inf)
    cache.receive(source.tick(12)["here"])
    assert not cache.is_stale("boiler", 12)
    cache.lose("boiler")
    assert cache.bounds("boiler", 12) == (-math.inf, math.inf)
    assert not cache.receive(first)  # an old message does not bring it back
    assert cache.is_stale("boiler", 12)
    asking = cache.ask(Query("avg", 1), now=12)
    assert asking.wanted == ("boiler",)
    asking.fail("boiler")
    answer = asking.answer
    assert (asking.wanted, answer.within, answer.stale) == ((), False, ("boiler",))
    assert (answer.low, answer.high) == (-math.inf, math.inf)


def test_what_is_forgotten_is_unknown():
    source, first = settled()
    cache = Cache()
    cache.receive(first)
    cache.lose("boiler")
    cache.forget("boiler")
    cache.forget("unknown")
    assert (cache.keys, len(cache)) == ((), 0)
    cache.receive(source.update(30.0, now=1)["here"])
    assert cache.bounds("boiler", 1) == (28, 32)


def test_if_one_does_not_answer_others_may_help():
    cache = Cache()
    sources = {
        key: Source(key, 0.0, rule=f"static:width={width}")
        for key, width in {"a": 5.0, "b": 3.0, "c": 2.0}.items()
    }
    for source in sources.values():
        cache.receive(source.subscribe("here", now=0))
    asking = cache.ask(Query("sum", 5), now=1)
    assert asking.wanted == ("a",)
    asking.fail("a")
    assert asking.wanted == ("b", "c")
    for key in asking.wanted:
        asking.supply(sources[key].ask("here", now=1))
    assert asking.answer[:3] == (-2.5, 2.5, True)


@pytest.mark.parametrize(
    ("kind", "delta", "refreshed", "within"),
    [
        ("sum", 7, "bc", True),
        ("sum", 2, "bc", False),  # as narrow as it would be if all had answered
        ("avg", 7 / 4, "bc", True),
        ("max", 1.2, "bc", False),
        ("quantile", 1.2, "bc", True),
        ("count", 1, "bc", True),
    ],
)
def test_if_one_does_not_answer_no_solver_is_needed(kind, delta, refreshed, within, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    cache, widths = Cache(), {"a": 5.0, "b": 4.0, "c": 3.0, "d": 1.0}
    sources = {key: Source(key, 0.0, rule=f"static:width={w}") for key, w in widths.items()}
    for source in sources.values():
        cache.receive(source.subscribe("here", now=0))
    at = {"quantile": 0.5, "count": 1.0}.get(kind)
    asking = cache.ask(Query(kind, delta, at=at), now=1)
    assert "a" in asking.wanted
    for _ in range(len(sources) + 1):
        for key in asking.wanted:
            known = sources[key].ask("here", now=1) if key != "a" else None
            asking.fail(key) if known is None else asking.supply(known)
    assert (asking.wanted, asking.answer[2:4]) == ((), (within, tuple(refreshed)))


@pytest.mark.parametrize("patient", [False, True])
@given(
    values=st.lists(VALUES, min_size=1, max_size=6),
    width=st.floats(0.1, 1e6),
    kind=st.sampled_from(["sum", "avg", "max", "min", "count", "quantile"]),
    delta=st.floats(0, 1e6),
    relative=st.booleans(),
)
def test_every_answer_is_narrow_enough_and_contains_the_truth(
    patient, values, width, kind, delta, relative
):
    at = {"count": 5.0, "quantile": 0.5}.get(kind)
    sources = {
        str(i): Source(str(i), v, rule=f"static:width={width}") for i, v in enumerate(values)
    }
    cache = Cache()
    for source in sources.values():
        cache.receive(source.subscribe("here", now=0))
    asking = cache.ask(Query(kind, delta, relative, at), now=1, patient=patient)
    for _ in range(50):
        for key in asking.wanted:
            asking.supply(sources[key].ask("here", now=1, need=asking.need(key)))
        if not asking.wanted:
            break
    answer = asking.answer
    assert answer.within
    exact = [Fraction(value) for value in values]
    truths = {"sum": sum(exact), "avg": sum(exact) / len(exact), "max": max(exact)}
    truths |= {"min": min(exact), "count": sum(value > 5 for value in exact)}
    truths["quantile"] = sorted(exact)[math.ceil(len(exact) / 2) - 1]
    assert answer.low <= truths[kind] <= answer.high
    assert len(set(answer.refreshed)) == len(answer.refreshed)


def test_patience_spares_refreshes():
    values = {"a": 1.0, "b": 2.0, "c": 100.0}
    counts = {}
    for patient in (False, True):
        sources = {key: Source(key, v, rule="static:width=400") for key, v in values.items()}
        cache = Cache()
        for source in sources.values():
            cache.receive(source.subscribe("here", now=0))
        asking = cache.ask(Query("max", 150), now=0, patient=patient)
        while asking.wanted:
            for key in asking.wanted:
                asking.supply(sources[key].ask("here", now=0))
        counts[patient] = len(asking.answer.refreshed)
    assert counts == {False: 3, True: 1}


@given(seed=st.integers(0, 999), capacity=st.integers(1, 4))
def test_a_restored_cache_answers_the_same(seed, capacity):
    random = np.random.default_rng(seed)
    cache = Cache(capacity, grace=2)
    sources = [Source(f"s{i}", 0.0, rule="adaptive", max_silence=9, seed=i) for i in range(4)]
    for source in sources:
        cache.receive(source.subscribe("here", 0))
    for now in range(1, 30):
        for refresh in random.choice(sources).update(random.normal() * 5, now).values():
            cache.receive(refresh)
    cache.lose("s2")
    copy = Cache.restore(cache.save())
    for key in cache.keys:
        assert cache.bounds(key, 30) == copy.bounds(key, 30)
        assert cache.is_stale(key, 30) == copy.is_stale(key, 30)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Source("a", math.nan), "the value of 'a' must be a finite number, got nan"),
        (lambda: Source("a", "warm"), "the value of 'a' must be a finite number, got 'warm'"),
        (lambda: Source("a", True), "the value of 'a' must be a finite number, got True"),
        (lambda: settled()[0].update(math.inf, 1), "the value of 'boiler' must be a finite number"),
        (lambda: settled()[0].update(None, 1), "the value of 'boiler' must be a finite number"),
        (lambda: Source("a", 1, max_silence=0), "max_silence must be a number above 0, got 0"),
        (lambda: Source("a", 1, max_silence=math.nan), "max_silence must be a number above 0"),
        (lambda: Source("a", 1, limits=[math.nan]), "an alarm limit must be a finite number"),
        (lambda: Source("a", 1, rule="exact"), "counts reads that a cache answers by itself"),
        (lambda: Source("a", 1, rule="growing", limits=[3]), "could cross an alarm limit"),
        (lambda: make_costs(-1), "value-initiated refresh must be a number above 0, got -1"),
        (lambda: make_costs(1, math.nan), "query-initiated refresh must be a number above 0"),
        (
            lambda: settled()[0].ask("there", 1),
            "has no cache 'there'; subscribe it first",
        ),
        (lambda: settled()[0].ask("here", 1, need=-1), "need must be a number of at least 0"),
        (lambda: Cache(capacity=-1), "capacity must be a whole number of at least 0, got -1"),
        (lambda: Cache(grace=math.nan), "grace must be a number of at least 0, got nan"),
        (lambda: Cache().bounds("x", 0), "no message was received about 'x'; check the name"),
        (
            lambda: Cache().ask(Query("sum", 1), 0, ["x", "y"]),
            "no message was received about 'x', 'y'",
        ),
        (lambda: Cache().ask(Query("sum", 1), 0), "at least one key, got none"),
    ],
)
def test_refuses_bad_input(make, complaint):
    with pytest.raises(BadInput, match=complaint):
        make()


def test_refuses_bad_questions_and_states():
    cache = Cache()
    cache.receive(settled()[1])
    with pytest.raises(BadInput, match="delta must be a number of at least 0, got nan"):
        cache.ask(Query("sum", math.nan), 0)
    with pytest.raises(BadInput, match="to fetch a key must be at least 0, got -2"):
        cache.ask(Query("sum", 1), 0, costs={"boiler": -2})
    with pytest.raises(BadState, match="source must be of format 1, got 9"):
        Source.restore({"format": 9})
    with pytest.raises(BadState, match="cache must be of format 1, got None"):
        Cache.restore({})
