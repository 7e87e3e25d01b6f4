"""Results larger than memory, or than an Arrow array, leave a bucket in packets of bounded size."""

import tracemalloc
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from penstock.kernel.shape import all_streams, in_pairs
from penstock.precision import make_costs
from penstock.precision.thinning import KINDS, Refreshes
from penstock.spark import join, metrics
from penstock.spark.frames import KEY, Input
from penstock.spark.runtime import join_bucket, results, segments
from penstock.spark.runtime import thin_bucket as thinned
from penstock.spark.runtime.arrow import BYTES, ROWS, column_bytes, from_ipc, to_ipc
from penstock.spark.runtime.bucket import MicroBatch
from penstock.spark.runtime.join_bucket import JoinBucket
from tests.spark.plans import Engine, Run, cuts, drawn, make_plan, packet, rows_of, take
from tests.spark.processes import figures, kill, start_driver
from tests.spark.streams import Files, at

MARGIN = 4096  # what the frame of a packet takes


@pytest.fixture
def small_packets(monkeypatch):
    monkeypatch.setattr(results, "ROWS", 50)
    monkeypatch.setattr(results, "BYTES", 3000)


@pytest.mark.parametrize("joins", [all_streams(2), all_streams(3), in_pairs(4)])
@pytest.mark.parametrize("budget", [None, 60])
def test_small_packets_hold_the_engine_s_results(small_packets, joins, budget):
    rng = np.random.default_rng(1)
    inputs = 1 + max(stream for each in joins for stream, _ in each)
    plan = make_plan(joins=joins, inputs=inputs, budget=budget, policy="prob", sample=0.5)
    run, engine = Run(plan), Engine(plan)
    for batch in cuts(rng, drawn(rng, 1500, sides=inputs, keys=40), 5):
        outcome = run.take(*batch)
        assert rows_of(outcome) == engine.take(*batch)
        assert all(0 < from_ipc(packet.rows).num_rows <= 50 for packet in outcome.packets)


def test_the_recall_is_the_same_in_packets_of_any_size(monkeypatch):
    rng = np.random.default_rng(2)
    plan = make_plan(budget=60, policy="prob", sample=1.0)
    batches = list(cuts(rng, drawn(rng, 2000, keys=30), 4))
    told = []
    for rows in (ROWS, 7):
        monkeypatch.setattr(results, "ROWS", rows)
        run = Run(plan)
        told.append([run.take(*batch).totals for batch in batches])
    assert told[0] == told[1]
    assert told[0][-1]["watch_certain"] > 0  # all rows are watched, and some lost results
    assert told[0][-1]["matched"] > 0


def test_large_rows_make_packets_of_few_rows(small_packets):
    texts = ["short", "long" * 200, "large" * 2000]
    sides = [
        (side, packet([7] * 90, range(90), range(90), [texts[i % 3] for i in range(90)]))
        for side in (0, 1)
    ]
    outcome = take(JoinBucket(make_plan(text_key=True), 0), sides)
    assert sum(rows_of(outcome).values()) == 3 * 30 * 30
    for _, rows, _ in outcome.packets:
        table = from_ipc(rows)
        assert table.num_rows == 1 or table.nbytes <= 3000


def test_results_leave_while_rows_are_taken():
    n = 1000
    sides = [(side, packet([7] * n, [0] * n, range(n))) for side in (0, 1)]
    bucket = JoinBucket(make_plan(), 0)
    stream = bucket.advance(MicroBatch(sides))
    first = next(stream)
    assert 0 < from_ipc(first.rows).num_rows <= bucket.join.results < n * n / 4
    tracemalloc.start()
    largest = max(len(each.rows) for each in stream)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert bucket.totals["matched"] == n * n
    assert peak < 12 * largest  # of 16 packets, the rows of a part, and the state


def test_one_large_row_and_many_partners():
    """One row of 100 kB against 22,000: 2.2 GB, and an array of texts holds 2 GB at most."""
    n, text = 22_000, "x" * 100_000
    plan = with_texts(make_plan())
    sides = [(0, text_packet([7], [text])), (1, text_packet([7] * n, ["y"] * n))]
    total = 0
    for _, rows, _ in JoinBucket(plan, 0).advance(MicroBatch(sides)):
        table = from_ipc(rows)
        assert len(rows) <= BYTES + MARGIN
        assert column_bytes(table["v0"]).min() == len(text) + 4
        total += table.num_rows
    assert total == n


def test_a_large_key_whose_hash_many_others_have():
    n = 22_000
    left = packet([7], [0], [1], ["x" * 100_000])
    right = packet([7] * n, [0] * n, range(n), ["y"] * n)
    assert (
        rows_of(take(JoinBucket(make_plan(text_key=True), 0), [(0, left), (1, right)])) == Counter()
    )


