"""Start processes for a test, and end exactly these."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.patience import PATIENCE, until

ROOT = Path(__file__).parents[2]
STILL = "still"  # the file that a query leaves when it stands still


def start(command: list[str], log: Path, **env: str) -> subprocess.Popen:
    """Start a process in a group of its own; what it says goes to a file."""
    with log.open("wb") as out:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"} | env,
        )


def start_driver(
    given: dict, log: Path, module: str = "tests.spark.driver", **env: str
) -> subprocess.Popen:
    if given.get("master") == "connect":
        env["SPARK_TESTING"] = "1"  # a free port for each server: two tests may run at a time
    return start([sys.executable, "-m", module, json.dumps(given)], log, **env)


def figures(process: subprocess.Popen, log: Path) -> dict:
    """Wait for a driver to end well, and return what it printed."""
    code = process.wait(PATIENCE)
    text = log.read_text(errors="replace")
    assert code == 0, text[-3000:]
    return json.loads([line for line in text.splitlines() if line.startswith("{")][-1])


def kill(process: subprocess.Popen) -> None:
    """Kill a process that we started, and the group that it leads."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def commits(folder: Path) -> int:
    """Return how many micro-batches are committed in a checkpoint."""
    return len([p for p in folder.glob("commits/*") if p.name.isdigit()])


def await_commits(folder: Path, count: int, process: subprocess.Popen) -> None:
    """Wait until so many micro-batches are committed."""

    def come() -> bool:
        assert process.poll() is None, f"it ended with {commits(folder)} commits in {folder}"
        return commits(folder) >= count

    until(come, f"{count} commits in {folder}")


def await_standstill(folder: Path, process: subprocess.Popen) -> None:
    """Wait until a query stands still in the middle of a micro-batch; see `driver.stands_still`."""

    def come() -> bool:
        assert process.poll() is None, f"it ended without standing still in {folder}"
        return (folder / STILL).exists()

    until(come, "the standstill")


def run_and_kill(folder: Path, given: dict, *module: str) -> None:
    """Run a driver in a folder until it stands still in its third micro-batch, and kill it."""
    driver = start_driver(
        {"folder": str(folder), "still_after": 2} | given, folder / "log", *module
    )
    try:
        await_standstill(folder, driver)
    finally:
        kill(driver)
    assert commits(folder / "out-checkpoint") == 2


def in_mid_batch(images: Path, session: int) -> list[int]:
    """Return the workers of a session of processes that are in the middle of a micro-batch.

    An image that a worker has taken over, and not given back yet, is marked as dirty.
    """
    locks = {str(dirty.with_name("lock")) for dirty in images.glob("*/*/*/dirty")}
    return [pid for pid in _members(session) if locks & _open_files(pid)] if locks else []


def _members(session: int) -> list[int]:
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [pid for pid in pids if _status(pid)[3:4] == [str(session)]]


def parent(pid: int) -> int:
    """Return the process that has started another one."""
    return int(_status(pid)[1])


def _status(pid: int) -> list[str]:
    """Return what the system says of a process: state, parent, group, session; or nothing."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _open_files(pid: int) -> set[str]:
    try:
        return {os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")}
    except OSError:
        return set()


def strike(
    images: Path,
    sessions: list[int],
    checkpoint: Path,
    driver: subprocess.Popen,
    after: int,
    victim: Callable[[int], int] = lambda worker: worker,
) -> None:
    """Kill, after so many commits, what a worker in the middle of a micro-batch leads to."""
    await_commits(checkpoint, after, driver)

    def hit() -> bool:
        assert driver.poll() is None, f"it ended with {commits(checkpoint)} commits"
        for pid in (pid for session in sessions for pid in in_mid_batch(images, session)):
            os.kill(victim(pid), signal.SIGKILL)
            return True
        return False

    until(hit, "a micro-batch in progress", pause=0.0005)
