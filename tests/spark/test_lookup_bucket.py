"""A bucket of a lookup: the engine's own hits, rows that are right and never too old."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Lookup
from penstock.errors import BadInput, BadState, Unreachable
from penstock.relations import as_source
from penstock.spark.frames import KEY, Input
from penstock.spark.runtime import lookup_bucket as buckets
from penstock.spark.runtime import segments
from penstock.spark.runtime.arrow import BYTES, from_ipc, to_ipc
from penstock.spark.runtime.bucket import MicroBatch
from penstock.spark.runtime.lookup_bucket import EVENTS, LookupBucket
from tests.compare import cut
from tests.spark.lookup_plans import Clock, Run, Shop, changes, events, make_plan, rows_of

keys = st.lists(st.integers(0, 12), max_size=120)


@pytest.mark.parametrize("policy", ["lru", "gdj", "wtinylfu"])
@given(data=st.data(), drawn=keys, memory=st.integers(1, 6))
def test_the_hits_are_the_local_engine_s(policy, data, drawn, memory):
    shop = Shop(range(9))  # keys from 9 on have no row
    plan = make_plan(shop, policy=policy, budget=memory, seed=3)
    local = Lookup(policy, memory, seed=3)
    run, hits = Run(plan), 0
    for batch in data.draw(cut(drawn)):
        outcome = run.take(events(batch, start=5))
        hits += int(local.push(np.array(batch, np.int64)).hit.sum())
        expected = [(key, 5 + i, shop.rows.get(key)) for i, key in enumerate(batch)]
        assert rows_of(outcome) == expected
        totals = outcome.totals
        assert totals["hits"] + totals["known_missing"] == hits
        assert totals["misses"] == local.misses
        assert totals["evicted"] == local.counters["evicted"]
        assert totals["held"] == local.held <= memory
        assert totals["fetched"] <= totals["asked"] <= totals["misses"]
    assert all(len(set(asked)) == len(asked) for asked in shop.asked)


def test_misses_of_a_batch_are_fetched_together():
    shop = Shop()
    run = Run(make_plan(shop, budget=3))
    run.take(events([1, 2, 3, 1, 4, 5, 1]))
    assert shop.asked == [[1, 2, 3, 4, 5]]
    run.take(events([5, 1, 7, 7]))
    assert shop.asked[1:] == [[7]]


def test_queries_are_of_bounded_size():
    shop = Shop(range(5000))
    outcome = Run(make_plan(shop, budget=3)).take(events(list(range(2500))))
    assert [len(asked) for asked in shop.asked] == [1000, 1000, 500]
    assert outcome.totals["calls"] == 3


def test_large_batches_are_served_piece_by_piece(monkeypatch):
    monkeypatch.setattr(buckets, "PIECE", 4)
    shop, local = Shop(), Lookup("lru", 3)
    drawn = [1, 2, 3, 4, 5, 6, 1, 2, 6, 6, 5]
    outcome = Run(make_plan(shop, budget=3)).take(events(drawn))
    assert outcome.totals["hits"] == local.push(drawn).hit.sum()
    assert [row[1] for row in rows_of(outcome)] == list(range(11))
    assert len(shop.asked) == 3


def test_a_row_is_never_older_than_its_ttl():
    shop, clock = Shop(), Clock()
    run = Run(make_plan(shop, ttl=10_000_000), clock)
    assert run.names([1]) == ["row 1"]
    shop.rows[1] = "new"
    clock.pass_by(10)
    assert run.names([1]) == ["row 1"]
    clock.pass_by(0.001)
    assert run.names([1]) == ["new"]
    outcome = run.take(events([2]))
    assert outcome.totals["expired"] == 1
    assert outcome.totals["held"] == 2


def test_missing_rows_grow_old_too():
    shop, clock = Shop([]), Clock()
    run = Run(make_plan(shop, ttl=5_000_000), clock)
    assert run.names([1, 1]) == [None, None]
    shop.rows[1] = "late"
    assert run.names([1]) == [None]
    assert len(shop.asked) == 1
    clock.pass_by(6)
    assert run.names([1]) == ["late"]


def test_what_grows_old_while_others_are_fetched_is_fetched_anew():
    shop, clock = Shop(), Clock()
    run = Run(make_plan(shop, ttl=10_000_000), clock)
    run.take(events([1]))
    shop.rows[1] = "new"
    clock.pass_by(9)
    shop.clock, shop.takes = clock, 3_000_000
    assert run.names([1, 2, 1]) == ["new", "row 2", "new"]
    assert shop.asked == [[1], [2], [1]]


def test_without_a_ttl_rows_stay():
    shop, clock = Shop(), Clock()
    run = Run(make_plan(shop), clock)
    run.take(events([1]))
    shop.rows[1] = "new"
    clock.pass_by(10**6)
    assert run.names([1]) == ["row 1"]


def test_a_change_comes_before_the_events_of_its_batch():
    shop = Shop([1, 2])
    run = Run(make_plan(shop))
    assert run.names([1, 2, 3]) == ["row 1", "row 2", None]
    shop.rows |= {1: "new", 3: "born"}
    outcome = run.take(events([1, 2, 3]), changes([1, 3, 50]))
    assert [name for _, _, name in rows_of(outcome)] == ["new", "row 2", "born"]
    assert (outcome.totals["changes"], outcome.totals["invalidated"]) == (3, 2)


def test_changes_alone_are_remembered():
    shop = Shop()
    run = Run(make_plan(shop))
    run.take(events([1, 2, 3]))
    shop.rows[2] = "new"
    assert run.take(changes([2])).totals["held"] == 2
    assert run.names([3, 2, 1]) == ["row 3", "new", "row 1"]
    assert shop.asked == [[1, 2, 3], [2]]


@given(
    steps=st.lists(
        st.tuples(st.lists(st.integers(0, 6), max_size=9), st.lists(st.integers(0, 6), max_size=2)),
        max_size=12,
    ),
    memory=st.integers(1, 5),
)
def test_a_served_row_is_never_older_than_a_change_already_seen(steps, memory):
    shop = Shop(range(5))
    run = Run(make_plan(shop, budget=memory))
    for number, (asked, changed) in enumerate(steps):
        for key in changed:
            shop.rows[key] = f"{key} at {number}"
        assert run.names(asked, changes(changed)) == [shop.rows.get(key) for key in asked]


def test_null_keys():
    shop = Shop()
    outcome = Run(make_plan(shop, budget=2)).take(events([None, 1, None, 200]))
    assert rows_of(outcome) == [(None, 0, None), (1, 1, "row 1"), (None, 2, None), (200, 3, None)]
    assert outcome.totals["null"] == 2
    inner = Run(make_plan(shop, how="inner")).take(events([None, 1, None, 200]))
    assert rows_of(inner) == [(1, 1, "row 1")]
    only = Run(make_plan(shop)).take(events([None, None]))
    assert rows_of(only) == [(None, 0, None), (None, 1, None)]


def test_a_missing_row_may_be_an_error():
    run = Run(make_plan(Shop([1]), on_missing="error"))
    assert run.names([1, None]) == ["row 1", None]
    with pytest.raises(BadInput, match="no row for the key k = 7, and 2 of 3 events"):
        run.take(events([1, 7, 7]))


def test_equal_hashes_of_different_keys_get_their_own_rows():
    shop = Shop(["one", "two", "three"])
    run = Run(make_plan(shop, text_key=True))
    first = run.take(events([7, 7, 8], ["one", "two", "three"]))
    assert [row[2] for row in rows_of(first)] == ["row one", "row two", "row three"]
    again = run.take(events([7, 7, 7, 8], ["two", "one", "four", "three"]))
    assert [row[2] for row in rows_of(again)] == ["row two", "row one", None, "row three"]
    assert again.totals["found"] == 6


def test_a_budget_in_bytes():
    shop = Shop()
    shop.rows |= {key: "x" * (50 * key) for key in range(10)}
    *_, charge, fixed = make_plan(shop, budget=10**6, in_bytes=True).engine(0).footprint
    memory = fixed + 3 * charge + 600
    run = Run(make_plan(shop, budget=memory, in_bytes=True))
    rng = np.random.default_rng(1)
    for _ in range(30):
        outcome = run.take(events(rng.integers(0, 12, 20).tolist()))
        assert 0 < outcome.totals["bytes"] <= memory
    assert run.take(events([1, 2])).totals["held"] >= 2


def test_rows_that_were_evicted_take_a_fourth_of_a_budget_in_bytes_at_most():
    shop = Shop()
    shop.rows = dict.fromkeys(range(600), "x" * 1000)
    plan = make_plan(shop, budget=100_000, in_bytes=True)
    bucket = LookupBucket(plan, 0)
    for first in range(0, 600, 10):
        assert list(bucket.advance(MicroBatch([events(range(first, first + 10))])))
        assert bucket.rows.nbytes <= 1.25 * plan.budget
    assert bucket.cache.held > 40


def test_a_row_larger_than_the_memory_is_served_and_not_kept():
    shop = Shop()
    *_, charge, fixed = make_plan(shop, budget=10**6, in_bytes=True).engine(0).footprint
    shop.rows[1] = "x" * 1000
    run = Run(make_plan(shop, budget=fixed + charge + 500, in_bytes=True))
    assert run.names([1]) == ["x" * 1000]
    assert run.take(events([2])).totals["held"] == 1


def test_another_memory_and_policy_after_a_restart():
    shop = Shop()
    run = Run(make_plan(shop, budget=8))
    run.take(events([1, 2, 3, 4, 5, 6, 7, 8, 1]))
    run.plan = replace(run.plan, budget=3)
    assert run.names([1, 8]) == ["row 1", "row 8"]
    assert len(shop.asked) == 1
    run.plan = replace(run.plan, budget=20, policy="fifo")
    assert run.names([8, 9, 1]) == ["row 8", "row 9", "row 1"]
    assert shop.asked[1:] == [[9]]


def test_another_relation_is_fetched_anew():
    shop = Shop()
    run = Run(make_plan(shop))
    run.take(events([1, 2]))

    def other(keys):
        return pa.table({"k": keys, "name": ["other"] * len(keys)})

    run.plan = replace(run.plan, source=as_source(other, ("k",)))
    outcome = run.take(events([1]))
    assert rows_of(outcome) == [(1, 0, "other")]
    assert outcome.totals["events"] == 3


def test_other_buckets_are_refused():
    run = Run(make_plan(Shop(), buckets=2))
    run.take(events([1, 2]))
    run.plan = replace(run.plan, buckets=1)
    with pytest.raises(BadState, match="a lookup with buckets=2, and now with buckets=1; pass"):
        run.take(events([1]))


def test_nothing_is_kept_of_a_batch_that_failed():
    shop = Shop()
    run = Run(make_plan(shop))
    run.take(events([1]))
    state, shop.rows = run.state, None
    with pytest.raises(Unreachable):
        run.take(events([2]))
    assert run.state == state


def test_ages_are_counted_when_rows_are_served():
    shop, clock = Shop(), Clock()
    run = Run(make_plan(shop), clock)
    run.take(events([1]))
    clock.pass_by(3)
    outcome = run.take(events([1, 1, 2]))
    assert outcome.totals["age_0"] == 2  # just fetched
    assert outcome.totals["age_12"] == 2  # from 2.048 to 4.096 s


def test_a_micro_batch_without_events_changes_nothing():
    run = Run(make_plan(Shop()))
    before = run.take(events([1, 2]))
    after = run.take()
    assert (after.state, after.totals) == (before.state, before.totals)
    bucket = LookupBucket(run.plan, 0, run.state)
    assert not bucket.is_changed(MicroBatch([]))
    assert bucket.is_changed(MicroBatch([events([1])]))


def test_memory_is_split_between_buckets():
    plan = make_plan(Shop(), budget=5, buckets=2)
    assert [LookupBucket(plan, number).cache.budget for number in range(2)] == [3, 2]


def test_one_large_row_and_many_events():
    """A row of 100 kB for each of 22,000 events: 2.2 GB, and an array of texts holds 2 GB."""
    shop, count = Shop(range(2)), 22_000
    shop.rows[1] = "x" * 100_000
    bucket = LookupBucket(make_plan(shop), 0)
    sizes = []
    for packet in bucket.advance(MicroBatch([events([1] * count)])):
        table = from_ipc(packet.rows)
        assert table["name"][0].as_py() == shop.rows[1]
        assert len(packet.rows) < BYTES + 4096
        sizes.append(table.num_rows)
    assert sum(sizes) == count == bucket.totals["found"]


def test_pieces_of_events_are_bounded_by_their_bytes(monkeypatch):
    monkeypatch.setattr(buckets, "PIECE_BYTES", 100)
    shop = Shop(range(9))
    outcome = Run(make_plan(shop)).take(events([1, 2, 3, 4] * 5))
    assert rows_of(outcome) == [(k, v, f"row {k}") for v, k in enumerate([1, 2, 3, 4] * 5)]
    assert len(outcome.packets) > 2


def test_rows_at_hand_beyond_the_limit_of_an_array(monkeypatch):
    keys = [1, 2, 3, 1, 200, 2]
    expected = rows_of(Run(make_plan(Shop(range(9)))).take(events(keys)))
    monkeypatch.setattr(segments, "LARGEST_BYTES", 8)
    run = Run(make_plan(Shop(range(9))))
    for _ in range(2):  # fetched, then cached
        assert rows_of(run.take(events(keys))) == expected


def odd_plan(kind, arrow, **options):
    """Return a plan whose columns are called as ours: those of the events and of the relation."""

    def relation(keys):
        return pa.table({"k": keys, f"{KEY}_0": [str(key) for key in keys.to_pylist()]})

    names = ("k", KEY)
    plan = make_plan(Shop(), **options)
    return replace(
        plan,
        events=Input(("k",), None, names, (kind, "bigint"), kind == "bigint"),
        source=as_source(relation, ("k",)),
        promised=pa.schema([("k", arrow), (f"{KEY}_0", pa.string())]),
        columns=((f"{KEY}_0", f"{KEY}_0"),),
    )


def odd_events(plan, hashes, keys, values):
    columns = [pa.array(hashes, pa.int64()), keys, pa.array(values, pa.int64())]
    columns = [columns[0], columns[2]] if plan.events.exact else columns
    return EVENTS, to_ipc(pa.Table.from_arrays(columns, names=list(plan.events.packed)))


@pytest.mark.parametrize(("kind", "arrow"), [("bigint", pa.int64()), ("string", pa.string())])
def test_columns_that_are_called_as_ours(kind, arrow):
    run = Run(odd_plan(kind, arrow))
    keys = pa.array([3, 4], pa.int64()).cast(arrow)
    for _ in range(2):  # fetched, and cached
        found = rows_of(run.take(odd_events(run.plan, [3, 4], keys, [30, 40])))
        assert found == [(keys[0].as_py(), 30, "3"), (keys[1].as_py(), 40, "4")]


def test_events_without_any_key_before_anything_is_cached():
    run = Run(odd_plan("string", pa.string()))
    nothing = odd_events(run.plan, [None], pa.array([None], pa.string()), [1])
    assert rows_of(run.take(nothing)) == [(None, 1, None)]
    assert rows_of(run.take(nothing)) == [(None, 1, None)]


def test_cached_keys_in_another_time_zone():
    run = Run(odd_plan("timestamp", pa.timestamp("us", "UTC")))
    for zone in ("UTC", "Europe/Berlin"):
        keys = pa.array([10, 20], pa.timestamp("us", zone))
        outcome = run.take(odd_events(run.plan, [1, 2], keys, [0, 1]))
        assert [value for _, value, _ in rows_of(outcome)] == [0, 1]
    assert outcome.totals["hits"] == 2
    more = odd_events(run.plan, [3], pa.array([30], pa.timestamp("us", "Asia/Tokyo")), [2])
    assert run.take(more).totals["misses"] == 3


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "GMT+01:00"])
def test_a_time_in_any_zone_beside_another_key(zone):
    """The relation is asked in UTC, which its columns were promised in."""
    at, asked = pa.timestamp("us", "UTC"), []

    def relation(keys):
        asked.append(keys.type.field("at").type)
        parts = {name: keys.field(name) for name in ("k", "at")}
        return pa.table(parts | {"name": [f"row {each}" for each in parts["k"].to_pylist()]})

    plan = replace(
        make_plan(Shop(), on_missing="error"),
        events=Input(("k", "at"), None, ("k", "at"), ("string", "timestamp")),
        source=as_source(relation, ("k", "at")),
        promised=pa.schema([("k", pa.string()), ("at", at), ("name", pa.string())]),
    )
    columns = {KEY: [1, 2], "k": ["a", "b"], "at": pa.array([5, 6], pa.timestamp("us", zone))}
    made = Run(plan).take((EVENTS, to_ipc(pa.table(columns)))).packets
    assert from_ipc(made[0].rows)["name"].to_pylist() == ["row a", "row b"]
    assert asked == [at]


def test_a_missing_row_of_a_time_in_a_zone_that_python_lacks():
    shop = as_source(
        lambda k: pa.table({"k": k.slice(0, 0), "name": pa.array([], "string")}), ("k",)
    )
    plan = odd_plan("timestamp", pa.timestamp("us", "UTC"), on_missing="error")
    keys = pa.array([0], pa.timestamp("us", "UTC+1"))
    plan = replace(plan, source=shop, promised=plan.promised.set(1, pa.field("name", pa.string())))
    with pytest.raises(BadInput, match=r"no row for the key k = datetime\.datetime\(1970, 1, 1"):
        Run(replace(plan, columns=(("name", "name"),))).take(odd_events(plan, [1], keys, [1]))
