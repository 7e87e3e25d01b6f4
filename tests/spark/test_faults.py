"""Tasks that fail and workers that die, queries side by side: no row is lost or doubled."""

import pytest

from penstock.spark import join, metrics
from tests.marks import some
from tests.spark.processes import figures, kill, start_driver, strike
from tests.spark.streams import bag, results
from tests.spark.test_restart import EXACT, write

pytestmark = pytest.mark.spark

BUDGETS = [None, 60]


def check(spark, folder, sides, budget, told):
    """Compare what a query found with all that there is."""
    found = results(spark, folder)
    assert told["matches"] == sum(found.values())
    everything = bag(join(*[side.batch(spark) for side in sides], on="k", **EXACT))
    if budget is None:
        assert found == everything
    else:
        assert found < everything


KILLS = [(None, (1,)), (None, (2, 4)), (60, (2, 4))]


@pytest.mark.slow  # 51 s on a busy machine
@pytest.mark.parametrize("case", KILLS, ids=str)
def test_a_worker_is_killed_in_the_middle_of_a_micro_batch(spark, tmp_path, case):
    """After so many commits; the task is run again, by another worker."""
    budget, kills = case
    images, out = tmp_path / "images", tmp_path / "out-checkpoint"
    images.mkdir(mode=0o700)
    sides = write(tmp_path, seed=7, count=3000, files=3 if len(kills) == 1 else 10)
    options = EXACT | {"budget": budget, "policy": "prob"}
    given = {"folder": str(tmp_path), "options": options, "master": "local[2,8]"}
    driver = start_driver(given, tmp_path / "log", PENSTOCK_IMAGE_DIR=str(images))
    try:
        for after in kills:
            strike(images, [driver.pid], out, driver, after)
        told = figures(driver, tmp_path / "log")
    finally:
        kill(driver)
    assert "Lost task" in (tmp_path / "log").read_text(errors="replace")
    assert sum(told["arrived"]) == 3000
    check(spark, tmp_path, sides, budget, told)


@pytest.mark.parametrize("budget", some(BUDGETS, [None]))
def test_a_task_is_run_again_after_its_commit(spark, tmp_path, budget):
    """The image in memory is newer than the state that the second attempt begins with."""
    sides = write(tmp_path, seed=8, count=600, files=3)
    options = EXACT | {"budget": budget, "policy": "prob"}
    given = {"folder": str(tmp_path), "options": options, "master": "local[2,8]"}
    driver = start_driver(given | {"fails_after": 1}, tmp_path / "log")
    try:
        told = figures(driver, tmp_path / "log")
    finally:
        kill(driver)
    for part in range(2):  # of Spark's store: version 2 is that of the second micro-batch
        seen = (tmp_path / f"failed-{part}").read_text().split()
        assert any(name.startswith("2.") for name in seen), seen
    assert "this task fails after its commit" in (tmp_path / "log").read_text(errors="replace")
    assert sum(told["arrived"]) == 600
    check(spark, tmp_path, sides, budget, told)


def test_two_queries_with_the_same_code_at_a_time(spark, tmp_path):
    """In one session, on the same workers; what either holds has nothing to do with the other."""
    queries = []
    for number, name in enumerate("xy"):
        folder = tmp_path / name
        sides = write(folder, seed=9 + number, count=400, files=4)
        joined = join(*[side.stream(spark) for side in sides], on="k", **EXACT)
        writer = joined.writeStream.format("parquet").option("path", str(folder / "out"))
        writer = writer.option("checkpointLocation", str(folder / "out-checkpoint"))
        queries.append((folder, sides, writer.trigger(availableNow=True).start()))
    for *_, query in queries:
        query.awaitTermination()
    for folder, sides, query in queries:
        told = metrics(query)
        assert sum(told.arrived) == 400
        check(spark, folder, sides, None, {"matches": told.matches})
