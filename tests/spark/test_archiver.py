"""One bucket with an archive: what it gives out live and what it owes make up the exact join."""

import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import BadState
from penstock.spark.runtime.archiver import (
    LEFT,
    NEVER,
    PLACE_BITS,
    TOLD,
    LeftKeys,
    Reading,
    make_reader,
)
from penstock.spark.runtime.arrow import from_ipc, from_parquet, to_parquet
from penstock.spark.runtime.bucket import MicroBatch
from penstock.spark.runtime.join_bucket import JoinBucket
from tests.marks import some
from tests.naive.archive import owed
from tests.naive.how import HOWS, NO_PARTNER, exact_results
from tests.recount import recount
from tests.spark.plans import make_plan, packet, packets

EPOCH = datetime.fromtimestamp(0, UTC)
START = 100_000  # microseconds; the time of the first row
FAR = 10**9  # microseconds after it; the watermark at the end
WINDOWS = [40, 0, (0, 60), (-15, 55), (20, 50), (-45, -10)]
DELAY = 30


def year(number):
    """Return when a year begins, in microseconds since 1970."""
    return (datetime(number, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def drawn(rng, count, keys, start):
    """Draw rows (side, key, time, value) in an order of arrival that keeps to the delay."""
    time = np.cumsum(rng.integers(0, 6, count)) + start
    arrival = np.argsort(time + rng.integers(0, DELAY + 1, count), kind="stable")
    side, key = rng.integers(0, 2, count), rng.zipf(1.6, count) % keys
    return tuple(column[arrival] for column in (side, key, time, np.arange(count)))


def records_of(packet):
    """Return the records of a packet of the archive."""
    times, rows = [], from_parquet(packet.rows).to_pylist()
    for row in rows:
        record = {"bucket": row["row"] >> PLACE_BITS, "left": None, "right": None}
        record |= {"place": row["row"] % (1 << PLACE_BITS), "alone": row["alone"], "last": None}
        if row["last"] is not None:
            record["last"] = row["last"] % (1 << PLACE_BITS)
        if packet.join != TOLD:
            key, time, value = (row[f"c{place}"] for place in range(3))
            times.append((time - EPOCH) // timedelta(microseconds=1))
            record["left" if packet.join == LEFT else "right"] = (key, times[-1], value)
        yield record
    assert packet.about == (len(rows), *((min(times), max(times)) if times else (None, None)))


def packets_of_a_band(side, key, time, value):
    """Return a packet per side, with keys as texts and hashes of them that are far apart."""
    made = []
    for number in np.unique(side):
        mine = side == number
        texts = [str(each) for each in key[mine]]
        made.append((int(number), packet(key[mine] << 40, time[mine], value[mine], texts)))
    return made


class Live:
    """A bucket that is told the watermark, and now and then saved, replayed or given less."""

    def __init__(self, plan, moody):
        self.plan, self.moody = plan, moody
        self.bucket = JoinBucket(plan, 0)
        self.base, self.log = None, []
        self.found, self.records = Counter(), []
        self.pack = packets if plan.near is None else packets_of_a_band

    def take(self, columns, watermark):
        self._restart()
        batch = MicroBatch(self.pack(*columns), watermark)
        for made in self.bucket.advance(batch):
            if made.about is not None:
                self.records += records_of(made)
                continue
            for row in from_ipc(made.rows).to_pylist():
                values = (row["v0"], row.get("v1"))
                self.found[tuple(NO_PARTNER if v is None else v for v in values)] += 1
        self.log.append(batch)
        recount(self.bucket.join)

    def _restart(self):
        what = self.moody.choice(["on", "on", "saved", "replayed", "budget"])
        if what == "replayed":
            self.bucket = JoinBucket(self.plan, 0, self.base)
            for batch in self.log:
                self.bucket.replay(batch)
        elif what != "on":
            if what == "budget" and self.plan.budget and not self.plan.in_bytes:
                self.plan = replace(self.plan, budget=self.moody.randint(1, 40))
            self.base, self.log = self.bucket.save(), []
            self.bucket = JoinBucket(self.plan, 0, self.base)


def check(how, within, budget, seed, *, count=160, keys=7, near=None, start=START, **options):
    """Expect that live results and what is owed are exact; return how many records there are.

    With `near` the numbers of two rows that match must lie so near, too.
    """
    rng, moody = np.random.default_rng(seed), random.Random(seed)
    plan = make_plan(
        how=how,
        within=within,
        budget=budget,
        goal="pairs" if how == "inner" else "rows",
        delay=DELAY,
        watermark=True,
        archived=True,
        text_key=near is not None,
        **{"policy": "clock"} | options,
    )
    if how in ("semi", "anti"):
        plan = replace(plan, output=(((0, "k", "k"), (0, "v", "v0")),))
    if near is not None:
        sides = tuple(replace(each, near="v") for each in plan.inputs)
        plan = replace(plan, near=near, said_near="near", inputs=sides)
    live, columns = Live(plan, moody), drawn(rng, count, keys, start)
    marks = np.sort(rng.integers(0, count + 1, 6))
    for first, stop in zip([0, *marks], [*marks, count], strict=True):
        part = tuple(column[first:stop] for column in columns)
        seen = [columns[2][:stop][columns[0][:stop] == side] for side in (0, 1)]
        reached = min(max(each, default=0) for each in map(list, seen)) - DELAY - 1
        live.take(part, max(0, int(reached)))
    live.take(tuple(column[:0] for column in columns), start + FAR)
    rows = [
        (n, {"stream": s, "keys": (k,), "time": t, "value": n})
        for s, k, t, n in zip(*map(np.ndarray.tolist, columns), strict=True)
    ]
    exact = Counter(exact_results(rows, within, how, near))
    if how != "inner":  # what became of a row is told as soon as the watermark has passed it
        assert not live.bucket.join.held
    if how == "inner":  # rows expire as others come
        assert live.found <= exact
    more, less = owed(live.records, within, how, near)
    assert not less - live.found
    assert live.found + more - less == exact
    whole = [record for record in live.records if record["left"] or record["right"]]
    assert len(whole) == len({record["place"] for record in whole}) <= count
    return live, sum(more.values())


@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=pytest.mark.compiled) if how == "left" else how for how in HOWS]
)
def test_live_and_owed_are_exact(how):
    """A fixed case of each kind, in which much is owed."""
    live, more = check(how, (-15, 55), 6, seed=1, count=400)
    assert len(live.records) > 100
    assert more > 0 or how == "anti"


