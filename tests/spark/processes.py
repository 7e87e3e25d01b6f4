"""Start processes for a test, and end exactly these."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]


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


def figures(process: subprocess.Popen, log: Path, seconds: float = 150) -> dict:
    """Wait for a driver to end well, and return what it printed."""
    code = process.wait(seconds)
    text = log.read_text(errors="replace")
    assert code == 0, text[-3000:]
    return json.loads([line for line in text.splitlines() if line.startswith("{")][-1])


def kill(process: subprocess.Popen) -> None:
    """Kill a process that we started, and the group that it leads."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def await_commits(
    folder: Path, count: int, process: subprocess.Popen, seconds: float = 120
) -> None:
    """Wait until so many micro-batches are committed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        if len([p for p in folder.glob("commits/*") if p.name.isdigit()]) >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"no {count} commits in {folder}")
