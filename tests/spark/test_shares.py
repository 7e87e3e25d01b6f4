"""Buckets share one budget: together they never hold more, and hot keys get their part."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join
from penstock.engine.ledger import digest
from penstock.kernel.shape import TWO_WAY
from penstock.spark.runtime.join_bucket import JoinBucket
from penstock.spark.runtime.labels import bucket_of
from tests.marks import long, some
from tests.recount import recount
from tests.spark.plans import make_plan, packets, rows_of, take

GROUP = (((0, 0), (1, 0)), ((2, 0), (3, 0)))
THREE = (((0, 0), (1, 0), (2, 0)),)
CHARGE = 250  # bytes of a row beside its payload, about


class Buckets:
    """All buckets of a join, saved and restored between any two micro-batches."""

    def __init__(self, plan):
        self.plan = plan
        self.states = [None] * plan.buckets
        self.held = [0] * plan.buckets
        self.found = Counter()
        self.totals = [{} for _ in self.states]

    def take(self, rng, side, key, time, value):
        """Let the buckets take a micro-batch in any order."""
        place = bucket_of(key, self.plan.buckets)
        digests = [
            self._digest(stream, key[side == stream], time[side == stream])
            for stream in range(len(self.plan.inputs))
        ]
        for number in rng.permutation(self.plan.buckets):
            mine = place == number
            bucket = JoinBucket(self.plan, int(number), self.states[number])
            made = packets(side[mine], key[mine], time[mine], value[mine])
            outcome = take(bucket, made, None, digests)
            recount(bucket.join)
            self.states[number] = outcome.state or self.states[number]
            self.held[number] = bucket.join.used
            self.totals[number] = outcome.totals
            self.found.update(rows_of(outcome))
            yield sum(self.held)

    def _digest(self, stream, key, time):
        size = len(key) * ((24 + CHARGE) if self.plan.in_bytes else 1)
        return digest(stream, key, time, size, self.plan.within).encode()


def drawn(rng, streams, rows, start):
    """Return rows of skewed keys, some more frequent in one batch than in another."""
    side = rng.integers(0, streams, rows)
    key = np.floor(40 * rng.random(rows) ** rng.integers(1, 6)).astype(np.int64)
    time = start + np.sort(rng.integers(0, 60, rows))
    return side, key, time, rng.integers(0, 1 << 40, rows)


@given(
    seed=st.integers(0, 2**32),
    joins=st.sampled_from([TWO_WAY, THREE, GROUP]),
    buckets=st.integers(2, 6),
    in_bytes=st.booleans(),
    kind=st.sampled_from([("prob", "unified"), ("fifo", "split")]),
)
def test_the_budget_is_never_exceeded_and_every_result_is_right(
    seed, joins, buckets, in_bytes, kind
):
    policy, layout = kind
    rng = np.random.default_rng(seed)
    streams = sum(len(join) for join in joins)
    unit = 24 + CHARGE if in_bytes else 1
    chosen = {"joins": joins, "inputs": streams, "buckets": buckets, "in_bytes": in_bytes}
    # FIFO remembers next to nothing, so that a small budget in bytes holds few rows.
    chosen |= {"policy": "fifo" if in_bytes else policy, "layout": layout}
    least = buckets * (streams * unit + (4000 if in_bytes else 0))
    budget = int(rng.integers(least, least + 60 * unit))
    run = Buckets(make_plan(budget=budget, **chosen))
    exact = Join(budget=None, within=100, joins=joins)
    expected, keys, values = Counter(), [], []
    for batch in range(5):
        if rng.random() < 0.3:  # a restart with another budget
            budget = int(rng.integers(least, least + 60 * unit))
            run.plan = make_plan(budget=budget, **chosen)
            settled = False
        else:
            settled = True
        rows = drawn(rng, streams, int(rng.integers(0, 120)), batch * 60)
        totals = list(run.take(rng, *rows))
        assert totals[-1] <= budget
        assert not settled or max(totals) <= budget  # at every moment, whichever has run
        side, key, time, value = rows
        keys += key.tolist()
        values += value.tolist()
        matches = exact.push(side, key, time)
        expected.update(
            (join, keys[found[0]], *(values[row] for row in found if row >= 0))
            for join, found in zip(matches.join.tolist(), matches.rows.tolist(), strict=True)
        )
    assert not run.found - expected


@long
@pytest.mark.parametrize(
    "policy", some(["auto", "gdj", "lba", "life", "lru", "rate"], ["auto", "rate"])
)
@pytest.mark.parametrize("in_bytes", [False, True])
def test_every_kind_of_policy_keeps_to_its_shares(policy, in_bytes):
    rng = np.random.default_rng(6)
    budget = 60
    if in_bytes:  # what three engines take before they hold a row, and room for some
        fixed = Join(policy, 400_000, within=100, in_bytes=True).footprint.fixed
        budget = 3 * fixed + 60 * 300
    run = Buckets(make_plan(budget=budget, buckets=3, in_bytes=in_bytes, policy=policy))
    for batch in range(4):
        assert max(run.take(rng, *drawn(rng, 2, 200, batch * 60))) <= budget
    shares = [totals["share"] for totals in run.totals]
    assert len(set(shares)) > 1
    assert sum(shares) <= budget


def test_a_repeated_batch_gives_the_same_rows():
    rng = np.random.default_rng(3)
    first, second = (Buckets(make_plan(budget=40, buckets=4, policy="prob")) for _ in range(2))
    for batch in range(4):
        rows = drawn(rng, 2, 100, batch * 60)
        list(first.take(np.random.default_rng(1), *rows))
        before = list(second.states)
        list(second.take(np.random.default_rng(2), *rows))
        second.states, second.found = before, Counter()
        list(second.take(np.random.default_rng(3), *rows))
        assert second.states == first.states


@long
@pytest.mark.parametrize("policy", ["prob", "rate"])
def test_the_bucket_of_a_hot_key_gets_most_of_the_budget(policy):
    rng = np.random.default_rng(4)
    run = Buckets(make_plan(budget=100, buckets=8, policy=policy))
    for batch in range(6):
        side, key, time, value = drawn(rng, 2, 400, batch * 60)
        key = np.where(rng.random(400) < 0.6, 7, key + 100)
        list(run.take(rng, side, key, time, value))
    hot = int(bucket_of(np.array([7]), 8)[0])
    shares = [totals["share"] for totals in run.totals]
    assert shares[hot] > 60
    assert sum(shares) <= 100


def test_a_budget_of_rows_becomes_one_of_bytes_and_none():
    rng = np.random.default_rng(5)
    run = Buckets(make_plan(budget=40, buckets=4, policy="prob"))
    units = [
        {"budget": 40},
        {"budget": 180_000, "in_bytes": True},
        {"budget": None},
        {"budget": 30},
        {"budget": 5},
    ]
    for batch, options in enumerate(units):
        run.plan = make_plan(**({"buckets": 4, "policy": "prob"} | options))
        totals = list(run.take(rng, *drawn(rng, 2, 150, batch * 60)))
        if options["budget"] is not None:
            assert totals[-1] <= options["budget"]
