"""Joins drawn at random against Spark's own: with fixed seeds always, with fresh ones when slow.

`PENSTOCK_DIFFERENTIAL=200` sets how many fresh ones there are. `PENSTOCK_DIFFERENTIAL=pair-17` runs
this one only: a failure says which.
"""

import os
import random
import time

import pytest

from tests.spark.differential import check
from tests.spark.drawn_joins import draw_name

pytestmark = pytest.mark.spark

ASKED = os.environ.get("PENSTOCK_DIFFERENTIAL", "40")
FRESH = int(ASKED) if ASKED.isdigit() else 0
FIXED = [
    *(f"pair-{seed}" for seed in range(8)),
    *(f"batch-{seed}" for seed in range(6)),
    "many-0",
    "group-0",
]


@pytest.mark.parametrize("name", FIXED if ASKED.isdigit() else [ASKED])
def test_a_join_is_sparks_own_join(spark, tmp_path, name):
    check(spark, name, tmp_path)


@pytest.fixture(scope="module")
def fresh():
    return random.Random(time.time_ns())


@pytest.mark.slow
@pytest.mark.parametrize("number", range(FRESH))
def test_a_join_drawn_afresh_is_sparks_own_join(spark, tmp_path, fresh, number):
    name = draw_name(fresh)
    print("PENSTOCK_DIFFERENTIAL=" + name)
    check(spark, name, tmp_path)
