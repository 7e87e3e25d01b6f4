"""The commands that talk to a broker."""

import json
import sys
import time

import pytest
from typer.testing import CliRunner

from penstock.cli import app
from penstock.cli.readings import feed, read_lines

from .brokers import PATIENCE, address, free_port, until
from .conftest import Corner

QUERY = "avg(sensor/+/temp) within 0.5"


def call(*arguments, **more):
    return CliRunner().invoke(app, ["precision", *map(str, arguments)], **more)


@pytest.fixture
def at(corner):
    return ["--broker", corner.broker, "--root", corner.root, "--timeout", PATIENCE]


def test_a_query_as_json(corner, at):
    source, cache = corner.source(), corner.cache()
    for i in range(4):
        source.set(f"sensor/{i}/temp", 20.0 + i)
    until(lambda: len(cache.known()) == 4)
    result = call("query", QUERY, *at, "--json", "--patience", PATIENCE)
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    fields = ["query", "low", "high", "within", "keys", "refreshed", "stale", "reason", "ignored"]
    assert list(found) == fields
    assert found["reason"] is None
    assert (found["query"], found["within"], found["keys"]) == (QUERY, True, 4)
    assert found["low"] <= 21.5 <= found["high"]
    assert found["high"] - found["low"] <= 0.5
    assert (len(found["refreshed"]), found["stale"], found["ignored"]) == (4, [], 0)

    said = call("query", "count(sensor/# > 30) within 0", *at)
    assert said.stdout == "count(sensor/# > 30) is 0: 4 values\n"
    too_few = call("query", QUERY, *at, "--expect", 5)
    assert too_few.exit_code == 2
    assert "at least 5 keys must be known, got 4: sensor/0/temp" in too_few.stderr

    source.close()
    until(lambda: cache.is_stale("sensor/0/temp"))
    lost = call("query", QUERY, *at, "--json")
    assert lost.exit_code == 1  # an answer, but wider than asked for
    found = json.loads(lost.stdout)
    assert (found["low"], found["high"], found["within"]) == (None, None, False)
    assert len(found["stale"]) == 4
    words = call("query", QUERY, *at)
    lost = "unknown, since their sources are lost: sensor/0/temp"
    assert lost in " ".join(words.stdout.split())


def test_a_query_that_goes_on(corner, at, monkeypatch):
    source, cache = corner.source(), corner.cache()
    source.set("hall", 20.0)
    until(lambda: cache.known())
    slept = []

    def sleep(seconds, really=time.sleep):
        if seconds != 0.7:
            return really(seconds)
        slept.append(seconds)
        if len(slept) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", sleep)
    result = call("query", "max(hall) within 4", *at, "--watch", 0.7)
    assert result.exit_code == 130
    assert result.stdout.count("max(hall) is between 18 and 22: 1 value\n") == 2


