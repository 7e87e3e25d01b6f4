"""A real cluster on loopback: a master, two workers, executors that have no Penstock installed."""

import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pyspark
import pytest

from penstock.spark import join
from penstock.spark.session import package_zip
from tests.patience import until
from tests.spark.bare import bare_python
from tests.spark.driver import SECOND
from tests.spark.processes import (
    await_commits,
    figures,
    kill,
    parent,
    start,
    start_driver,
    strike,
)
from tests.spark.streams import bag, results
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


@pytest.mark.parametrize(
    ("happens", "more"),
    [
        (a_worker_dies, {}),
        (an_executor_dies_in_mid_batch, {}),
        (a_task_is_so_slow_that_spark_starts_another, {"slow_after": 2}),
    ],
)
def test_no_row_is_lost_or_doubled(spark, tmp_path, cluster, happens, more):
    address, workers = cluster
    sides = write(tmp_path, seed=6, count=1000, files=8)
    (tmp_path / "images").mkdir(mode=0o700)
    settings = {"spark.executor.memory": "512m", "spark.driver.memory": "512m"}
    settings |= {"spark.executorEnv.PENSTOCK_IMAGE_DIR": str(tmp_path / "images")}
    given = {
        "folder": str(tmp_path),
        "master": address,
        "ship": True,
        "options": EXACT,
        "settings": settings | (SPECULATION if more else {}),
    } | more
    python = str(bare_python(tmp_path))
    env = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}
    driver = start_driver(given, tmp_path / "log", **env)
    try:
        happens(tmp_path, workers, driver)
        told = figures(driver, tmp_path / "log")
    finally:
        kill(driver)
    everything = bag(join(*[side.batch(spark) for side in sides], on="k", **EXACT))
    assert results(spark, tmp_path) == everything
    assert told["matches"] == sum(everything.values())


def test_executors_compile_nothing(tmp_path, cluster):
    """All kernels in their folders, which were empty, are the driver's to the last byte."""
    address, _ = cluster
    write(tmp_path, seed=6, count=4000, files=4)
    settings = {"spark.executor.memory": "512m", "spark.driver.memory": "512m"}
    given = {"folder": str(tmp_path), "master": address, "ship": True, "settings": settings}
    given["options"] = EXACT | {"budget": 60}
    env = {
        "PYSPARK_PYTHON": str(bare_python(tmp_path)),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PENSTOCK_CACHE_DIR": str(tmp_path / "kernels"),
    }
    driver = start_driver(given, tmp_path / "log", **env)
    try:
        assert figures(driver, tmp_path / "log")["matches"] > 0
    finally:
        kill(driver)
    made = {path.name: path.read_bytes() for path in (tmp_path / "kernels").rglob("*.nbc")}
    for number in range(2):
        sent = {path.name: path.read_bytes() for path in tmp_path.glob(f"kernels{number}/*/*.nbc")}
        assert sent
        assert sent.items() <= made.items()
