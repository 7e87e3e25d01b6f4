"""Locks in files: one process at a time, and none waits forever."""

import subprocess
import sys
import textwrap

from penstock.kernel.jit import FileLock

HOLDER = """
import sys
from pathlib import Path
from penstock.kernel.jit import FileLock
lock = FileLock(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.readline()
"""


def holder(file):
    """Start a process that has the lock until a line is sent to it."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLDER), str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "locked\n"
    return process


def test_the_first_does_not_wait(tmp_path):
    lock = FileLock(tmp_path / "file")
    assert not lock.had_to_wait
    lock.release()
    assert not FileLock(tmp_path / "file").had_to_wait


def test_a_process_that_has_waited_long_enough_continues(tmp_path):
    with holder(tmp_path / "file") as process:
        assert FileLock(tmp_path / "file", patience=0.05).had_to_wait
        process.communicate("\n")


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path):
    with holder(tmp_path / "file") as process:
        process.kill()
        process.wait()
        lock = FileLock(tmp_path / "file", patience=600)  # returns, or the test never ends
        lock.release()
    assert not FileLock(tmp_path / "file").had_to_wait


def test_without_a_folder_there_is_no_waiting(tmp_path):
    lock = FileLock(tmp_path / "nowhere" / "file")
    assert not lock.had_to_wait
    lock.release()
