"""Policies found in a bucket: what is found, tried and chosen outlives every micro-batch."""

from collections import Counter

import numpy as np

from penstock.core.policy import JOINING
from penstock.engines import standing
from penstock.spark.bucket import Bucket
from tests.spark.plans import Engine, Run, make_plan, rows_of


def test_a_bucket_finds_what_the_local_engine_finds_and_tells_who_rules():
    rng = np.random.default_rng(4)
    count = 3000
    lately = np.arange(count) // 6 - rng.integers(0, 4, count)  # keys that come and go in order
    columns = rng.integers(0, 2, count), lately, np.arange(count), rng.integers(0, 2**40, count)
    plan = make_plan(policy="auto", budget=16, within=300, delay=0)
    bucket, engine = Run(plan), Engine(plan)
    found, expected = Counter(), Counter()
    for first in range(0, count, 250):
        part = [column[first : first + 250] for column in columns]
        found += rows_of(bucket.take(*part))
        expected += engine.take(*part)
    assert found == expected
    assert found
    last = Bucket(plan, 0, bucket.state)
    assert last.join.explain() == engine.join.explain()
    told = standing.read(standing.counters(last.join, JOINING), JOINING)
    assert told.buckets == {last.join.in_force.policy.name: 1}
    assert told.switches == last.join.explain()["switches"]
    assert told.scores[last.join.in_force.policy.name] >= 1.0
