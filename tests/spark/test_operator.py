"""The operator without Spark: whatever happens to images and attempts, no row is lost."""

import contextlib
import copy
import dataclasses
import itertools
import os
import shutil
import subprocess
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import types as T

from penstock import BadState
from penstock.precision.rule import Costs
from penstock.spark.frames import KEY, Input
from penstock.spark.runtime import image as images
from penstock.spark.runtime import operator
from penstock.spark.runtime.arrow import to_ipc
from penstock.spark.runtime.bucket import MicroBatch, Packet
from penstock.spark.runtime.declared import declared
from penstock.spark.runtime.join_bucket import JoinBucket, counter_names
from penstock.spark.runtime.journal import STATE, read_version
from penstock.spark.runtime.lookup_bucket import LookupBucket, lookup_counters
from penstock.spark.runtime.operator import Processor, Work
from penstock.spark.runtime.thin_bucket import READINGS, THIN_COUNTERS, ThinBucket, ThinPlan
from tests.spark import lookup_plans
from tests.spark.plans import cuts, drawn, make_plan, packets, rows_of_packets
from tests.spark.test_journal import Store


class Handle:
    """What Spark gives a processor: state that an attempt changes, and commits or not."""

    def __init__(self):
        self.stores = {}
        self.timers = set()

    def getMapState(self, name, key, value):
        return self.stores.setdefault(name, Store())

    def listTimers(self):
        return iter(sorted(self.timers))

    def registerTimer(self, time):
        self.timers.add(time)

    def deleteTimer(self, time):
        self.timers.discard(time)


class Watermark:
    def __init__(self, reached):
        self.reached = reached

    def getCurrentWatermarkInMs(self):
        return self.reached


class Query:
    """One bucket of a query, whose every micro-batch is run by an attempt of its own."""

    def __init__(self, plan, bucket=JoinBucket, names=None, rows=None):
        self.plan = plan
        self.handle = Handle()
        names = counter_names(2) if names is None else names
        self.work = Work(bucket, plan, names, event_time=bucket is JoinBucket, rows=rows)

    def attempt(self, batch, watermark, commit=True):
        before = copy.deepcopy(self.handle)
        processor = declared(Processor(self.work))
        processor.init(self.handle)
        rows = [(side, place, b"", blob) for place, (side, blob) in enumerate(batch)]
        frame = pd.DataFrame(rows, columns=list(operator.PACKED))
        key = (self.plan.labels[0],)
        made = pd.concat(processor.handleInputRows(key, iter([frame]), Watermark(watermark)))
        processor.close()
        if not commit:
            self.handle = before
        assert made.counters.notna().sum() == 1  # or figures would count twice
        counters = list(map(float, made.counters.iloc[-1].split(",")))
        if self.work.rows is not None:
            results = made[made["join"].notna()].drop(columns=["counters", "hottest"])
            return Counter(map(tuple, results.astype(object).replace(pd.NA, None).values)), counters
        found = [Packet(row.join, row.packet) for row in made.itertuples() if row.packet]
        return rows_of_packets(found), counters


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    operator._images.clear()
    monkeypatch.setattr(operator, "_warned", [])
    monkeypatch.setenv(images.VARIABLE, str(tmp_path))
    yield tmp_path
    operator._images.clear()


@pytest.fixture(params=[{"budget": None}, {"budget": 60}, {"budget": 60, "how": "full"}])
def plan(request):
    return make_plan(sample=0.5, delay=50, policy="prob", watermark=True, **request.param)


def micro_batches(seed, count=10):
    rng = np.random.default_rng(seed)
    for number, columns in enumerate(cuts(rng, drawn(rng, 300 * count), count)):
        yield packets(*columns), number // 2


def expected_of(plan, seed):
    """Return what a bucket finds that never leaves its process, micro-batch by micro-batch."""
    bucket = JoinBucket(plan, 0)
    for batch, watermark in micro_batches(seed):
        found = bucket.advance(MicroBatch(batch, 1000 * watermark))
        yield rows_of_packets(found), bucket.report(0)


def compare(plan, meddle, seed=1, rows=None):
    """Run a query, meddling before every micro-batch, and compare it with an undisturbed bucket."""
    query, total = Query(plan, rows=rows), Counter()
    for (batch, watermark), (found, report) in zip(
        micro_batches(seed), expected_of(plan, seed), strict=True
    ):
        meddle(query, batch, watermark)
        got, counters = query.attempt(batch, watermark)
        assert got == found
        told = dict(zip(counter_names(2), counters, strict=True))
        assert {n: v for n, v in told.items() if n != "bytes"} == {
            n: v for n, v in report.items() if n in told and n != "bytes"
        }
        total += got
    assert sum(total.values()) > 100


