"""Buckets of a lookup without Spark: a relation in a dictionary, a clock that is set by hand."""

import pyarrow as pa

from penstock.relations import Patience, as_source
from penstock.spark.frames import KEY, Input
from penstock.spark.plan import LookupPlan
from penstock.spark.runtime.arrow import from_ipc, to_ipc
from penstock.spark.runtime.lookup_bucket import CHANGES, EVENTS, LookupBucket
from tests.recount import recount
from tests.spark.plans import take

SECOND = 1_000_000


class Shop:
    """A relation whose rows change; remembers what it was asked for."""

    def __init__(self, keys=range(100), prices=None):
        self.rows = {key: f"row {key}" for key in keys}
        self.prices = prices  # of keys; with it the relation has a column of prices
        self.asked = []
        self.takes = 0  # microseconds that an answer takes
        self.clock = None

    def __call__(self, keys):
        asked = keys.to_pylist()
        self.asked.append(asked)
        if self.clock is not None:
            self.clock.time += self.takes
        known = [key for key in asked if key in self.rows]
        found = {"k": pa.array(known, keys.type), "name": [self.rows[k] for k in known]}
        if self.prices is not None:
            found["price"] = pa.array([self.prices.get(k) for k in known], pa.int32())
        return pa.table(found)


class Clock:
    """The time, in microseconds."""

    def __init__(self):
        self.time = 1_000_000 * SECOND

    def __call__(self):
        return self.time

    def pass_by(self, seconds):
        self.time += round(seconds * SECOND)


def make_plan(shop, *, text_key=False, **options) -> LookupPlan:
    """Return a plan over events (k, v) and a relation (k, name), which may have prices."""
    kind, arrow = ("string", pa.string()) if text_key else ("bigint", pa.int64())
    chosen = {
        "how": "left",
        "on_missing": "null",
        "ttl": None,
        "budget": 10,
        "in_bytes": False,
        "policy": "lru",
        "seed": 0,
        "patience": Patience(size=1000, retries=0),
        "buckets": 1,
        "partitions": 1,
    } | options
    promised = [("k", arrow), ("name", pa.string())]
    promised += [] if shop.prices is None else [("price", pa.int32())]
    return LookupPlan(
        events=Input(("k",), None, ("k", "v"), (kind, "bigint"), not text_key),
        source=as_source(shop, ("k",)),
        promised=pa.schema(promised),
        columns=tuple((name, name) for name, _ in promised[1:]),
        labels=tuple(range(chosen["buckets"])),
        **chosen,
    )


def events(keys, texts=None, start=0) -> tuple[int, bytes]:
    """Return events as they travel: the 64-bit key, then the columns; `v` numbers them."""
    columns = {KEY: pa.array(keys, pa.int64())}
    if texts is not None:
        columns["k"] = pa.array(texts, pa.string())
    columns["v"] = pa.array(range(start, start + len(keys)), pa.int64())
    return EVENTS, to_ipc(pa.table(columns))


def changes(keys) -> tuple[int, bytes]:
    return CHANGES, to_ipc(pa.table({KEY: pa.array(keys, pa.int64())}))


def rows_of(outcome) -> list[tuple]:
    """Return what leaves a bucket: (k, v, name), and the price if there is one, in order."""
    tables = [from_ipc(packet.rows) for packet in outcome.packets]
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


class Run:
    """A bucket that is saved and restored between any two micro-batches, as on Spark."""

    def __init__(self, plan, clock=None, number=0):
        self.plan, self.number, self.state = plan, number, None
        self.clock = clock or Clock()

    def take(self, *packets):
        bucket = LookupBucket(self.plan, self.number, self.state, self.clock)
        outcome = take(bucket, list(packets))
        self.state = outcome.state if outcome.state is not None else self.state
        recount(bucket.cache)
        return outcome

    def names(self, keys, *more):
        return [name for _, _, name in rows_of(self.take(*more, events(keys)))]