@pytest.mark.parametrize("how", [how for how in HOWS if how != "inner"])
def test_rows_leave_at_the_watermark_though_one_side_is_silent(how):
    """Else a step of reconciling would drop them before what became of them is told."""
    plan = make_plan(
        how=how, within=(-15, 55), budget=2, goal="rows", delay=DELAY, watermark=True, archived=True
    )
    if how in ("semi", "anti"):
        plan = replace(plan, output=(((0, "k", "k"), (0, "v", "v0")),))
    live = Live(plan, random.Random(0))
    side, key, time = np.array([1, 1, 1, 1, 1, 0]), np.array([1, 5, 6, 7, 8, 1]), np.arange(6)
    for part in range(6):  # rows of the right side push out the partner of the last row
        one = slice(part, part + 1)
        live.take((side[one], key[one], START + time[one], time[one]), 0)
    assert live.bucket.join.held
    live.take(tuple(np.zeros((4, 0), np.int64)), START + FAR)
    assert not live.bucket.join.held
    more, less = owed(live.records, (-15, 55), how)
    exact = {"left": {(5, 0)}, "semi": {(5, NO_PARTNER)}, "anti": set()}
    alone = {(NO_PARTNER, number) for number in range(1, 5)}
    exact |= {"right": {(5, 0)} | alone, "full": {(5, 0)} | alone}
    assert live.found + more - less == Counter(exact[how])


@settings(deadline=None)
@given(
    how=st.sampled_from(HOWS),
    within=st.sampled_from(WINDOWS),
    budget=st.integers(1, 30),
    seed=st.integers(0, 2**32),
    keys=st.integers(1, 30),
)
def test_live_and_owed_are_exact_whatever_comes(how, within, budget, seed, keys):
    check(how, within, budget, seed, keys=keys)


