"""The estimate of recall is honest: its interval holds the truth about as often as it says."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from penstock.core.shape import all_streams
from penstock.engines import Join
from penstock.spark.bucket import Bucket
from penstock.spark.estimate import SUMS, estimate
from tests.spark.plans import Run, cuts, drawn, make_plan, packets

SEEDS = 120


def zipf(seed, count=6000, keys=3000, power=0.8):
    """Draw rows whose keys are popular by rank; the names of the keys differ with the seed."""
    rng = np.random.default_rng(seed)
    weight = 1 / np.arange(1, keys + 1) ** power
    names = rng.integers(-(2**62), 2**62, keys)
    key = names[rng.choice(keys, count, p=weight / weight.sum())]
    return rng.integers(0, 2, count), key, np.arange(count), np.arange(count)


@pytest.mark.parametrize(("policy", "power"), [("clock", 0.8), ("rand", 1.0)])
def test_the_interval_covers_the_truth(policy, power):
    plan = make_plan(policy=policy, budget=600, within=2000, sample=0.1, buckets=2)
    covered, errors = 0, []
    for seed in range(SEEDS):
        columns = zipf(seed, power=power)
        sums, matched, everything = Counter(), 0, 0
        for number in range(2):
            mine = [column[columns[1] % 2 == number] for column in columns]
            totals = Bucket(plan, number).take(packets(*mine)).totals
            sums.update({name: totals[f"shadow_{name}"] for name in SUMS})
            matched += totals["matched"]
            exact = Join(within=2000)
            exact.push(*mine[:3], emit=False)
            everything += exact.results
        recall = estimate(sums, plan.sample)
        covered += recall.low <= matched / everything <= recall.high
        errors.append(recall.value - matched / everything)
        assert recall.high - recall.low < 0.3
    assert 0.88 <= covered / SEEDS <= 1
    assert abs(np.mean(errors)) < 0.01


@pytest.mark.parametrize("delay", [0, 30])
def test_all_rows_watched_is_the_truth_itself(delay):
    rng = np.random.default_rng(1)
    columns = drawn(rng, 3000, delay=delay)
    plan = make_plan(budget=60, sample=1.0, delay=delay)
    run, exact = Run(plan), Run(replace(plan, budget=None))
    everything = 0
    for batch in cuts(rng, columns, 6):
        totals = run.take(*batch).totals
        everything = exact.take(*batch).totals["matched"]
        assert totals["shadow_e"] == everything
        assert totals["shadow_a"] == totals["matched"]
    assert totals["matched"] < everything


def test_three_frames_watch_keys():
    rng = np.random.default_rng(2)
    plan = make_plan(joins=all_streams(3), inputs=3, budget=60, sample=1.0, within=60)
    run, exact = Run(plan), Run(replace(plan, budget=None))
    for batch in cuts(rng, drawn(rng, 1000, sides=3), 4):
        totals = run.take(*batch).totals
        assert totals["shadow_e"] == exact.take(*batch).totals["matched"]
        assert totals["shadow_a"] == totals["matched"]


def test_the_watch_is_a_small_share_whatever_the_skew():
    rng = np.random.default_rng(3)
    plan = make_plan(budget=500, sample=0.01, within=10**6)
    bucket = Bucket(plan, 0)
    bucket.take(packets(*drawn(rng, 20_000, skew=0.5, span=20_000)))
    assert 120 < len(bucket.shadow.key) < 300


def test_another_sample_begins_anew():
    rng = np.random.default_rng(4)
    plan = make_plan(budget=None)
    run = Run(plan)
    batches = list(cuts(rng, drawn(rng, 3000), 3))
    run.take(*batches[0])
    run.plan = replace(plan, budget=10_000, sample=1.0)  # from exact: what is held is everything
    before = run.take(*batches[1]).totals
    assert before["shadow_e"] == before["shadow_a"] > 0
    run.plan = replace(plan, budget=10_000, sample=0.5)
    after = run.take(*batches[2]).totals
    assert after["shadow_e"] == after["shadow_a"] > 0
    assert after["shadow_e"] < before["matched"]


def test_nothing_to_find_yet():
    assert estimate(dict.fromkeys(SUMS, 0.0), 0.1) is None
    assert estimate(dict(zip(SUMS, [1, 3, 4, 9, 12, 16], strict=True)), 0.1) == (0.75, 0.0, 1.0)
