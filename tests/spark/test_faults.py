"""Workers that die in the middle of a micro-batch: no row is lost or doubled."""

import pytest

from penstock.spark import join
from tests.spark.processes import figures, kill, start_driver, strike
from tests.spark.streams import bag, results
from tests.spark.test_restart import EXACT, write

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.parametrize("budget", [None, 60])
def test_a_worker_is_killed_in_the_middle_of_a_micro_batch(spark, tmp_path, budget):
    """Twice, in different micro-batches; the task is run again, by another worker."""
    images, out = tmp_path / "images", tmp_path / "out-checkpoint"
    images.mkdir(mode=0o700)
    sides = write(tmp_path, seed=7, count=3000, files=10)
    options = EXACT | {"budget": budget, "policy": "prob"}
    given = {"folder": str(tmp_path), "options": options, "master": "local[2,8]"}
    driver = start_driver(given, tmp_path / "log", PENSTOCK_IMAGE_DIR=str(images))
    try:
        for after in (2, 4):
            strike(images, [driver.pid], out, driver, after)
        told = figures(driver, tmp_path / "log")
    finally:
        kill(driver)
    assert "Lost task" in (tmp_path / "log").read_text(errors="replace")
    found = results(spark, tmp_path)
    assert told["matches"] == sum(found.values())
    assert sum(told["arrived"]) == 3000
    everything = bag(join(*[side.batch(spark) for side in sides], on="k", **EXACT))
    if budget is None:
        assert found == everything
    else:
        assert found < everything