def with_texts(plan):
    """Return a plan whose payload is text."""
    sides = tuple(replace(each, types=("bigint", "timestamp", "string")) for each in plan.inputs)
    return replace(plan, inputs=sides)


def text_packet(keys, texts) -> bytes:
    times = pa.array([0] * len(keys)).cast(pa.timestamp("us", "UTC"))
    return to_ipc(pa.table({KEY: pa.array(keys, pa.int64()), "ts": times, "v": pa.array(texts)}))


@pytest.mark.parametrize("text_key", [True, False])
def test_refreshes_of_large_keys_leave_in_small_packets(monkeypatch, text_key):
    monkeypatch.setattr(thinned, "BYTES", 3000)
    keys = ["k" * (1 + 500 * (number % 3)) + str(number) for number in range(40)]
    numbers = np.arange(40)
    columns = [pa.chunked_array([keys[:20], keys[20:]])] if text_key else []
    source = Input(
        ("k",), "ts", ("k", "ts"), ("string" if text_key else "int", "timestamp"), not text_key
    )
    side = thinned.Side(numbers, numbers, numbers / 2, numbers < 0, columns, {})
    rows = np.repeat(numbers, 3)[::-1]
    found = Refreshes(rows, rows, rows - 1.0, rows + 1.0, rows % len(KINDS))
    plan = SimpleNamespace(readings=source, costs=make_costs(1.0, 2.0))
    tables = [from_ipc(each.rows) for each in thinned.to_packets(plan, [side, side], found)]
    whole = pa.concat_tables(tables)
    assert whole["k"].to_pylist() == [keys[row] if text_key else row for row in rows]
    assert whole["low"].to_pylist() == (rows - 1.0).tolist()
    assert all(table.nbytes <= 3000 for table in tables)
    assert len(tables) > 1


# ------------------------------------------------------- columns of more than 2 GB


def test_a_bucket_whose_rows_make_many_segments_finds_the_same(monkeypatch):
    """No column is put together that Arrow's usual types could not hold."""
    batches = [
        [text_packet([k, k + 1], [f"{k}" * 9, "y" * k]) for k in (n, n + 1)] for n in (1, 2, 3)
    ]
    plan = with_texts(make_plan())
    expected, found = Counter(), Counter()
    for limit, into in ((segments.LARGEST_BYTES, expected), (20, found)):
        monkeypatch.setattr(segments, "LARGEST_BYTES", limit)
        monkeypatch.setattr(join_bucket, "LARGEST_BYTES", limit)
        state = None
        for left, right in batches:
            bucket = JoinBucket(plan, 0, state)
            outcome = take(bucket, [(0, left), (1, right)])
            into.update(rows_of(outcome))
            state = outcome.state
    assert found == expected
    assert sum(found.values()) > 5
    assert max(len(held.parts) for held in bucket.rows) > 1


# ------------------------------------------------------- the operator


@pytest.mark.slow
@pytest.mark.spark
def test_more_results_than_may_wait_in_a_worker(spark, tmp_path):
    """More than 64 MB from one micro-batch: all rows arrive, and are counted once."""
    from pyspark.sql import functions as F

    n = 850
    text = "x" * 50
    sides = [Files(tmp_path / side, f"k int, ts timestamp, {side} string") for side in "ab"]
    for side in sides:
        side.add([(7, at(0), f"{number:04}{text}") for number in range(n)])
    options = {"on": "k", "time": "ts", "within": "10 seconds", "delay": "0 seconds"}
    sums = ["count(*) as n", "sum(int(left(a, 4))) as a", "sum(int(left(b, 4))) as b"]
    expected = (n * n, n * n * (n - 1) // 2, n * n * (n - 1) // 2)
    still = join(*(side.batch(spark) for side in sides), **options)
    assert tuple(still.selectExpr(*sums).first()) == expected
    live = join(*(side.stream(spark) for side in sides), **options)
    query = (
        live.observe("seen", *map(F.expr, sums))
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    seen = query.recentProgress[0]["observedMetrics"]["seen"].asDict()
    assert tuple(seen.values()) == expected
    told = metrics(query)
    assert (told.matches, told.arrived, told.rows_held) == (n * n, (n, n), 2 * n)


# Each in a process of its own, whose workers have done nothing else.


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stream", "batch"])
@pytest.mark.parametrize("case", ["hot key", "large row", "many"])
def test_the_workers_stay_small(case, kind, tmp_path):
    process = start_driver(
        {"folder": str(tmp_path), "case": case, "kind": kind},
        tmp_path / "log",
        "tests.spark.large_driver",
    )
    try:
        told = figures(process, tmp_path / "log")
    finally:
        kill(process)
    print(case, kind, told)
    assert told["rows"] == {"hot key": 3200**2, "large row": 30_000, "many": 10**8}[case]
    assert told["peak"] - told["rest"] < 1000  # MB
