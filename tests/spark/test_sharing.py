"""A worker computes a step of the ledger once, whichever bucket asks, and nothing depends on it."""

import numpy as np
import pytest

from penstock.engine.ledger import digest
from penstock.spark.runtime.sharing import Share, advanced
from tests.spark.plans import make_plan


@pytest.fixture(autouse=True)
def _forgotten():
    advanced.cache_clear()


def digests(rng, batch):
    key = np.floor(30 * rng.random((2, 200)) ** 4).astype(np.int64)
    time = np.arange(200) + 200 * batch
    return [digest(side, key[side], time, 200, 100).encode() for side in (0, 1)]


def after(plan, batches, each=lambda: None):
    """Return the shares of all buckets after each micro-batch, restored in between."""
    states = [None] * plan.buckets
    taken = []
    for made in batches:
        now = []
        for number in range(plan.buckets):
            each()
            share = Share(plan, number)
            if states[number] is not None:
                share.resume(states[number])
            now.append(share.take(made)[1])
            states[number] = share.save()
        taken.append(now)
    return taken


def test_all_buckets_take_one_step_together():
    rng = np.random.default_rng(1)
    batches = [digests(rng, batch) for batch in range(3)]
    plan = make_plan(budget=90, buckets=8)
    together = after(plan, batches)
    assert advanced.cache_info().misses == len(batches)
    assert advanced.cache_info().hits == len(batches) * 7
    assert after(plan, batches, advanced.cache_clear) == together  # every bucket by itself
    assert all(sum(now) <= 90 for now in together)


@pytest.mark.parametrize("other", [{"budget": 60}, {"within": 7}, {"buckets": 4}])
def test_queries_that_differ_do_not_share_a_step(other):
    made = digests(np.random.default_rng(2), 0)
    plans = [make_plan(**{"budget": 90, "buckets": 8} | more) for more in ({}, other)]
    first = [after(plan, [made]) for plan in plans]
    advanced.cache_clear()
    assert [after(plan, [made]) for plan in reversed(plans)] == first[::-1]


def test_a_budget_of_another_unit_begins_with_equal_shares():
    share = Share(make_plan(budget=90, buckets=3), 0)
    share.take(digests(np.random.default_rng(3), 0))
    other = Share(make_plan(budget=9000, buckets=3, in_bytes=True), 0)
    assert other.resume(share.save()) is None
    assert other.take([]) == (3000, 3000)
