"""Buckets without Spark: plans made by hand, and packets of plain rows."""

import json
from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.engine import Join
from penstock.kernel.shape import TWO_WAY
from penstock.spark.frames import KEY, Input
from penstock.spark.metrics import Metrics, read
from penstock.spark.plan import JoinPlan
from penstock.spark.recall.estimate import SUMS, estimate
from penstock.spark.runtime.arrow import from_ipc, to_ipc
from penstock.spark.runtime.bucket import MicroBatch, Packet
from penstock.spark.runtime.join_bucket import COUNTED, JoinBucket, bucket_budget
from tests.recount import recount

SECOND = 1_000_000


def make_plan(*, text_key=False, joins=TWO_WAY, inputs=2, **options) -> JoinPlan:
    """Return a plan over (k, ts, v) on every side; times are in microseconds."""
    kind = "string" if text_key else "bigint"
    names, kinds = ("k", "ts", "v"), (kind, "timestamp", "bigint")
    sides = tuple(Input(("k",), "ts", names, kinds, not text_key) for _ in range(inputs))
    output = tuple(
        (
            (join[0][0], "k", "k"),
            *((stream, "v", f"v{leg}") for leg, (stream, _) in enumerate(join)),
        )
        for join in joins
    )
    chosen = {
        "within": 100,
        "delay": 0,
        "clock": "slowest",
        "watermark": False,
        "behind": 0,
        "budget": None,
        "in_bytes": False,
        "policy": "clock",
        "goal": "pairs",
        "layout": "unified",
        "buckets": 1,
        "partitions": 1,
        "seed": 0,
        "sample": 0.0,
    } | options
    labels = tuple(range(chosen["buckets"]))
    return JoinPlan(inputs=sides, joins=joins, labels=labels, output=output, **chosen)


def packet(keys, times, values, texts=None) -> bytes:
    """Return rows as they travel: the 64-bit key, then the columns."""
    columns = {
        KEY: pa.array(keys, pa.int64()),
        "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
        "v": pa.array(values, pa.int64()),
    }
    if texts is not None:
        columns["k"] = pa.array(texts, pa.string())
    return to_ipc(pa.table(columns))


def packets(side, key, time, value) -> list[tuple[int, bytes]]:
    """Return one packet per side."""
    made = []
    for number in np.unique(side):
        mine = side == number
        made.append((int(number), packet(key[mine], time[mine], value[mine])))
    return made


def rows_of(outcome) -> Counter:
    """Return the results of a micro-batch as a multiset of (join, row)."""
    return rows_of_packets(outcome.packets)


def rows_of_packets(packets) -> Counter:
    """Return the rows of some packets as a multiset of (join, row)."""
    found = Counter()
    for join, blob, _ in packets:
        table = from_ipc(blob)
        columns = [column.to_pylist() for column in table.columns]
        found.update((join, *row) for row in zip(*columns, strict=True))
    return found


class Outcome(NamedTuple):
    """All that a micro-batch leaves behind in a bucket."""

    packets: list[Packet]
    totals: dict[str, float]
    state: bytes
    hottest: str | None


def take(bucket, packets, watermark=None, digests=()) -> Outcome:
    """Let a bucket take the packets of one micro-batch; return all that comes out of it."""
    made = list(bucket.advance(MicroBatch(packets, watermark, digests)))
    state = bucket.save()
    return Outcome(made, bucket.report(len(state)), state, bucket.hottest())


class Run:
    """A bucket that is saved and restored between any two micro-batches, as on Spark."""

    def __init__(self, plan: JoinPlan, number: int = 0):
        self.plan, self.number, self.state = plan, number, None

    def take(self, side, key, time, value):
        bucket = JoinBucket(self.plan, self.number, self.state)
        outcome = take(bucket, packets(side, key, time, value))
        self.state = outcome.state if outcome.state is not None else self.state
        recount(bucket.join)
        return outcome