@settings(deadline=None)
@given(
    how=st.sampled_from(HOWS),
    near=st.integers(1, 60),
    budget=st.integers(1, 30),
    seed=st.integers(0, 2**32),
    keys=st.integers(1, 5),
)
def test_band_joins_are_exact(how, near, budget, seed, keys):
    check(how, (-15, 55), budget, seed, keys=keys, near=near, policy="lru")


@pytest.mark.parametrize("policy", some(["rate", "prob", "auto"], ["rate"]))
def test_other_policies(policy):
    for seed in range(4):
        check("inner", 40, 12, seed, policy=policy, count=300)


@pytest.mark.parametrize("number", [2023, 2046, 9999])
def test_live_and_owed_are_exact_in_every_year(number):
    _, more = check("inner", 40, 6, seed=1, count=400, start=year(number), policy="lru")
    assert more > 0


@pytest.mark.slow
def test_a_budget_in_bytes_holds_the_filter_too():
    plan = make_plan(budget=60_000, in_bytes=True, archived=True, policy="clock")
    bare = replace(plan, archived=False)
    taken = [JoinBucket(each, 0).join.footprint.rows for each in (bare, plan)]
    assert taken[1] < taken[0]
    _, more = check("left", 40, 5_000, 3, in_bytes=True, count=2000)
    assert more > 0


def test_without_a_budget_nothing_is_archived():
    live, _ = check("full", 40, None, 5)
    assert not live.records


@pytest.mark.parametrize("start", [year(n) for n in (1, 1900, 1970, 2023, 2046, 9999)])
@pytest.mark.parametrize("before", [None, year(1), 0, year(9999)])
def test_keys_that_left_are_forgotten_after_the_window(start, before):
    """Also where some row with a wrong time has left before."""
    hour = 3_600_000_000
    keys = LeftKeys(1 << 12, (hour, hour))
    some = np.arange(200)
    if before is not None:
        keys.add(0, some[:1] + 2000, np.array([before]))
    keys.add(0, some, np.full(200, start))
    assert keys.may_match(1, some, np.full(200, start + hour)).all()
    assert not keys.may_match(0, some, np.full(200, start + hour)).any()
    assert keys.may_match(1, some, np.full(200, start + 2 * hour)).mean() < 0.02
    assert keys.may_match(1, some + 1000, np.full(200, start)).mean() < 0.2
    for slots in (1 << 10, 1 << 13):  # also with another budget
        other = LeftKeys(slots, (hour, hour))
        other.restore(keys.save())
        assert other.may_match(1, some, np.full(200, start + hour)).all()
        assert not other.may_match(1, some + 1000, np.full(200, start)).all()


def test_no_key_is_forgotten_too_early_whatever_the_times():
    """Times of all years, and what was saved by a version that told the time from 1970 on."""
    rng = np.random.default_rng(0)
    keys, last = LeftKeys(1 << 12, (0, 0)), {}
    keys.restore({"until": np.full((2, 1 << 12), NEVER, np.int32)})
    for _ in range(300):
        low = int(rng.integers(year(1), year(9990)))
        key = rng.integers(0, 50, 5)
        time = low + rng.integers(0, 10 ** int(rng.integers(0, 17)), 5)
        keys.add(0, key, time)
        for one, at in zip(key.tolist(), time.tolist(), strict=True):
            last[one] = max(at, last.get(one, at))
        assert keys.may_match(1, np.array([*last]), np.array([*last.values()])).all()


def test_a_damaged_packet_is_named():
    schema = pa.schema([("row", pa.int64()), ("last", pa.int64()), ("alone", pa.int32())])
    read = make_reader(Reading(schema.append(pa.field("batch", pa.int32()))))
    told = to_parquet(pa.table({"row": [1], "last": pa.array([None], pa.int64()), "alone": [True]}))
    columns = [pa.array([7, 7], pa.int32()), pa.array([told, told[:-9]], pa.binary())]
    found = read(iter([pa.record_batch(columns, ["batch", "packet"])]))
    assert next(found).to_pylist() == [{"row": 1, "last": None, "alone": 7, "batch": 7}]
    with pytest.raises(BadState, match="a packet of micro-batch 7 cannot be read"):
        next(found)
