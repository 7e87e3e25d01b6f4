"""The same over Spark Connect, in a process of its own: one process has one kind of session."""

import re

import pytest

from penstock.spark import join
from tests.spark.processes import figures, kill, start_driver
from tests.spark.streams import bag, results
from tests.spark.test_restart import EXACT, write

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("budget", [40, pytest.param(None, marks=pytest.mark.slow)])
def test_join_and_figures(spark, tmp_path, budget):
    sides = write(tmp_path, seed=4, files=3)
    options = EXACT | {"budget": budget, "policy": "clock", "recall_sample": 0.5}
    given = {"folder": str(tmp_path), "master": "connect", "options": options, "monitor": True}
    driver = start_driver(given, tmp_path / "log")
    try:
        told = figures(driver, tmp_path / "log")
    finally:
        kill(driver)
    found = results(spark, tmp_path)
    everything = bag(join(*[side.batch(spark) for side in sides], on="k", **EXACT))
    assert told["matches"] == sum(found.values())
    assert sum(told["arrived"]) == 400
    served = re.search(r"penstock_join_recall_ratio\{.*\} (.*)", told["served"])[1]
    assert float(served) == told["recall"]
    assert re.search(r"penstock_query_up\{.*\} 0.0", told["served"])
    assert len(told["refused"]) == 2
    assert all("not by Spark Connect" in each for each in told["refused"])
    if budget is None:
        assert found == everything
        assert told["batch_rows"] == sum(everything.values())
        assert told["recall"] == 1.0
    else:
        assert found < everything
        assert told["rows_held"] <= 40
        truth = sum(found.values()) / sum(everything.values())
        assert 0 < told["recall_low"] <= told["recall"] <= told["recall_high"] < 1
        assert abs(told["recall"] - truth) < 0.3