class Engine:
    """The local engine, fed with the rows of one bucket; keeps every row to look results up."""

    def __init__(self, plan: JoinPlan, number: int = 0):
        self.join = Join(
            plan.policy,
            bucket_budget(plan, number),
            goal=plan.goal,
            within=plan.within,
            joins=plan.joins,
            layout=plan.layout,
            delay=plan.delay,
            clock=plan.clock,
            in_bytes=plan.in_bytes,
            seed=plan.seed + number,
        )
        self.keys, self.values = [], []

    def take(self, side, key, time, value) -> Counter:
        order = np.argsort(side, kind="stable")  # a bucket takes side after side
        side, key, time, value = side[order], key[order], time[order], value[order]
        self.keys += key.tolist()
        self.values += value.tolist()
        size = np.full(len(side), 8) if self.join.in_bytes else None
        found = self.join.push(side, key, time, size=size)
        return Counter(
            (join, self.keys[rows[0]], *(self.values[row] for row in rows if row >= 0))
            for join, rows in zip(found.join.tolist(), found.rows.tolist(), strict=True)
        )


def drawn(rng, count, *, sides=2, keys=50, start=0, span=1000, skew=0.0, delay=0):
    """Draw columns (side, key, time, value) in order of arrival; `skew`: the share of key 0."""
    key = np.where(rng.random(count) < skew, 0, rng.integers(0, keys, count))
    time = np.sort(rng.integers(start, start + span, count))
    if delay:
        time = time[np.argsort(time + rng.integers(0, delay + 1, count), kind="stable")]
    return rng.integers(0, sides, count), key, time, rng.integers(0, 2**40, count)


def cuts(rng, columns, parts):
    """Cut columns into micro-batches."""
    count = len(columns[0])
    marks = np.sort(rng.integers(0, count + 1, parts - 1))
    for a, b in zip([0, *marks], [*marks, count], strict=True):
        yield tuple(column[a:b] for column in columns)


def taken_as_by_the_engine(plan, columns, size):
    """Let a bucket, stored after every batch, and the local engine take the same rows.

    Expects the same results of both; returns the bucket as it is read from its state, and the
    engine.
    """
    bucket, engine = Run(plan), Engine(plan)
    found, expected = Counter(), Counter()
    for first in range(0, len(columns[0]), size):
        part = [column[first : first + size] for column in columns]
        found += rows_of(bucket.take(*part))
        expected += engine.take(*part)
    assert found == expected
    assert found
    return JoinBucket(plan, 0, bucket.state), engine


def told(totals, inputs=2, goal="pairs", hottest=()) -> Metrics:
    """Return what `metrics` tells of a join with these counters, worked out without Spark."""
    streams = range(inputs)
    figures = {name: [int(totals[f"{name}_{i}"]) for i in streams] for name in COUNTED}
    gone = sum(figures["evicted"]) + sum(figures["rejected"])
    pairs = estimate({n: totals[f"watch_{n}"] for n in SUMS}, totals["matched"], gone)
    matched = [int(totals[f"rows_matched_{i}"]) for i in streams]
    rows = [estimate({n: totals[f"rows_{n}_{i}"] for n in SUMS}, matched[i], gone) for i in streams]
    for end, part in {"": "value", "_low": "low", "_high": "high"}.items():
        figures[f"recall{end}"] = getattr(pairs, part)
        figures[f"row_recall{end}"] = [getattr(each, part) for each in rows]
    most = sorted((n for text in hottest for n in json.loads(text)["pairs"]), reverse=True)[:10]
    matches = int(totals["matched"])
    figures |= {
        "null_keys": figures["null"],
        "null_times": int(totals["no_time"]),
        "matches": matches,
        "rows_held": int(totals["held"]),
        "bytes_held": int(totals["bytes"]),
        "rows_matched": matched,
        "hot_pairs": min(1.0, sum(most) / matches) if hottest and matches else None,
        "hottest": [key for text in hottest for key in json.loads(text)["hottest"]],
        "shares": [int(totals["share"])] * 2,
        "in_force": {"buckets": {}, "scores": {}, "switches": int(totals["switches"])},
        "policy": "",
        "goal": goal,
        "budget": None,
        "in_bytes": False,
    }
    return read("penstock", figures, 0)
