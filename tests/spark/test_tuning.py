"""Parameters found in a bucket: what is found, tried and chosen outlives every micro-batch."""

import numpy as np

from tests.spark.plans import make_plan, taken_as_by_the_engine


def test_a_bucket_finds_what_the_local_engine_finds():
    rng = np.random.default_rng(4)
    count = 2400
    key = 7 * np.cumsum(rng.random(count) < 0.05) + rng.integers(0, 3, count)  # hot for a while
    columns = rng.integers(0, 2, count), key, np.arange(count), rng.integers(0, 2**40, count)
    plan = make_plan(policy="clock:rho=auto", budget=16, within=300, delay=0)
    last, engine = taken_as_by_the_engine(plan, columns, 150)
    assert last.join.in_force == engine.join.in_force
    assert str(last.join.in_force) != "clock:rho=0.5"  # where it began
