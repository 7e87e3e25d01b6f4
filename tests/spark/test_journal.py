"""The durable state of a bucket: whatever is lost between micro-batches, it goes on as it was."""

from dataclasses import replace

import numpy as np
import pytest

from penstock.errors import BadState
from penstock.spark.runtime import journal as journals
from penstock.spark.runtime.bucket import MicroBatch
from penstock.spark.runtime.join_bucket import JoinBucket
from penstock.spark.runtime.journal import BASE, STEP, VERSION, Journal, read_version
from tests.spark.plans import cuts, drawn, make_plan, packets, rows_of_packets


class Store:
    """A map of Spark's state store, in memory."""

    def __init__(self):
        self.values, self.written = {}, 0

    def getValue(self, key):
        return self.values.get(key)

    def updateValue(self, key, value):
        self.values[key] = value
        self.written += len(value[0])

    def removeKey(self, key):
        del self.values[key]

    def clear(self):
        self.values = {}

    @property
    def version(self):
        return self.values[(VERSION,)][0]


class Kept:
    """A bucket whose only memory between micro-batches is its journal."""

    def __init__(self, plan):
        self.plan, self.store = plan, Store()

    def take(self, batch):
        journal = Journal(self.store, self.plan, 0)
        bucket = self.open(journal)
        made = list(bucket.advance(batch))
        journal.commit(bucket, batch, force_base=not journal.is_same)
        return rows_of_packets(made), bucket.report(0)

    def open(self, journal):
        if journal.is_new:
            return JoinBucket(self.plan, 0)
        bucket = journal.rebuild(JoinBucket)
        return bucket if journal.is_same else JoinBucket(self.plan, 0, bucket.save())


def batches(rng, count=8, rows=400):
    for number, batch in enumerate(cuts(rng, drawn(rng, rows * count), count)):
        watermark = 1000 * number if number else None
        yield MicroBatch(packets(*batch), watermark)


@pytest.mark.parametrize("budget", [None, 60])
@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("chunk", [100, 1 << 20])
def test_a_bucket_is_rebuilt_from_base_and_log(monkeypatch, budget, chunk, few):
    monkeypatch.setattr(journals, "CHUNK", chunk)
    monkeypatch.setattr(journals, "FEW", few)
    monkeypatch.setattr(journals, "LEAST", 3000)
    rng = np.random.default_rng(1)
    plan = make_plan(budget=budget, sample=0.5, watermark=True, delay=50, policy="prob")
    kept, whole = Kept(plan), JoinBucket(plan, 0)
    bases = set()
    for batch in batches(rng):
        found, report = kept.take(batch)
        assert found == rows_of_packets(whole.advance(batch))
        assert report == whole.report(0)
        bases.add(read_version(kept.store.version).base_bytes)
    assert 1 < len(bases) < 8  # some micro-batches wrote a base, some did not
    version = read_version(kept.store.version)
    log = [STEP * number for number in range(1, version.pieces + 1)]
    base = [BASE + STEP * number for number in range(version.chunks)]
    assert kept.store.values.keys() == {(number,) for number in (VERSION, *log, *base)}
    # As RocksDB orders what Spark writes for these numbers: version, log, base.
    stored = sorted((VERSION, *log, *base), key=lambda number: number.to_bytes(8, "little"))
    assert set(stored[: 1 + len(log)]) == {VERSION, *log}


def test_other_terms_hold_from_the_restart_on(monkeypatch):
    rng = np.random.default_rng(2)
    plan = make_plan(budget=100, sample=0.5, watermark=True, delay=50, policy="prob")
    other = replace(plan, budget=30, policy="lru")
    kept, whole = Kept(plan), JoinBucket(plan, 0)
    for number, batch in enumerate(batches(rng)):
        if number == 4:
            kept.plan = other
            whole = JoinBucket(other, 0, whole.save())
        found, report = kept.take(batch)
        assert found == rows_of_packets(whole.advance(batch))
        assert report == whole.report(0)
    assert report["held"] <= 30


def test_what_is_written_is_what_comes():
    rng = np.random.default_rng(3)
    kept = Kept(make_plan(within=2000, watermark=True))
    came = 0
    for number in range(60):
        side, key, time, value = drawn(rng, 3000)
        batch = packets(side, key, time + 3000 * number, value)
        came += sum(len(packet) for _, packet in batch)
        kept.take(MicroBatch(batch, 3000 * number))
    assert kept.store.written < 3 * came


def test_another_query_and_another_format_are_refused():
    kept = Kept(make_plan(within=10, watermark=True))
    kept.take(MicroBatch([]))
    with pytest.raises(BadState, match="within"):
        Journal(kept.store, make_plan(within=20, watermark=True), 0)
    said = kept.store.version
    kept.store.values[(VERSION,)] = (said.replace(b'"format": 4', b'"format": 3'),)
    with pytest.raises(BadState, match="format 3, this Penstock reads format 4"):
        Journal(kept.store, make_plan(within=10, watermark=True), 0)
    kept.store.values[(VERSION,)] = (JoinBucket(kept.plan, 0).save(),)  # as in format 2: a base
    with pytest.raises(BadState, match="format 2, this Penstock reads format 4"):
        Journal(kept.store, make_plan(within=10, watermark=True), 0)
    kept.store.values[(VERSION,)] = (b"something else",)
    with pytest.raises(BadState, match="not written by Penstock"):
        Journal(kept.store, make_plan(within=10, watermark=True), 0)


def test_a_part_that_is_missing_or_damaged_is_reported():
    kept = Kept(make_plan(watermark=True))
    kept.take(MicroBatch(packets(*drawn(np.random.default_rng(0), 50))))
    (base,) = kept.store.values.pop((BASE,))
    with pytest.raises(BadState, match="missing"):
        kept.take(MicroBatch([]))
    for damaged in (base[:4], base[:-1], b"?" + base[1:], base[:40] + b"?" + base[41:]):
        kept.store.values[(BASE,)] = (damaged,)
        with pytest.raises(BadState, match="damaged"):
            kept.take(MicroBatch([]))


def test_a_budget_after_none_loses_no_row_that_is_not_late():
    plan = make_plan(budget=None, within=1000, delay=50, watermark=True)
    first = JoinBucket(plan, 0)
    list(first.advance(MicroBatch(packets(*drawn(np.random.default_rng(4), 100)), 500)))
    second = JoinBucket(replace(plan, budget=10_000), 0, first.save())
    third = JoinBucket(plan, 0, first.save())
    for number in range(3):
        batch = packets(
            *drawn(np.random.default_rng(5 + number), 200, start=600 + 300 * number, span=300)
        )
        found, whole = (
            rows_of_packets(each.advance(MicroBatch(batch, 550))) for each in (second, third)
        )
        assert found == whole
        assert sum(found.values()) > 100
