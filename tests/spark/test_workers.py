"""The workers' Python is looked at once, and what it lacks is said in one sentence."""

import sys
import venv

import pytest

from penstock.spark import session as workers
from penstock.spark.needs import SparkMissing
from tests.patience import PATIENCE
from tests.spark.processes import kill, start

DRIVER = """
import sys
from pyspark.sql import SparkSession
from penstock.spark import join

kind = SparkSession.builder
kind = kind.remote("local[1]") if sys.argv[1] == "connect" else kind.master("local[1]")
spark = kind.getOrCreate()
frame = spark.sql("select 1 k, timestamp'2024-01-01' ts")
try:
    join(frame, frame, on="k", time="ts", within="1 second")
except Exception as error:
    print(f"SAID {type(error).__name__}: {error}")
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("kind", ["classic", "connect"])
def test_a_python_without_pyarrow(tmp_path, kind):
    venv.create(tmp_path / "bare", with_pip=False)
    bare = str(tmp_path / "bare" / "bin" / "python")
    driver = start(
        [sys.executable, "-c", DRIVER, kind],
        tmp_path / "log",
        PYSPARK_PYTHON=bare,
        SPARK_TESTING="1",
    )
    try:
        driver.wait(PATIENCE)
    finally:
        kill(driver)
    said = (tmp_path / "log").read_text(errors="replace")
    assert f"SAID SparkMissing: the Python that Spark's workers run, {bare}, cannot import" in said
    told = said.partition("SAID ")[2].splitlines()[0]
    assert "pyarrow" in told
    assert "set the environment variable PYSPARK_PYTHON to the Python that they should run" in told
    assert f"(here {sys.executable})" in told


class Session:
    """As much of a session as the check looks at; counts how often its workers are asked."""

    def __init__(self, master="yarn", python="python3", application="app-1"):
        self.conf = {"spark.app.id": application, "spark.master": master}
        self.sparkContext = self
        self.pythonExec = python


@pytest.fixture
def asked(monkeypatch):
    """Answer in the place of the workers, and remember which were asked."""
    seen = []

    def ask(session):
        seen.append(session)
        return asked_of[0]

    asked_of = [("/usr/bin/python3", [])]
    monkeypatch.setattr(workers, "_ask", ask)
    monkeypatch.setattr(workers, "_checked", set())
    return seen, asked_of


def test_once_per_application(asked):
    seen, answer = asked
    for application in ("app-1", "app-1", "app-2", "app-1"):
        workers.check_workers(Session(application=application))
    assert len(seen) == 2
    answer[0] = ("/usr/bin/python3", ["pyarrow"])
    for _ in range(2):  # a refused worker is asked again
        with pytest.raises(SparkMissing, match="/usr/bin/python3, cannot import pyarrow; set the"):
            workers.check_workers(Session(application="app-3"))
    assert len(seen) == 4


def test_workers_that_run_this_python_are_not_asked(asked):
    seen, _ = asked
    workers.check_workers(Session("local[2]", sys.executable))
    assert not seen
    workers.check_workers(Session("local[2]", "/usr/bin/another", "app-2"))
    workers.check_workers(Session("yarn", sys.executable, "app-3"))
    assert len(seen) == 2


def test_a_package_that_is_shipped_later_is_only_warned_of(asked):
    asked[1][0] = ("/usr/bin/python3", ["penstock"])
    with pytest.warns(UserWarning, match="cannot import penstock yet; install it there, or ship"):
        workers.check_workers(Session())


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("ModuleNotFoundError: No module named 'pyarrow.lib'", "run cannot import pyarrow; set"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has", "run is of another version than 3"),
        ('Cannot run program "python3": error=2', "run cannot be started .*PYSPARK_PYTHON"),
    ],
)
def test_what_a_failure_says(error, said):
    with pytest.raises(SparkMissing, match=said):
        workers._judge("", workers._reasons(error))


def test_other_failures_are_left_to_the_query():
    workers._judge("", workers._reasons("Job 0 cancelled because the cluster is down"))
