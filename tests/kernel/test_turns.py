"""Taking turns: one process at a time, and none waits forever."""

import subprocess
import sys
import textwrap

from penstock.kernel.jit import Turn

HOLDER = """
import sys
from pathlib import Path
from penstock.kernel.jit import Turn
turn = Turn(Path(sys.argv[1]))
print("mine", flush=True)
sys.stdin.readline()
"""


def holder(file):
    """Start a process that has its turn until a line is sent to it."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLDER), str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "mine\n"
    return process


def test_the_first_does_not_wait(tmp_path):
    turn = Turn(tmp_path / "it")
    assert not turn.had_to_wait
    turn.end()
    assert not Turn(tmp_path / "it").had_to_wait


def test_a_process_that_has_waited_long_enough_continues(tmp_path):
    with holder(tmp_path / "it") as process:
        assert Turn(tmp_path / "it", patience=0.05).had_to_wait
        process.communicate("\n")


def test_a_process_that_dies_gives_its_turn_back(tmp_path):
    with holder(tmp_path / "it") as process:
        process.kill()
        process.wait()
        turn = Turn(tmp_path / "it", patience=600)  # returns, or the test never ends
        turn.end()
    assert not Turn(tmp_path / "it").had_to_wait


def test_without_a_folder_nobody_waits(tmp_path):
    turn = Turn(tmp_path / "nowhere" / "it")
    assert not turn.had_to_wait
    turn.end()
