"""A bucket without Spark: the engine's own rows, budgets that hold, collisions that do no harm."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from penstock.engine.ledger import digest
from penstock.errors import BadInput
from penstock.kernel.shape import all_streams
from penstock.spark.frames import KEY, Input
from penstock.spark.runtime import join_bucket
from penstock.spark.runtime.arrow import from_ipc, to_ipc
from penstock.spark.runtime.bucket import MicroBatch
from penstock.spark.runtime.join_bucket import JoinBucket
from penstock.spark.runtime.labels import bucket_of
from tests.marks import some
from tests.recount import recount
from tests.spark.plans import (
    Engine,
    Run,
    cuts,
    drawn,
    make_plan,
    packet,
    packets,
    rows_of,
    rows_of_packets,
    take,
)

LAYOUTS = [  # few, for each of them is compiled anew
    ("clock", "unified"),
    ("rand", "split"),
    ("life", "unified"),
    ("gdj", "unified"),
]


def exact(plan, batches) -> Counter:
    engine = Engine(replace(plan, budget=None, in_bytes=False))
    return sum((engine.take(*batch) for batch in batches), Counter())


@pytest.mark.parametrize(("policy", "layout"), LAYOUTS)
def test_each_bucket_is_the_local_engine(policy, layout):
    rng = np.random.default_rng(1)
    plan = make_plan(policy=policy, budget=61, layout=layout, delay=20, buckets=2, seed=5)
    batches = list(cuts(rng, drawn(rng, 3000, delay=20), 7))
    for number, budget in enumerate([31, 30]):
        run, engine = Run(plan, number), Engine(plan, number)
        found = Counter()
        for batch in batches:
            outcome = run.take(*batch)
            rows = rows_of(outcome)
            assert rows == engine.take(*batch)
            assert outcome.totals["held"] <= budget
            assert outcome.totals["held"] == engine.join.held
            found += rows
        for name, counts in engine.join.counters.items():
            if name not in ("matched", "dropped"):  # on Spark nothing is dropped before it is seen
                told = [outcome.totals[f"{name}_{side}"] for side in range(2)]
                assert told == counts.tolist(), name
        everything = exact(plan, batches)
        assert found <= everything
        assert 0 < sum(found.values()) < sum(everything.values())


BYTES = {"unified": 80_000, "split": 120_000}  # PROB counts keys in 33 kB, for each layout's part


@pytest.mark.parametrize(("policy", "layout"), [("prob", "unified"), ("prob", "split")])
def test_a_budget_in_bytes(policy, layout):
    rng = np.random.default_rng(2)
    budget = BYTES[layout]
    plan = make_plan(policy=policy, budget=budget, in_bytes=True, layout=layout)
    run, engine = Run(plan), Engine(plan)
    *_, charge, fixed = engine.join.footprint
    for batch in cuts(rng, drawn(rng, 2000), 6):
        outcome = run.take(*batch)
        assert rows_of(outcome) == engine.take(*batch)
        assert outcome.totals["bytes"] <= budget
        assert outcome.totals["bytes"] == fixed + outcome.totals["held"] * (charge + 8)
    assert outcome.totals["held"] > 20
    assert outcome.totals["evicted_0"] > 0


def test_bytes_count_the_texts():
    plan = make_plan(text_key=True, policy="fifo", budget=2000, in_bytes=True)
    *_, charge, fixed = Engine(plan).join.footprint
    plan = replace(plan, budget=fixed + 4 * charge + 200)
    bucket = JoinBucket(plan, 0)
    outcome = take(
        bucket, [(0, packet([1, 2, 3], [0, 1, 2], [1, 2, 3], ["a" * 150, "b", "c" * 9]))]
    )
    assert outcome.totals["bytes"] <= plan.budget
    assert outcome.totals["held"] == 3
    outcome = take(bucket, [(0, packet([4], [3], [4], ["d" * 100]))])
    assert outcome.totals["held"] == 3
    assert outcome.totals["bytes"] <= plan.budget


def test_payloads_of_evicted_rows_take_a_fourth_of_a_budget_in_bytes_at_most():
    plan = make_plan(text_key=True, policy="fifo", budget=100_000, in_bytes=True, within=10**6)
    bucket = JoinBucket(plan, 0)
    for first in range(0, 600, 10):
        number = np.arange(first, first + 10)
        rows = packet(number, number, number, ["x" * 1000] * 10)
        assert not list(bucket.advance(MicroBatch([(first % 20 // 10, rows)])))
        assert sum(held.nbytes for held in bucket.rows) <= 1.25 * plan.budget
    assert bucket.join.held > 40


def test_equal_hashes_of_different_keys_make_no_row():
    plan = make_plan(text_key=True, sample=1.0)
    run = JoinBucket(plan, 0)
    left = packet([7, 7, 7], [0, 1, 2], [1, 2, 3], ["one", "two", "three"])
    right = packet([7, 7, 7], [3, 4, 5], [4, 5, 6], ["two", "four", "two"])
    first = take(run, [(0, left)])
    outcome = take(JoinBucket(plan, 0, first.state), [(1, right)])
    assert rows_of(outcome) == Counter({(0, "two", 2, 4): 1, (0, "two", 2, 6): 1})
    assert outcome.totals["matched"] == 2


NO_PYTHON = {
    "a date": pa.array([90_000_000], pa.int32()).cast(pa.date32()),
    "times": pa.array([[2**62]], pa.list_(pa.timestamp("us", "UTC"))),
    "two fields of one name": pa.StructArray.from_arrays([pa.array([1])] * 2, names=["a", "a"]),
}


@pytest.mark.parametrize("case", NO_PYTHON)
def test_keys_that_python_has_no_value_for(case):
    """They are compared, and the figures of the query show their hashes."""
    plan = make_plan(text_key=True, budget=10, buckets=2, goal="rows", policy="fifo")
    columns = {
        KEY: pa.array([7]),
        "ts": pa.array([1]).cast(pa.timestamp("us", "UTC")),
        "v": [5],
        "k": NO_PYTHON[case],
    }
    both = [(side, to_ipc(pa.table(columns))) for side in range(2)]
    told = [digest(side, np.array([7]), np.array([1]), 1, 100).encode() for side in range(2)]
    bucket = JoinBucket(plan, int(bucket_of(np.array([7]), 2)[0]))
    outcome = take(bucket, both, digests=told)
    assert outcome.totals["matched"] == 1
    assert json.loads(outcome.hottest)["hottest"][0]["key"] == "(hash 7)"


@pytest.mark.parametrize("zone", ["GMT+01:00", "UTC+1", "Z"])
def test_hot_keys_in_zones_that_python_lacks(zone):
    """Spark takes these for time zones of a session; the figures tell such keys in UTC."""
    plan = make_plan(text_key=True, budget=10, buckets=2, goal="rows", policy="fifo")
    now = pa.array([1]).cast(pa.timestamp("us", zone))
    columns = {KEY: pa.array([7]), "ts": now, "v": [5], "k": now}
    both = [(side, to_ipc(pa.table(columns))) for side in range(2)]
    told = [digest(side, np.array([7]), np.array([1]), 1, 100).encode() for side in range(2)]
    bucket = JoinBucket(plan, int(bucket_of(np.array([7]), 2)[0]))
    outcome = take(bucket, both, digests=told)
    key = json.loads(outcome.hottest)["hottest"][0]["key"]
    assert key == "1970-01-01 00:00:00.000001+00:00"


@pytest.mark.parametrize("zone", ["UTC", "GMT+01:00"])
def test_a_collision_that_cannot_be_told_names_the_key(zone):
    plan = make_plan(text_key=True, how="left")
    at = pa.timestamp("us", zone)
    made = [
        (side, {KEY: pa.array([7]), "ts": pa.array([1]).cast(at), "k": pa.array([side]).cast(at)})
        for side in range(2)
    ]
    both = [(side, to_ipc(pa.table(columns | {"v": [1]}))) for side, columns in made]
    with pytest.raises(BadInput, match=r"same 64-bit hash as k = datetime\.datetime\(1970, 1, 1"):
        take(JoinBucket(plan, 0), both)


def test_three_way_collisions_make_no_row():
    plan = make_plan(text_key=True, joins=all_streams(3), inputs=3)
    sides = [(side, packet([7, 7], [0, 1], [1, 2], ["one", "two"])) for side in range(3)]
    outcome = take(JoinBucket(plan, 0), sides)
    assert rows_of(outcome) == Counter({(0, "one", 1, 1, 1): 1, (0, "two", 2, 2, 2): 1})


@pytest.mark.parametrize("policy", ["clock", "rand", "life", "gdj"])
def test_half_of_the_rows_have_one_key(policy):
    rng = np.random.default_rng(3)
    run = Run(make_plan(policy=policy, budget=200))
    for batch in cuts(rng, drawn(rng, 10_000, skew=0.5, span=10_000), 5):
        assert run.take(*batch).totals["held"] <= 200


def test_a_burst_after_calm():
    rng = np.random.default_rng(4)
    run = Run(make_plan(budget=300))
    for number in range(21):
        count = 100 if number < 20 else 5000
        outcome = run.take(*drawn(rng, count, start=100 * number, span=100))
        assert outcome.totals["held"] <= 300


@pytest.mark.slow
def test_a_million_rows_expire_at_once():
    rng = np.random.default_rng(5)
    run = Run(make_plan(budget=1_200_000, within=10))
    first = run.take(*drawn(rng, 1_000_000, keys=10**9, span=10))
    assert first.totals["held"] == 1_000_000
    state = run.state
    last = run.take(*(np.array(c) for c in ([0, 1], [1, 2], [1000, 1000], [1, 1])))
    assert last.totals["held"] == 2
    assert last.totals["expired_0"] + last.totals["expired_1"] == 1_000_000
    assert len(run.state) < len(state) / 2


def test_null_keys_and_times_are_counted():
    plan = make_plan()
    bucket = JoinBucket(plan, 0)
    outcome = take(
        bucket,
        [(0, packet([1, None, 2], [0, 1, None], [1, 2, 3])), (1, packet([1, 2], [5, 6], [4, 5]))],
    )
    assert rows_of(outcome) == Counter({(0, 1, 1, 4): 1})
    assert outcome.totals["null_0"] == 1
    assert outcome.totals["no_time"] == 1
    assert outcome.totals["arrived_0"] == 2
    assert outcome.totals["held"] == 3


def test_late_rows_are_counted():
    run = Run(make_plan(delay=10, clock="fastest"))
    columns = [np.array(c) for c in ([0, 1], [1, 1], [100, 80], [1, 2])]
    assert rows_of(run.take(*columns)) == Counter({(0, 1, 1, 2): 1})  # one batch: none is late
    outcome = run.take(*[np.array(c) for c in ([1, 1], [1, 1], [90, 89], [3, 4])])
    assert rows_of(outcome) == Counter({(0, 1, 1, 3): 1})
    assert outcome.totals["late_1"] == 1


@pytest.mark.parametrize("budget", [None, 50])
def test_rows_up_to_the_watermark_of_the_last_micro_batch_are_late(budget):
    bucket = JoinBucket(make_plan(delay=10, budget=budget, watermark=True), 0)
    rows = [(0, packet([1], [5], [1])), (1, packet([1], [6], [2]))]
    first = take(bucket, rows, watermark=80)
    assert first.totals["late_0"] == first.totals["late_1"] == 0
    again = JoinBucket(bucket.plan, 0, first.state)
    second = take(again, [(0, packet([1, 1], [80, 81], [3, 4]))], watermark=90)
    assert second.totals["late_0"] == 1
    assert second.totals["arrived_0"] == 3


@pytest.mark.parametrize("budget", [None, 50])
def test_no_row_without_a_partner_is_late_for_what_follows(budget):
    """What follows in the query drops rows up to its watermark of the last micro-batch."""
    behind = 5_000
    within = (-5_000, 2_000)
    plan = make_plan(how="full", within=within, watermark=True, behind=behind, budget=budget)
    plan = replace(plan, output=(((0, "ts", "a"), (1, "ts", "b")),), policy="fifo")
    bucket, times = JoinBucket(plan, 0), np.arange(10_000, 20_000, 250)
    both = [(side, packet(times + side, times, times)) for side in range(2)]
    found, before = 0, 0
    for number, watermark in enumerate([0, 12_000, 14_500, 18_000, 40_000]):
        made = bucket.advance(MicroBatch(both if not number else [], watermark))
        for _, left, right in rows_of_packets(made):
            time = round((left or right).timestamp() * 1e6)
            assert time > before - behind
            found += 1
        before = watermark
    assert found == 2 * len(times)


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("segment", [5, 65_536])
@pytest.mark.parametrize("seed", range(3))
def test_an_exact_join_of_late_rows_has_all_pairs_of_rows_that_are_not_too_late(
    monkeypatch, how, segment, seed
):
    monkeypatch.setattr(join_bucket, "SEGMENT", segment)
    rng, within, slack = np.random.default_rng(seed), 3_000, join_bucket.SLACK
    bucket = JoinBucket(make_plan(how=how, within=within, watermark=True, delay=0), 0)
    taken, found, watermark = [], Counter(), 0
    for number in range(8):
        side, key, time, value = drawn(rng, 120, keys=40, start=1_500 * number, span=6_000)
        value += 1_000 * number
        late = time <= watermark
        taken += list(
            zip(*(each[~late].tolist() for each in (side, key, time, value)), strict=True)
        )
        watermark = 1_500 * number + 2_500
        batch = [
            (each, to_ipc(from_ipc(packed), segment))
            for each, packed in packets(side, key, time, value)
        ]
        found += rows_of_packets(bucket.advance(MicroBatch(batch, watermark)))
        live = [row for row in taken if row[2] + within >= watermark - slack + 1]
        assert bucket.join.held == len(live)
        recount(bucket.join)
    assert late.any()
    found += rows_of_packets(bucket.finish())
    left, right = ([row for row in taken if row[0] == each] for each in (0, 1))
    pairs = [(a, b) for a in left for b in right if a[1] == b[1] and abs(a[2] - b[2]) <= within]
    expected = Counter((0, a[1], a[3], b[3]) for a, b in pairs)
    if how == "left":
        alone = {a[3]: a[1] for a in left}
        for a, _ in pairs:
            alone.pop(a[3], None)
        assert alone
        expected += Counter((0, key, value, None) for value, key in alone.items())
    assert found == expected


def test_a_large_micro_batch_is_not_held_beside_all_of_the_one_before():
    rows, plan = 40_000, make_plan(within=500, watermark=True, delay=0)
    bucket = JoinBucket(plan, 0)
    rng = np.random.default_rng(5)
    for number in range(4):
        start = rows * number
        side, key, _, value = drawn(rng, rows, keys=5_000)
        batch = packets(side, key, start + np.arange(rows), value)
        list(bucket.advance(MicroBatch(batch, max(0, start - 1))))
    assert bucket.join.held <= rows + 500 + join_bucket.SLACK
    assert len(bucket.join._tables.held.at) < 1.5 * rows


@pytest.mark.parametrize("policy", ["clock", "rand", "life", "gdj"])
def test_another_budget_policy_and_delay_after_a_restart(policy):
    rng = np.random.default_rng(6)
    batches = list(cuts(rng, drawn(rng, 3000), 4))
    plan = make_plan(budget=100)
    run = Run(plan)
    found = rows_of(run.take(*batches[0]))
    run.plan = replace(plan, budget=40)
    outcome = run.take(*batches[1])
    assert outcome.totals["held"] <= 40
    found += rows_of(outcome)
    run.plan = replace(plan, budget=150, policy=policy, delay=7)
    outcome = run.take(*batches[2])
    assert 40 < outcome.totals["held"] <= 150
    found += rows_of(outcome)
    run.plan = replace(plan, budget=None)
    found += rows_of(run.take(*batches[3]))
    assert found <= exact(plan, batches)
    assert JoinBucket(run.plan, 0, run.state).join.delay == 0


BUDGETS = {"rows": 60, "bytes": None, "none": None}


def within_budget(outcome, kind, layout) -> bool:
    in_bytes = kind == "bytes"
    amount = BYTES[layout] if in_bytes else BUDGETS[kind]
    return amount is None or outcome.totals["bytes" if in_bytes else "held"] <= amount


@pytest.mark.parametrize("layout", some(["unified", "split"], ["unified"]))
@pytest.mark.parametrize("after", BUDGETS)
@pytest.mark.parametrize("before", BUDGETS)
def test_a_restart_may_count_the_budget_otherwise(before, after, layout):
    rng = np.random.default_rng(7)
    batches = list(cuts(rng, drawn(rng, 3000), 4))
    plans = {
        "rows": make_plan(policy="prob", budget=60, layout=layout, sample=0.5),
        "bytes": make_plan(
            policy="prob", budget=BYTES[layout], in_bytes=True, layout=layout, sample=0.5
        ),
        "none": make_plan(policy="prob", layout=layout, sample=0.5),
    }
    run = Run(plans[before])
    found = Counter()
    for kind, batch in zip((before, before, after, before), batches, strict=True):
        run.plan = plans[kind]
        if run.state is not None:  # at once, before any row comes
            assert within_budget(take(JoinBucket(run.plan, 0, run.state), []), kind, layout)
        outcome = run.take(*batch)
        assert within_budget(outcome, kind, layout)
        found += rows_of(outcome)
    everything = exact(plans["none"], batches)
    assert found <= everything
    assert (found == everything) == (before == after == "none")
    assert outcome.totals["matched"] == sum(found.values())
    assert outcome.totals["arrived_0"] + outcome.totals["arrived_1"] == 3000


def test_bytes_of_rows_that_were_counted():
    # Held rows of a budget in rows weigh as much as if they had come under one in bytes.
    plan = make_plan(text_key=True, budget=10)
    texts = ["a" * 150, "b", "c" * 9]
    packed = [(0, packet([1, 2, 3], [0, 1, 2], [1, 2, 3], texts))]
    first = take(JoinBucket(plan, 0), packed)
    sized = replace(plan, budget=1_000_000, in_bytes=True)
    resumed = take(JoinBucket(sized, 0, first.state), [(0, packet([4], [3], [4], ["d"]))])
    fresh = take(JoinBucket(sized, 0), packed)
    charge = Engine(sized).join.footprint.charge
    assert resumed.totals["bytes"] == fresh.totals["bytes"] + charge + 8 + 4 + 1


@pytest.mark.parametrize("place", ["payload", "time", "key"])
def test_a_column_that_is_called_as_our_key(place):
    names = {"payload": ("k", "ts", KEY), "time": ("k", KEY, "v"), "key": (KEY, "ts", "v")}[place]
    key, time, value = names
    source = Input((key,), time, names, ("bigint", "timestamp", "bigint"), True)
    output = ((0, key, "k"), (0, time, "at"), (0, value, "v0"), (1, value, "v1"))
    plan = replace(make_plan(), inputs=(source, source), output=(output,))
    columns = {
        "k": pa.array([7, 8], pa.int64()),
        time: pa.array([0, 1], pa.int64()).cast(pa.timestamp("us", "UTC")),
        value: pa.array([70, 80], pa.int64()),
    }
    table = pa.table(columns).rename_columns(list(source.packed))
    first = take(JoinBucket(plan, 0), [(0, to_ipc(table))])
    outcome = take(JoinBucket(plan, 0, first.state), [(1, to_ipc(table))])
    found = {(k, v0, v1) for _, k, _, v0, v1 in rows_of(outcome)}
    assert found == {(7, 70, 70), (8, 80, 80)}
