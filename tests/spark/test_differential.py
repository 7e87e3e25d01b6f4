"""Joins drawn at random against Spark's own: with fixed seeds always, with fresh ones when slow.

`PENSTOCK_DIFFERENTIAL=200` sets how many fresh ones there are. `PENSTOCK_DIFFERENTIAL=pair-17` runs
this one only: a failure says which.
"""

import os
import random
import time

import pytest

from tests.marks import some
from tests.spark.differential import check
from tests.spark.drawn_joins import draw_name
from tests.spark.processes import figures, kill, start_driver

pytestmark = pytest.mark.spark

ASKED = os.environ.get("PENSTOCK_DIFFERENTIAL", "40")
FRESH = int(ASKED) if ASKED.isdigit() else 0
FIXED = [
    *(f"pair-{seed}" for seed in (0, 3, 4)),  # each has found something once
    *(f"batch-{seed}" for seed in range(2)),
    "many-0",
    "group-0",
]
OFTEN = ("pair-0", "batch-0", "batch-1")


@pytest.mark.parametrize("name", some(FIXED, OFTEN) if ASKED.isdigit() else [ASKED])
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


@pytest.mark.slow  # a server of its own
def test_joins_over_connect_are_sparks_own(tmp_path, fresh):
    names = ["pair-0", "batch-0", "many-0", "group-0", *(draw_name(fresh) for _ in range(4))]
    given = {"folder": str(tmp_path), "master": "connect", "cases": names}
    driver = start_driver(given, tmp_path / "log", "tests.spark.differential_driver")
    try:
        wrong = figures(driver, tmp_path / "log")["wrong"]
    finally:
        kill(driver)
    assert not wrong, "\n\n".join(wrong.values())
