"""Live results and corrections are Spark's own join, whatever is evicted, stopped and repeated."""

import pytest

from penstock import BadInput, BadState
from penstock.spark import join, owed, reconcile, write
from tests.naive.how import HOWS
from tests.spark import archives
from tests.spark.streams import bag
from tests.spark.test_how import own

pytestmark = pytest.mark.spark


def truth(spark, sides, how):
    frames = [files.batch(spark).where("v >= 0") for files in sides]
    return bag(own(*frames, archives.WINDOW, how))


def check(spark, folder, how, budgets, seed=1, **options):
    """Expect the exact join after reconciling once for each budget."""
    sides = archives.draw(folder, seed)
    for budget in budgets:
        told = archives.run(spark, folder, sides, how, budget=budget, **options)
        assert sum(told.evicted) + sum(told.refused) > 0
    expected = truth(spark, sides, how)
    assert archives.live(spark, folder) != expected
    archives.corrected(spark, folder)
    assert archives.exact(spark, folder) == expected
    return told


@pytest.mark.parametrize("how", ["inner", "full"])
def test_live_and_corrections_are_exact(spark, tmp_path, how):
    check(spark, tmp_path, how, [12], policy="clock")


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_every_kind_and_budget(spark, tmp_path, how, share):
    alive = 400 * 25 / 200
    check(spark, tmp_path, how, [max(2, int(alive * share))], seed=how, buckets=2)