def test_results_as_rows_are_those_of_packets(plan):
    rows = T.StructType([T.StructField(name, T.LongType()) for name in ("k", "v0", "v1")])
    compare(plan, lambda *_: None, rows=rows)


def data_files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_undisturbed(plan, folder):
    loads = []
    original = images.Image.load

    def counting(self, token):
        found = original(self, token)
        loads.append(found is not None)
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(images.Image, "load", counting)
        compare(plan, lambda *_: None)
    assert loads == [True] * 9  # all but the first went on from the image
    assert data_files(folder)


def test_an_attempt_that_is_not_committed_is_as_if_it_never_was(plan):
    compare(plan, lambda query, *batch: query.attempt(*batch, commit=False))


def test_a_micro_batch_that_is_run_twice_after_its_commit_gives_the_same_rows(plan):
    query = Query(plan)
    for batch, watermark in micro_batches(3, 6):
        before = copy.deepcopy(query.handle)
        first = query.attempt(batch, watermark)
        after, query.handle = query.handle, before
        second = query.attempt(batch, watermark)
        assert first[0] == second[0]
        query.handle = after  # the first attempt's commit counts: its token is not the image's


def test_images_that_vanish(plan, folder):
    compare(plan, lambda *_: [shutil.rmtree(each) for each in folder.iterdir()])


def test_images_that_are_damaged(plan, folder):
    def damage(*_):
        for path in data_files(folder):
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    compare(plan, damage)


def test_a_folder_that_others_can_write(plan, folder):
    def open_up(*_):
        operator._images.clear()
        for path in folder.rglob("*"):
            path.chmod(0o777)

    compare(plan, open_up)