def test_a_source_of_a_file(corner, at, tmp_path):
    cache = corner.cache()
    file = tmp_path / "readings.txt"
    file.write_text("hall 20\nroof 30\nhall 21\nhall 40\n")
    result = call("source", file, "--name", "house", "--rule", "static:width=4", *at, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert list(found) == ["source", "readings", "skipped", "published", "answered", "ignored"]
    assert (found["source"], found["readings"], found["ignored"]) == ("house", 4, 0)
    until(lambda: cache.known() == ("hall", "roof"))
    until(lambda: cache.is_stale("hall") and cache.is_stale("roof"))  # it left, and said so


def test_a_source_of_numbers_from_the_standard_input(corner, at):
    cache = corner.cache()
    result = call("source", "--key", "hall", "--limit", 30, *at, input="20\n\n21\n")
    assert result.exit_code == 0
    assert result.stdout.startswith("hall: 2 readings, ")
    until(lambda: cache.known() == ("hall",))


def test_readings_that_are_no_finite_numbers_are_counted_and_skipped(corner, at, tmp_path):
    file = tmp_path / "readings.txt"
    file.write_text("hall nan\nhall 20\nhall NaN\nhall 21\nhall -inf\nhall 1e999\n")
    result = call("source", file, "--name", "house", *at, "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["readings"], found["skipped"]) == (0, 2, 4)
    notes = result.stderr.splitlines()
    assert len(notes) == 3  # of the first, the second and the fourth
    assert "a reading of hall is no finite number (nan) and is skipped, 1 so far" in notes[0]
    said = call("source", "--key", "hall", *at, input="20\nnan\n").stdout
    assert "1 readings, 1 skipped that were no finite numbers," in " ".join(said.split())


def test_a_live_source_survives_a_reading_that_is_no_number(corner):
    """As `penstock precision source --stay` reads it, one line after another."""
    source, cache = corner.source(), corner.cache()
    skipped = feed(source, read_lines(["20", "nan", "40"], "it", key="hall"))
    until(lambda: cache.known() and cache.bounds("hall") == (38.0, 42.0))
    assert skipped == 1


def test_sums_of_the_largest_readings(corner, at):
    source, cache = corner.source(), corner.cache()
    for i in range(3):
        source.set(f"sensor/{i}/temp", 1e308)
    until(lambda: len(cache.known()) == 3)
    result = call("query", "sum(sensor/#) within 1", *at, "--json", "--patience", PATIENCE)
    found = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert found["low"] == sys.float_info.max
    assert found["high"] is None  # no float is above 3e308
    assert call("query", "avg(sensor/#) within 1", *at).exit_code == 0


def test_a_query_says_that_the_connection_is_lost(kind, tmp_path, monkeypatch):
    running = kind(tmp_path)
    corner = Corner(address(running))
    at = ["--broker", corner.broker, "--root", corner.root, "--timeout", PATIENCE]
    source, cache = corner.source(), corner.cache()
    source.set("hall", 20.0)
    until(lambda: cache.known())

    def sleep(seconds, really=time.sleep):
        if seconds != 0.7:
            return really(seconds)
        if not cache.up:
            raise KeyboardInterrupt
        running.crash()
        until(lambda: not cache.up)
        return really(0.5)

    monkeypatch.setattr(time, "sleep", sleep)
    result = call("query", "max(hall) within 4", *at, "--watch", 0.7)
    assert "max(hall) is between 18 and 22: 1 value" in result.stdout
    said = f"unknown, since there is no connection to mqtt://127.0.0.1:{running.port}: hall"
    assert said in " ".join(result.stdout.split())
    corner.close()


def test_a_source_of_a_command(corner, at, tmp_path):
    cache = corner.cache()
    script = f"test ! -e {tmp_path}/ran && echo 20 && touch {tmp_path}/ran"  # fails the second time
    result = call("source", "--key", "hall", "--command", script, "--every", 0, *at)
    assert result.exit_code == 2
    assert "ended with code 1" in result.stderr
    until(lambda: cache.known() == ("hall",) and cache.is_stale("hall"))


PORT = free_port()
NOWHERE = ["--broker", f"mqtt://127.0.0.1:{PORT}"]
FED = {"input": "20\n"}
HALL = ["source", "--key", "hall"]
BAD = {
    "no broker": (
        ["query", QUERY, *NOWHERE],
        f"MQTT broker at mqtt://127.0.0.1:{PORT}: connection",
    ),
    "no broker for a source": ([*HALL, *NOWHERE], "no connection to an MQTT broker at mqtt://127"),
    "no query": (["query", "average of it"], "must read like 'avg(sensor/+/temp) within 0.5'"),
    "no such query": (["query", "mean(x) within 1"], "must be one of sum, avg, max, min, count"),
    "delta": (["query", "avg(x) within -1"], "delta must be a number of at least 0, got -1"),
    "delta nan": (["query", "avg(x) within nan"], "delta must be a finite number, got 'nan'"),
    "no limit": (["query", "count(x) within 1"], "must read like count(KEYS > LIMIT) within 1"),
    "sign": (["query", "quantile(x > 1) within 1"], "must read like quantile(KEYS, SHARE)"),
    "share": (["query", "quantile(x, 7) within 1"], "quantile must be above 0 and at most 1"),
    "pattern": (["query", "avg(a/#/b) within 1", *NOWHERE], "a pattern of keys must be a key"),
    "address": (["query", QUERY, "--broker", "ftp://x"], "must read like mqtt://localhost:1883"),
    "rule": ([*HALL, "--rule", "adapted", *NOWHERE], "did you mean 'adaptive'"),
    "width": ([*HALL, "--rule", "static:width=-1", *NOWHERE], "width must be a number of at least"),
    "width nan": ([*HALL, "--rule", "static:width=nan", *NOWHERE], "width must be a number of at"),
    "moving": (
        [*HALL, "--rule", "growing", *NOWHERE],
        "intervals of rule 'growing' move with time",
    ),
    "cost": ([*HALL, "--cost-query", -2, *NOWHERE], "refresh must be a number above 0, got -2"),
    "cost nan": ([*HALL, "--cost-value", "nan", *NOWHERE], "must be a number above 0, got nan"),
    "silence": (
        [*HALL, "--max-silence", 0, *NOWHERE],
        "max_silence must be a number of",
    ),
    "limit": ([*HALL, "--limit", "nan", *NOWHERE], "an alarm limit must be a finite number"),
    "key": (["source", "--key", "a/+", *NOWHERE], "a key must be a name such as sensor/3/temp"),
    "name": ([*HALL, "--name", "#", *NOWHERE], "the name of a source must be a name such as"),
    "root": ([*HALL, "--root", "", *NOWHERE], "the root of the topics must be a name such as"),
    "no key": (["source", *NOWHERE], "got '20'; or name the key with --key"),
    "both": ([*HALL, "x.txt", "--command", "true"], "from a file or from a command, got both"),
    "nothing": (
        [*HALL, "--command", "true", "--every", "-1"],
        "every must be a number of at",
    ),
    "command": ([*HALL, "--command", "exit 7"], "the command 'exit 7' ended with code 7"),
    "file": ([*HALL, "nowhere.txt"], "the file nowhere.txt cannot be read: No such file"),
    "password": ([*HALL, "--broker", "mqtt://me:pw@x"], "must not hold a user or a password"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_error_is_one_sentence(case):
    arguments, complaint = BAD[case]
    result = call(*arguments, **FED)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("penstock: ")
    assert result.stderr.count("\n") == 1
    assert complaint in result.stderr


def test_a_value_that_is_no_number():
    result = call(*HALL, *NOWHERE, input="warm\n")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "line 1 of the standard input must be a number, got 'warm'" in result.stderr


def test_a_query_about_an_unknown_key_is_rejected(corner, at):
    result = call("query", QUERY, *at)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no message was received about 'sensor/+/temp' at mqtt://127.0.0.1" in result.stderr


def test_a_port_that_is_taken(running):
    result = call("broker", "--port", running.port)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"no broker can be started at 127.0.0.1:{running.port}" in result.stderr
