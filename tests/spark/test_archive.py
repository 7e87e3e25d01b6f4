"""Live results and corrections are Spark's own join, whatever is evicted, stopped and repeated."""

import random
import signal
import sys

import pytest
from pyspark.errors import StreamingQueryException

from penstock import BadInput, BadState
from penstock.spark import join, owed, reconcile, write
from penstock.spark.folders import Folders
from tests.naive.how import HOWS
from tests.patience import PATIENCE
from tests.spark import archives
from tests.spark.processes import start_driver
from tests.spark.streams import at, bag
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


@pytest.mark.slow  # six steps
def test_in_steps_each_correction_once_and_nothing_is_kept_for_long(spark, tmp_path):
    corrections = []
    for sides in archives.steps(tmp_path, seed=2):
        archives.run(spark, tmp_path, sides, "left", budget=10, policy="clock")
        corrections += archives.corrected(spark, tmp_path)
    assert archives.exact(spark, tmp_path) == truth(spark, sides, "left")
    assert {row.change for row in corrections} == {"+", "-"}
    kept = [path.name for path in (tmp_path / "archive").iterdir() if path.name[0] not in "._"]
    assert len(kept) == 2  # the corrections and one base, in which no row is left
    rest = owed(spark, tmp_path / "archive")
    assert (rest.rows, rest.oldest) == (0, None)


def test_failures_in_the_middle_of_writing(spark, tmp_path, monkeypatch):
    """Fail before results and archive are in place, going on with another budget each time."""
    sides = archives.draw(tmp_path, seed=3)
    move = Folders._move
    for number, fail_at in enumerate((2, 4, 6)):
        left = [fail_at]

        def moved(self, name, new, left=left):
            left[0] -= 1
            if left[0] == 0:
                raise OSError("the test fails here")
            return move(self, name, new)

        monkeypatch.setattr(Folders, "_move", moved)
        with pytest.raises(StreamingQueryException, match="the test fails here"):
            archives.run(spark, tmp_path, sides, "full", budget=8 + 4 * number, policy="clock")
    monkeypatch.setattr(Folders, "_move", move)
    told = archives.run(spark, tmp_path, sides, "full", budget=9, policy="clock")
    assert sum(told.evicted) > 0
    figures = owed(spark, tmp_path / "archive", told)
    assert figures.rows > 100
    assert figures.bytes > 1000
    assert figures.oldest >= at(0)
    # A run of reconcile that ends before it has tidied up is gone on with, and not repeated.
    module = sys.modules["penstock.spark.reconcile"]  # the package has a function of that name
    monkeypatch.setattr(module, "_settle", lambda mine, upto: None)
    archives.corrected(spark, tmp_path)
    assert archives.exact(spark, tmp_path) == truth(spark, sides, "full")
    monkeypatch.undo()
    archives.corrected(spark, tmp_path)
    assert archives.exact(spark, tmp_path) == truth(spark, sides, "full")
    assert owed(spark, tmp_path / "archive").rows == 0


@pytest.mark.slow  # a Spark process for each
@pytest.mark.parametrize(("how", "kills"), [("full", 3), ("left", 20)])
def test_killed_again_and_again(spark, tmp_path, how, kills):
    rng = random.Random(how)
    sides = archives.draw(tmp_path, seed=4, count=100 * kills, parts=2 * kills, span=50 * kills)
    survived = 0
    for number in range(kills):
        options = {"budget": rng.randrange(6, 20), "policy": "clock"}
        given = {"folder": str(tmp_path), "how": how, "options": options}
        given["die_at"] = rng.randrange(2, 9)
        log = tmp_path / f"log-{number}"
        process = start_driver(given, log, "tests.spark.archive_driver")
        process.wait(PATIENCE)
        assert process.returncode in (0, -signal.SIGKILL), log.read_text(errors="replace")[-3000:]
        survived += process.returncode == 0
    assert survived < kills / 2
    archives.run(spark, tmp_path, sides, how, budget=10, policy="clock")
    archives.corrected(spark, tmp_path)
    assert archives.exact(spark, tmp_path) == truth(spark, sides, how)


def test_what_is_refused(spark, tmp_path):
    sides = archives.draw(tmp_path, seed=5, count=40, parts=1)
    streams = [files.stream(spark) for files in sides]
    usual = {"on": "k", "time": "ts", "within": "9 seconds", "delay": "1 second", "budget": 5}

    def joined(frames=streams, **options):
        return join(*frames, **usual | {"archive": tmp_path / "archive"} | options)

    wrong = [
        ({"match": "first"}, "match='all'"),
        ({"within": None}, "within"),
        ({"archive": 7}, "archive"),
        ({"frames": [files.batch(spark) for files in sides]}, "streams"),
    ]
    for options, message in wrong:
        with pytest.raises(BadInput, match=message):
            joined(**options)
    paths = {"results": tmp_path / "results", "checkpoint": tmp_path / "checkpoint"}
    with pytest.raises(BadInput, match="archive="):
        write(joined().where("k is not null"), **paths)
    with pytest.raises(BadInput, match="no archive"):
        reconcile(spark, tmp_path / "archive")
    query = joined().writeStream.format("noop").trigger(availableNow=True)
    query = query.option("checkpointLocation", str(tmp_path / "other")).start()
    with pytest.raises(StreamingQueryException, match=r"penstock\.spark\.write"):
        query.awaitTermination()
    write(joined(), **paths, availableNow=True).awaitTermination()
    with pytest.raises(BadState, match="another join"):
        write(joined(how="left"), **paths)
    plain = join(*streams, **usual, checkpoint=None)
    with pytest.raises(BadInput, match="archive="):
        write(plain, **paths)
    with pytest.raises(BadState, match="archived=True"):
        join(*streams, **usual, checkpoint=tmp_path / "checkpoint")