def test_a_full_disk(plan, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(images.os, "posix_fallocate", full)
    monkeypatch.setattr(images, "SMALL", 64)  # so that nothing travels with the pickle
    compare(plan, lambda *_: None)


@pytest.fixture
def small_disk(tmp_path):
    """Yield a folder on a disk of 1 MB of its own."""
    place = tmp_path / "small"
    place.mkdir()
    kind = ["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", str(place)]
    done = subprocess.run(["mount", *kind], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    yield place
    operator._images.clear()
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_disk_that_fills_up_and_has_room_again(plan, small_disk, monkeypatch, caplog):
    """To touch memory that has no room on its disk would end the process, so that is not done."""
    monkeypatch.setenv(images.VARIABLE, str(small_disk))
    filler, numbers, there = small_disk / "filler", itertools.count(), []

    def meddle(*_):
        number = next(numbers)
        there.append(len(list(small_disk.rglob("clean"))))
        if number == 3:
            disk = os.statvfs(small_disk)
            filler.write_bytes(bytes(disk.f_bavail * disk.f_frsize))
        elif number == 7:
            filler.unlink()

    compare(plan, meddle)
    assert there[:4] == [0, 1, 1, 1]
    assert 0 in there[4:8]  # what changed in place alone is kept
    assert there[9] == 1
    (said,) = caplog.messages
    assert "No space left on device" in said


def test_why_there_are_no_images_is_said_once_and_they_come_back(plan, folder, monkeypatch, caplog):
    missing = folder / "not there" / "images"
    monkeypatch.setenv(images.VARIABLE, str(missing))
    numbers = itertools.count()
    compare(plan, lambda *_: next(numbers) == 6 and missing.parent.mkdir())
    (said,) = caplog.messages
    assert f"in {missing}: images need the folder" in said
    assert f"set {images.VARIABLE} to a folder" in said
    assert data_files(missing)


def test_images_that_others_sweep_are_closed_and_open_files_are_few(plan, folder, monkeypatch):
    names = [f"bucket{number}" for number in range(4)]
    for name in names:
        image = operator._image(name)
        with image.lock():
            image.save(np.arange(10_000), "t")
            assert image.load("t") is not None
    assert [*operator._images] == names
    shutil.rmtree(operator._images["bucket1"].folder)
    operator._sweep()
    assert [*operator._images] == ["bucket0", "bucket2", "bucket3"]
    monkeypatch.setattr(images.Image, "descriptors", 10)
    monkeypatch.setattr(operator, "most_descriptors", lambda: 25)
    operator._image("bucket2")
    assert [*operator._images] == ["bucket3", "bucket2"]
    monkeypatch.setattr(operator, "most_descriptors", lambda: 5)
    operator._image("bucket2")
    assert [*operator._images] == ["bucket2"]


def test_two_queries_with_the_same_code(plan):
    queries = Query(plan), Query(plan)
    for batch, watermark in micro_batches(5, 5):
        both = [query.attempt(batch, watermark) for query in queries]
        assert both[0] == both[1]
    names = {query.handle.stores[STATE].version for query in queries}
    assert len(names) == 2


def test_an_attempt_that_has_the_image_is_not_waited_for(plan, folder, monkeypatch):
    """It may have been given up by Spark, or be so slow that Spark started another one."""
    monkeypatch.setattr(operator, "PATIENCE", 0.05)
    numbers = itertools.count()

    with contextlib.ExitStack() as held:

        def hold_every_other_time(query, *_):
            held.close()
            if next(numbers) % 2:
                name = read_version(query.handle.stores[STATE].version).name
                held.enter_context(images.Image(images.image_folder(name, 0)).lock())

        compare(plan, hold_every_other_time)
    assert next(numbers) > 5


def test_timers_are_few_and_right(plan):
    """There is always one, just after the watermark; Spark is asked nothing to know it."""
    query = Query(plan)
    asked = []
    for batch, watermark in micro_batches(4, 6):
        query.handle.listTimers = lambda: asked.append(1)
        query.attempt(batch, watermark)
        assert query.handle.timers == {watermark + 1}
    assert not asked
    processor = declared(Processor(query.work))
    processor.init(query.handle)
    query.handle.timers.clear()  # Spark removes the one that fires
    list(processor.handleExpiredTimer((plan.labels[0],), Watermark(50), Fired()))
    assert query.handle.timers == {51}


def test_a_timer_of_a_bucket_that_there_was_is_refused_with_a_sentence():
    """A query that is restarted with fewer buckets is called for those of before, too."""
    before, now = make_plan(buckets=3, watermark=True), make_plan(buckets=2, watermark=True)
    query = Query(before)
    query.plan = dataclasses.replace(before, labels=before.labels[2:])
    query.attempt(packets(*(np.array([each]) for each in (0, 7, 1, 9))), 0)
    processor = declared(Processor(query.work._replace(plan=now)))
    processor.init(query.handle)
    with pytest.raises(BadState, match=r"with buckets=3, and now with buckets=2; pass buckets=3"):
        list(processor.handleExpiredTimer((before.labels[2],), Watermark(50), Fired()))


class Fired:
    """What Spark tells of a timer that has fired."""


def lookup_case():
    """Return a lookup, its bucket, the names of its counters, and micro-batches."""
    plan = lookup_plans.make_plan(lookup_plans.Shop(), budget=12)
    rng = np.random.default_rng(2)
    batches = [[lookup_plans.events((40 * rng.random(200) ** 2).astype(int))] for _ in range(8)]
    return plan, LookupBucket, lookup_counters(), batches


def thin_case():
    """Return a thinning, its bucket, the names of its counters, and micro-batches."""
    source = Input(("k",), "ts", ("k", "ts", "v"), ("bigint", "timestamp", "double"), True)
    plan = ThinPlan(
        readings=source,
        queries=None,
        value="v",
        rounded=None,
        delta="delta",
        rule="static:width=1",
        costs=Costs(1.0, 2.0),
        limits=(0.0,),
        silence=None,
        seed=0,
        buckets=1,
        labels=(0,),
        partitions=1,
    )
    rng, batches = np.random.default_rng(3), []
    for number in range(8):
        time = pa.array(1000 * number + np.arange(200)).cast(pa.timestamp("us", "UTC"))
        value = rng.standard_normal(200).cumsum()
        rows = pa.table({KEY: rng.integers(0, 20, 200), "ts": time, "v": value})
        batches.append([(READINGS, to_ipc(rows))])
    return plan, ThinBucket, THIN_COUNTERS, batches


def vanish(folder, _):
    for each in folder.iterdir():
        shutil.rmtree(each)


def damage(folder, _):
    for path in data_files(folder):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def put_a_foreign_one(folder, kept):
    """Put the image of an earlier micro-batch in the place of the present one."""
    for path in data_files(folder):
        if path.name in kept:
            path.write_bytes(kept[path.name])
        kept[path.name] = path.read_bytes()


@pytest.mark.parametrize("case", [lookup_case, thin_case])
@pytest.mark.parametrize("meddle", [vanish, damage, put_a_foreign_one])
def test_images_of_other_operators(folder, case, meddle):
    plan, kind, names, batches = case()
    query, bucket, kept, total = Query(plan, kind, names), kind(plan, 0), {}, 0
    for batch in batches:
        got, _ = query.attempt(batch, None)
        assert got == rows_of_packets(bucket.advance(MicroBatch(batch)))
        assert data_files(folder) or meddle is vanish
        meddle(folder, kept)
        total += sum(got.values())
    assert total > 100


@pytest.mark.parametrize("case", [lookup_case, thin_case])
def test_attempts_of_other_operators_that_are_not_committed(case):
    plan, kind, names, batches = case()
    query, bucket = Query(plan, kind, names), kind(plan, 0)
    for batch in batches:
        query.attempt(batch, None, commit=False)
        got, _ = query.attempt(batch, None)
        assert got == rows_of_packets(bucket.advance(MicroBatch(batch)))
