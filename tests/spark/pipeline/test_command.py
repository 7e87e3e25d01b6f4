"""`penstock init` and `penstock run` as a user types them: processes of their own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli import app
from tests.patience import PATIENCE, until
from tests.signals import handled

pytestmark = pytest.mark.spark


def start(*arguments):
    command = [sys.executable, "-c", "from penstock.cli import main; main()", *map(str, arguments)]
    with handled(signal.SIGINT, signal.default_int_handler):
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def finish(process):
    stdout, stderr = process.communicate(timeout=PATIENCE)
    return process.returncode, stdout, stderr


@pytest.mark.slow
def test_the_example_is_checked_interrupted_and_goes_on(tmp_path):
    folder = tmp_path / "shop"
    made = CliRunner().invoke(app, ["init", str(folder)])
    assert made.exit_code == 0
    file = folder / "pipeline.toml"
    again = CliRunner().invoke(app, ["init", str(folder)])
    assert again.exit_code == 2
    assert f"{file} is there already" in again.stderr

    file.write_text(file.read_text().replace('# policy = "auto" ', 'policy = "lru"'))
    code, stdout, stderr = finish(start("run", file, "--check", "--json"))
    assert (code, stderr) == (0, "")
    plan = json.loads(stdout)
    assert plan["operator"] == "join"
    assert plan["result"]["customer"] == "bigint"
    assert not (folder / "checkpoint").exists()

    # A micro-batch an hour: the signal comes in the first, or in the pause after it.
    ending, hourly = "trigger.availableNow = true", 'trigger.processingTime = "1 hour"'
    file.write_text(file.read_text().replace(ending, hourly))
    process = start("run", file)
    until(lambda: (folder / "checkpoint/offsets/0").exists(), "the first micro-batch")
    process.send_signal(signal.SIGINT)
    code, stdout, stderr = finish(process)
    assert code == 0, stderr
    assert "Ending after this micro-batch" in stderr
    assert "goes on from checkpoint." in stderr
    assert [each.name for each in (folder / "checkpoint/commits").glob("[0-9]")] == ["0"]
    assert told(stderr) == ["0"]

    file.write_text(file.read_text().replace(hourly, ending))
    code, stdout, stderr = finish(start("run", file, "--json"))
    assert code == 0, stderr
    figures = json.loads(stdout)
    assert figures["arrived"] == [50_000, 10_000]
    assert figures["rows_held"] <= 1500
    assert "0" not in told(stderr)


LASTING = """
[source.a]
format = "rate"
[source.b]
format = "rate"
[join]
left = "a"
right = "b"
on = "value"
time = "timestamp"
within = "1 minute"
delay = "1 second"
[sink]
format = "console"
[monitor]
port = 0
"""


@pytest.mark.slow
def test_the_end_of_java_is_told_in_one_sentence_with_the_log(tmp_path):
    """As when the system kills it for its memory."""
    file = tmp_path / "a.toml"
    file.write_text(LASTING)
    process = start("run", file)
    lines = []
    while not told("".join(lines)):  # until the first micro-batch
        lines.append(process.stderr.readline())
        assert lines[-1], "".join(lines)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    [java] = [each for each in children if b"java" in Path(f"/proc/{each}/cmdline").read_bytes()]
    os.kill(int(java), signal.SIGKILL)
    code, _, stderr = finish(process)
    assert code == 2, stderr
    last = stderr.splitlines()[-1]
    assert "the query failed: Java, which runs Spark, has ended" in last
    log = Path(last.rpartition("Spark's log: ")[2])
    assert log.exists()
    log.unlink()
    assert "Traceback" not in stderr


def told(stderr):
    """Return the numbers of the micro-batches that lines were printed of."""
    return [line.split()[0] for line in stderr.splitlines() if line.strip()[:1].isdigit()]


def test_a_mistake_is_one_sentence_before_spark_starts(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text("[join]\nlft = 'a'\n")
    result = CliRunner().invoke(app, ["run", str(file)])
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "penstock: a.toml, line 2: unknown key 'lft' of [join]; did you"
    )
    assert result.stderr.count("\n") == 1
