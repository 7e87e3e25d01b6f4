"""A real cluster on loopback: a master, two workers, executors that have no Penstock installed."""

import os
import random
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from penstock.spark import join
from penstock.spark.session import package_zip
from tests.patience import until
from tests.spark import test_thin as thinnings
from tests.spark.bare import bare_python
from tests.spark.driver import SECOND
from tests.spark.processes import (
    STILL,
    await_commits,
    await_standstill,
    figures,
    kill,
    parent,
    start,
    start_driver,
    strike,
)
from tests.spark.streams import Files, bag, results
from tests.spark.test_restart import EXACT, write

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HOME = Path(pyspark.__file__).parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def cluster(tmp_path):
    """Yield the address of a master, and its workers as processes."""
    port, page = free_port(), free_port()
    env = {"SPARK_HOME": str(HOME), "SPARK_NO_DAEMONIZE": "1", "SPARK_DAEMON_MEMORY": "256m"}
    command = [str(HOME / "bin" / "spark-class"), "org.apache.spark.deploy"]
    places = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)]
    master = [command[0], f"{command[1]}.master.Master", *places]
    started = [start(master, tmp_path / "master.log", **env)]
    try:
        address = f"spark://127.0.0.1:{port}"
        for number in range(2):
            # Spark starts no second attempt on the machine of the first, and tells them by name.
            host = f"127.0.0.{1 + number}"
            worker = [command[0], f"{command[1]}.worker.Worker", "--host", host]
            worker += ["-c", "1", "-m", "1g", "-d", str(tmp_path / f"work{number}")]
            worker += ["--webui-port", "0", address]
            own = {"PENSTOCK_CACHE_DIR": str(tmp_path / f"kernels{number}")}  # as on two machines
            started.append(start(worker, tmp_path / f"worker{number}.log", **env, **own))
        _await_workers(page, 2)
        yield address, started[1:]
    finally:
        for process in reversed(started):
            kill(process)


def _await_workers(page: int, count: int) -> None:
    def are_up() -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/") as answer:
                return f'"aliveworkers" : {count}' in answer.read().decode()
        except OSError:
            return False

    until(are_up, "the start of the workers")


def test_the_package_runs_from_its_zip(tmp_path):
    python = str(bare_python(tmp_path))
    tried = subprocess.run([python, "-c", "import penstock"], capture_output=True, cwd=tmp_path)
    assert b"No module named 'penstock'" in tried.stderr
    code = "import penstock.spark, penstock; j = penstock.Join(within=1); print(penstock.__file__)"
    env = os.environ | {"PYTHONPATH": str(package_zip(tmp_path))}
    done = subprocess.run([python, "-c", code], capture_output=True, cwd=tmp_path, env=env)
    assert b"penstock.zip" in done.stdout, done.stderr


def a_worker_dies(folder, workers, driver):
    await_commits(folder / "out-checkpoint", 2, driver)
    kill(workers[0])


def an_executor_dies_in_mid_batch(folder, workers, driver):
    def executor(worker: int) -> int:  # it has started the daemon, which has started the worker
        return parent(parent(worker))

    sessions = [worker.pid for worker in workers]
    strike(folder / "images", sessions, folder / "out-checkpoint", driver, 2, executor)


def a_task_is_so_slow_that_spark_starts_another(folder, workers, driver):
    the_second_attempt_comes(folder, driver)


def the_second_attempt_comes(folder, driver):
    def come() -> bool:
        assert driver.poll() is None, "it ended without a second attempt"
        return (folder / SECOND).exists()

    until(come, "the second attempt")


SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "500ms",
    "spark.speculation.quantile": "0.5",
}


