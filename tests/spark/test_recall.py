"""The estimate of recall is honest: its interval holds the truth about as often as it says."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from bench.coverage import Cell, run
from penstock.kernel.shape import all_streams
from penstock.spark.recall.estimate import SUMS, Recall, estimate, no_sums
from penstock.spark.runtime.join_bucket import JoinBucket
from tests.marks import some
from tests.spark.plans import Run, cuts, drawn, make_plan, packets, take, told


def interval(metrics):
    return metrics.recall_low, metrics.recall, metrics.recall_high


def lost(totals):
    return totals["watch_certain"] + totals["watch_lost"]


COARSE = [
    Cell("constant", 1.3, 0.2),
    Cell("whole minutes", 1.5, 0.5),
    Cell("whole seconds", 1.5, 0.5, "list"),
]


@pytest.mark.parametrize("cell", some(COARSE, COARSE[-1:]), ids=str)
def test_the_interval_covers_the_truth_where_times_are_coarse_and_keys_skewed(cell):
    runs = [run(cell, seed) for seed in range(60)]
    assert sum(each.covers for each in runs) >= 52
    errors = [each.told.recall - each.truth for each in runs]
    assert abs(np.mean(errors)) < 0.02
    assert np.mean([each.told.recall_high - each.told.recall_low for each in runs]) < 0.2


def test_an_interval_from_few_watched_rows_is_wide():
    cell = Cell("whole seconds", 0.9, 0.2)
    runs = [run(cell, seed, share=0.003) for seed in range(60)]  # about a dozen rows each
    assert sum(each.covers for each in runs) >= 52
    assert all(each.told.recall_high - each.told.recall_low > 0.02 for each in runs)


@pytest.mark.parametrize("delay", [0, 30])
def test_all_rows_watched_is_the_truth_itself(delay):
    rng = np.random.default_rng(1)
    columns = drawn(rng, 3000, delay=delay)
    plan = make_plan(budget=60, sample=1.0, delay=delay)
    part, exact = Run(plan), Run(replace(plan, budget=None))
    for batch in cuts(rng, columns, 6):
        totals = part.take(*batch).totals
        everything = exact.take(*batch).totals["matched"]
        assert totals["matched"] + lost(totals) == everything
    share = totals["matched"] / everything
    assert share < 1
    assert interval(told(totals)) == (share, share, share)


def test_three_frames_watch_keys():
    rng = np.random.default_rng(2)
    plan = make_plan(joins=all_streams(3), inputs=3, budget=60, sample=1.0, within=60)
    part, exact = Run(plan), Run(replace(plan, budget=None))
    for batch in cuts(rng, drawn(rng, 1000, sides=3), 4):
        totals = part.take(*batch).totals
        assert totals["matched"] + lost(totals) == exact.take(*batch).totals["matched"]


def test_the_watch_is_a_small_share_whatever_the_skew():
    rng = np.random.default_rng(3)
    plan = make_plan(budget=500, sample=0.01, within=10**6)
    bucket = JoinBucket(plan, 0)
    take(bucket, packets(*drawn(rng, 20_000, skew=0.5, span=20_000)))
    assert 200 < len(bucket.watch.rows.key) < 450  # at most twice the share


def test_results_may_be_reported_in_parts():
    rng = np.random.default_rng(4)
    plan = make_plan(budget=60, sample=0.5)
    batches = list(cuts(rng, drawn(rng, 3000), 3))
    whole, parts = Run(plan), JoinBucket(plan, 0)
    at_once = parts.watch.found

    def one_by_one(join, rows, keys):
        for first in range(0, len(rows), 100):
            at_once(join, rows[first : first + 100], keys[first : first + 100])

    parts.watch.found = one_by_one
    for batch in batches:
        totals = whole.take(*batch).totals  # restored in between
        assert {n: v for n, v in take(parts, packets(*batch)).totals.items() if n != "bytes"} == {
            n: v for n, v in totals.items() if n != "bytes"
        }
    assert lost(totals) > 0


def test_a_repeated_micro_batch_draws_the_same_rows():
    rng = np.random.default_rng(10)
    part = Run(make_plan(budget=60, sample=0.1))
    first, second = cuts(rng, drawn(rng, 2000), 2)
    part.take(*first)
    once, again = (take(JoinBucket(part.plan, 0, part.state), packets(*second)) for _ in range(2))
    assert once.state == again.state
    assert once.totals == again.totals
    assert once.totals["watch_watched"] > 100


CHANGES = {
    "to none": [{"budget": 40}, {"budget": None}, {"budget": None}],
    "to none and back": [{"budget": 40}, {"budget": None}, {"budget": 40}, {"budget": None}],
    "from none": [{"budget": None}, {"budget": 40}, {"budget": 200}, {"budget": 20}],
    "other policies": [{"budget": 40, "policy": each} for each in ("fifo", "prob", "rand")],
}


@pytest.mark.parametrize("sides", [2, 3])
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_what_was_lost_is_known_across_changes(changes, sides):
    """With all rows watched the figures are exact, whatever a restart changes."""
    rng = np.random.default_rng(5)
    joins = {} if sides == 2 else {"joins": all_streams(3), "inputs": 3}
    plan = make_plan(budget=40, sample=1.0, within=100 if sides == 2 else 60, **joins)
    part, exact = Run(plan), Run(replace(plan, budget=None))
    columns = drawn(rng, 500 * len(changes), sides=sides, span=100 * len(changes))
    for change, batch in zip(changes, cuts(rng, columns, len(changes)), strict=True):
        part.plan = replace(plan, **change)
        totals = part.take(*batch).totals
        everything = exact.take(*batch).totals["matched"]
        assert totals["matched"] + lost(totals) == everything
    assert totals["matched"] < everything
    assert told(totals, sides).recall == totals["matched"] / everything


def test_a_restart_without_a_budget_does_not_forget_what_was_lost():
    rng = np.random.default_rng(6)
    plan = make_plan(budget=40, sample=0.1)
    part, exact = Run(plan), Run(replace(plan, budget=None))
    batches = list(cuts(rng, drawn(rng, 4000), 2))
    before = told(part.take(*batches[0]).totals)
    exact.take(*batches[0])
    part.plan = exact.plan
    after = told(part.take(*batches[1]).totals)
    everything = exact.take(*batches[1]).totals["matched"]
    assert before.recall < after.recall < 1
    assert after.recall_low < after.matches / everything < after.recall_high


@pytest.mark.parametrize(("sides", "shares"), [(2, (1.0, 0.1, 0.5, 0.05)), (3, (1.0, 0.7, 0.4))])
def test_another_share_to_watch_leaves_the_estimate_unbiased(sides, shares):
    joins = {} if sides == 2 else {"joins": all_streams(3), "inputs": 3}
    plan = make_plan(budget=40, within=100 if sides == 2 else 60, **joins)
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        part, exact = Run(replace(plan, seed=seed)), Run(replace(plan, budget=None))
        side, key, time, value = drawn(rng, 2000, sides=sides)
        columns = side, key + 1000 * seed, time, value  # keys are sampled by a hash
        for share, batch in zip(shares, cuts(rng, columns, len(shares)), strict=True):
            part.plan = replace(part.plan, sample=share)
            totals = part.take(*batch).totals
            everything = exact.take(*batch).totals["matched"]
        recall, truth = told(totals, sides), totals["matched"] / everything
        found.append((recall.recall - truth, recall.recall_low <= truth <= recall.recall_high))
    errors, covered = np.array(found).T
    assert abs(errors.mean()) < 3 * errors.std() / np.sqrt(len(errors))
    assert errors.std() > 0
    assert covered.sum() >= 34


@pytest.mark.parametrize("sides", [2, 3])
def test_rows_lost_while_none_is_watched_leave_an_upper_bound(sides):
    rng = np.random.default_rng(7)
    joins = {} if sides == 2 else {"joins": all_streams(3), "inputs": 3}
    plan = make_plan(budget=40, sample=0.5, within=100 if sides == 2 else 60, **joins)
    part, exact = Run(plan), Run(replace(plan, budget=None))
    batches = list(cuts(rng, drawn(rng, 2000, sides=sides), 3))
    for share, batch in zip((0.5, 0.0, 0.5), batches, strict=True):
        part.plan = replace(plan, sample=share)
        recall = told(part.take(*batch).totals, sides)
        everything = exact.take(*batch).totals["matched"]
        if share == 0.5 and batch is batches[0]:
            assert recall.recall is not None
            continue
        assert recall.recall is None
        assert recall.recall_low == 0.0
        assert recall.matches / everything < recall.recall_high < 1


@pytest.mark.parametrize("sides", [2, 3])
def test_a_share_of_none_while_no_row_is_lost_leaves_the_estimate_whole(sides):
    rng = np.random.default_rng(8)
    joins = {} if sides == 2 else {"joins": all_streams(3), "inputs": 3}
    plan = make_plan(budget=10_000, sample=0.0, within=100 if sides == 2 else 60, **joins)
    part, exact = Run(plan), Run(replace(plan, budget=None))
    first, second = cuts(rng, drawn(rng, 1000, sides=sides), 2)
    exact.take(*first)
    assert interval(told(part.take(*first).totals, sides)) == (1.0, 1.0, 1.0)
    part.plan = replace(plan, budget=20, sample=1.0)  # what no longer fits is evicted at once
    totals = part.take(*second).totals
    everything = exact.take(*second).totals["matched"]
    assert totals["matched"] + lost(totals) == everything > totals["matched"]


def test_a_state_of_an_earlier_version_is_not_trusted():
    rng = np.random.default_rng(9)
    part = Run(make_plan(budget=40, sample=0.5))
    first, second = cuts(rng, drawn(rng, 2000), 2)
    part.take(*first)
    bucket = JoinBucket(part.plan, 0, part.state)
    bucket.watch.save = lambda: {"expected": np.zeros(32), "actual": np.zeros(32)}
    part.state = take(bucket, packets(*second)).state
    recall = told(part.take(*second).totals)
    assert recall.recall is None


def test_only_what_is_certain_has_no_width():
    never = no_sums()
    assert estimate(never, matches=0, gone=0) == (1.0, 1.0, 1.0)
    assert estimate(never | {"drawn": 500}, matches=185, gone=0) == (1.0, 1.0, 1.0)
    # Rows were lost, and none of them was watched, or none of the watched had a partner.
    assert estimate(never | {"drawn": 500}, matches=185, gone=9) == (None, 0.0, 1.0)
    few = estimate(never | {"drawn": 500, "watched": 5}, matches=185, gone=9)
    assert few.value is None
    assert 0 < few.low < 0.1
    # Watched rows met partners and lost none: perhaps others did.
    seen = dict(zip(SUMS, [500, 5, 0, 0, 0, 1000, 200_000, 0], strict=True))
    assert estimate(seen, matches=185, gone=9)[::2] == (1.0, 1.0)
    assert 0 < estimate(seen, matches=185, gone=9).low < 0.2
    # All were watched.
    assert estimate(never | {"certain": 15}, matches=185, gone=9) == Recall(0.925, 0.925, 0.925)
    # Nothing found, and something was there.
    some = dict(zip(SUMS, [500, 5, 0, 1000, 200_000, 1000, 200_000, 0], strict=True))
    assert estimate(some, matches=0, gone=9) == (0.0, 0.0, 0.0)


def test_more_losses_seen_narrow_the_interval():
    widths = []
    for count in (1, 3, 10, 100, 1000):
        sums = dict(zip(SUMS, [100 * count, count, 0, 100 * count, 9900 * count] * 2, strict=False))
        sums = no_sums() | sums | {"met": 200.0 * count, "met2": 39_600.0 * count, "blind": 0.0}
        recall = estimate(sums, matches=100 * count, gone=count)
        assert recall.value == 0.5
        assert recall.low < 0.5 < recall.high
        widths.append(recall.high - recall.low)
    assert all(b < a for a, b in itertools.pairwise(widths))
    assert widths[0] > 0.8
    assert widths[-1] < 0.07
