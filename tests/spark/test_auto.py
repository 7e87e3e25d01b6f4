"""Policies found in a bucket: what is found, tried and chosen outlives every micro-batch."""

import numpy as np

from penstock.engine.adapt import census
from penstock.kernel.policy import JOINING
from tests.spark.plans import make_plan, taken_as_by_the_engine


def test_a_bucket_finds_what_the_local_engine_finds_and_tells_the_policy_in_force():
    rng = np.random.default_rng(4)
    count = 3000
    lately = np.arange(count) // 6 - rng.integers(0, 4, count)  # keys that come and go in order
    columns = rng.integers(0, 2, count), lately, np.arange(count), rng.integers(0, 2**40, count)
    plan = make_plan(policy="auto", budget=16, within=300, delay=0)
    last, engine = taken_as_by_the_engine(plan, columns, 250)
    assert last.join.explain() == engine.join.explain()
    told = census.counters(last.join, JOINING)
    in_force = last.join.in_force.policy.name
    assert [name for name in told if name.startswith("in_force_") and told[name]] == [
        f"in_force_{in_force}"
    ]
    assert told["switches"] == last.join.explain()["switches"]
    assert told[f"more_{in_force}"] >= 0.0