@contextmanager
def submitted(folder, address, given, module="tests.spark.driver"):
    """Start a driver whose executors have no Penstock but the zip that it ships."""
    (folder / "images").mkdir(mode=0o700)
    settings = {"spark.executor.memory": "512m", "spark.driver.memory": "512m"}
    settings |= {"spark.executorEnv.PENSTOCK_IMAGE_DIR": str(folder / "images")}
    given = given | {"folder": str(folder), "master": address, "ship": True}
    given["settings"] = settings | given.get("settings", {})
    env = {
        "PYSPARK_PYTHON": str(bare_python(folder)),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PENSTOCK_CACHE_DIR": str(folder / "kernels"),
    }
    driver = start_driver(given, folder / "log", module, **env)
    try:
        yield driver
    finally:
        kill(driver)


def assert_nothing_was_compiled(folder):
    """All kernels in the folders of executors, which were empty, are the driver's to the byte."""
    made = {path.name: path.read_bytes() for path in (folder / "kernels").rglob("*.nbc")}
    for number in range(2):
        sent = {path.name: path.read_bytes() for path in folder.glob(f"kernels{number}/*/*.nbc")}
        assert sent
        assert sent.items() <= made.items()


@pytest.mark.parametrize(
    ("happens", "more"),
    [
        (a_worker_dies, {}),
        (an_executor_dies_in_mid_batch, {}),
        (a_task_is_so_slow_that_spark_starts_another, {"slow_after": 2, "settings": SPECULATION}),
    ],
)
def test_no_row_is_lost_or_doubled(spark, tmp_path, cluster, happens, more):
    address, workers = cluster
    sides = write(tmp_path, seed=6, count=1000, files=8)
    with submitted(tmp_path, address, {"options": EXACT} | more) as driver:
        happens(tmp_path, workers, driver)
        told = figures(driver, tmp_path / "log")
    everything = bag(join(*[side.batch(spark) for side in sides], on="k", **EXACT))
    assert results(spark, tmp_path) == everything
    assert told["matches"] == sum(everything.values())


def test_a_join_within_a_budget_compiles_nothing_on_executors(spark, tmp_path, cluster):
    address, _ = cluster
    write(tmp_path, seed=6, count=4000, files=4)
    with submitted(tmp_path, address, {"options": EXACT | {"budget": 60}}) as driver:
        assert figures(driver, tmp_path / "log")["matches"] > 0
    assert_nothing_was_compiled(tmp_path)


def test_a_lookup_whose_executor_is_killed(spark, tmp_path, cluster):
    pytest.importorskip("adbc_driver_sqlite", reason="pip install penstock[databases]")
    from tests.spark import test_lookup as lookups

    address, workers = cluster
    uri = lookups.write_table(tmp_path / "shop.db", lookups.customers(50))
    files = Files(tmp_path / "events", lookups.SCHEMA)
    batches = lookups.write_events(files, seed=9, parts=8)
    given = {"uri": uri, "options": {"budget": 11, "policy": "lru"}}
    with submitted(tmp_path, address, given, "tests.spark.lookup_driver") as driver:
        an_executor_dies_in_mid_batch(tmp_path, workers, driver)
        told = figures(driver, tmp_path / "log")
    assert results(spark, tmp_path) == lookups.expected(batches, 50)
    assert told["events"] == told["batch_rows"] == 8 * 300
    assert told["hits"] + told["known_missing"] + told["misses"] + told["null_keys"] == 8 * 300
    assert_nothing_was_compiled(tmp_path)


def test_a_thinning_whose_executor_is_killed(spark, tmp_path, cluster):
    address, _ = cluster
    readings, queries = thinnings.walk(random.Random(6), 600)
    thinnings.write(tmp_path, readings, queries, parts=8)
    given = {"options": thinnings.OPTIONS, "slow_after": 2}
    with submitted(tmp_path, address, given, thinnings.DRIVER) as driver:
        await_standstill(tmp_path, driver)
        os.kill(int((tmp_path / STILL).read_text()), signal.SIGKILL)
        the_second_attempt_comes(tmp_path, driver)
        told = figures(driver, tmp_path / "log")
    assert (told["readings"], told["queries"], told["late"]) == (600, 200, 0)
    found = thinnings.refreshes(spark.read.parquet(str(tmp_path / "out")))
    assert found == thinnings.expected(spark, readings, queries)
    assert_nothing_was_compiled(tmp_path)
