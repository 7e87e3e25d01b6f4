"""Parameters found in a bucket: what is found, tried and chosen outlives every micro-batch."""

from collections import Counter

import numpy as np

from penstock.spark.bucket import Bucket
from tests.spark.plans import Engine, Run, make_plan, rows_of


def test_a_bucket_finds_what_the_local_engine_finds():
    rng = np.random.default_rng(4)
    count = 2400
    key = np.where(rng.random(count) < 0.5, rng.integers(0, 8, count), rng.integers(8, 900, count))
    columns = rng.integers(0, 2, count), key, np.arange(count), rng.integers(0, 2**40, count)
    plan = make_plan(policy="clock:rho=auto", budget=16, within=300, delay=0)
    bucket, engine = Run(plan), Engine(plan)
    found, expected = Counter(), Counter()
    for first in range(0, count, 150):
        part = [column[first : first + 150] for column in columns]
        found += rows_of(bucket.take(*part))
        expected += engine.take(*part)
    assert found == expected
    assert found
    last = Bucket(plan, 0, bucket.state)
    assert last.join.in_force == engine.join.in_force
    assert str(last.join.in_force) != "clock:rho=0.5"  # where it began
