"""Readings for `penstock precision source`: from a file, line by line, and from a command."""

import itertools
import math

import pytest

from penstock.cli.readings import from_command, from_file, read_lines
from penstock.errors import BadInput


def test_readings_of_a_file_are_checked_to_the_end_first(tmp_path):
    file = tmp_path / "readings.txt"
    file.write_text("Living Room/temp 21\n\nhall 1e1\n")
    assert list(from_file(str(file), None)) == [("Living Room/temp", 21.0), ("hall", 10.0)]
    file.write_text("hall 20\nhall warm\n")
    with pytest.raises(BadInput, match=r"line 2 of .* must be a key and a number, got"):
        next(from_file(str(file), None))
    file.write_bytes(b"hall \xff\n")
    with pytest.raises(BadInput, match="cannot be read: it is not text"):
        next(from_file(str(file), None))
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        next(from_file(str(tmp_path / "none"), None))


@pytest.mark.parametrize("line", ["warm", "1 2", "0x10"])
def test_refuses_what_is_no_number(line):
    with pytest.raises(BadInput, match="line 1 of it must be a number, got"):
        next(read_lines([line], "it", key="hall"))


def test_readings_may_be_no_finite_numbers_and_whole_ones_are_exact():
    lines = ["nan", "-inf", "1e400", str(2**53 + 1), "-9007199254740993", "20", "9" * 400]
    values = [reading.value for reading in read_lines(lines, "it", key="hall")]
    assert math.isnan(values[0])
    assert values[1:] == [-math.inf, math.inf, 2**53 + 1, -(2**53) - 1, 20.0, math.inf]


def test_readings_of_a_command():
    found = from_command("echo 1; echo 2", "hall", every=0)
    assert list(itertools.islice(found, 3)) == [("hall", 1.0), ("hall", 2.0), ("hall", 1.0)]
    with pytest.raises(BadInput, match="ended with code 3: no sensor"):
        next(from_command("echo no sensor >&2; exit 3", "hall", every=0))
    with pytest.raises(BadInput, match=r"took more than 0\.01 seconds"):
        next(from_command("exec sleep 60", "hall", every=0, most=0.01))
    with pytest.raises(BadInput, match="every must be a number of at least 0, got -1"):
        next(from_command("echo 1", "hall", every=-1))
