import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli import app

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("PENSTOCK_DATA", ROOT.parent / "shared" / "data"))
BEIJING = DATA / "sensors" / "beijing_prsa_12stations_hourly.csv.gz"
needs_beijing = pytest.mark.skipif(
    not BEIJING.exists(), reason=f"no {BEIJING}; set PENSTOCK_DATA to the folder of data"
)
WALK = ["simulate", "--period", "2", "--delta", "20", "--steps", "20000"]
FIELDS = ["sources", "period", "delta", "rho", "rule", "cost_rate", "p_vr", "p_qr", "mean_width"]
FIELDS += ["best_fixed"]


def call(*arguments):
    return CliRunner().invoke(app, ["precision", *map(str, arguments)])


def report(*arguments):
    result = call(*arguments, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_the_shape_of_a_simulation():
    found = report(*WALK, "--rule", "adaptive:alpha=0.1", "--seed", 1)
    assert list(found) == FIELDS
    assert list(found["best_fixed"]) == ["width", "cost_rate"]
    assert (found["sources"], found["period"], found["delta"], found["rho"]) == (1, 2, 20, 1)
    assert found["rule"] == "adaptive:alpha=0.1"
    assert found["cost_rate"] == pytest.approx(found["p_vr"] + 2 * found["p_qr"])
    assert found["cost_rate"] == pytest.approx(found["best_fixed"]["cost_rate"], rel=0.15)


def test_what_is_infinite_is_null():
    options = ["--rule", "static:width=inf", "--steps", 500, "--delta", 0, "--period", 50]
    found = report("simulate", *options)
    assert found["mean_width"] is None
    assert found["best_fixed"]["width"] is None  # nothing is cheaper than to copy nothing


def test_a_table_for_people():
    result = call(*WALK)
    assert result.exit_code == 0
    assert "settling" in result.stdout
    assert "best fixed" in result.stdout


@pytest.fixture
def readings(tmp_path):
    file = tmp_path / "temps.csv"
    rows = [
        f"{place},2026-01-01T{hour:02}:00,{hour % 7 + len(place)}"
        for place in ("roof", "cellar")
        for hour in range(24)
    ]
    file.write_text("where,at,temp\n" + "\n".join(rows) + "\nroof,2026-01-02,NA\n")
    return file


COLUMNS = ["--key", "where", "--value", "temp", "--time", "at"]


def test_the_shape_of_a_replay(readings):
    found = report("replay", readings, *COLUMNS, "--rule", "static:width=0")
    assert list(found) == ["file", "readings", "gaps", "span", *FIELDS]
    assert (found["file"], found["readings"], found["gaps"]) == ("temps.csv", 48, 1)
    assert (found["sources"], found["span"]) == (2, 23 * 3600)
    assert found["period"] == pytest.approx(3600, rel=0.05)  # as from reading to reading
    assert found["p_qr"] == 0
    assert "temps.csv: 2 sources, 48 readings" in call("replay", readings, *COLUMNS).stdout


@needs_beijing
def test_a_replay_of_temperatures():
    options = ["--key", "station", "--value", "TEMP", "--period", 3600, "--delta", 40]
    found = report("replay", BEIJING, *options)
    assert (found["sources"], found["readings"], found["gaps"]) == (12, 420370, 398)
    assert found["cost_rate"] < 1.03 * found["best_fixed"]["cost_rate"]


BAD = {
    "no period": (["simulate", "--delta", 1], "Missing option '--period'"),
    "period": ([*WALK, "--period", 0], "period must be a number above 0, got 0"),
    "delta": ([*WALK, "--delta", -1], "delta must be a number of at least 0, got -1"),
    "delta no number": ([*WALK, "--delta", "few"], "for '--delta'"),
    "delta nan": ([*WALK, "--delta", "nan"], "delta must be a number of at least 0, got nan"),
    "variation": ([*WALK, "--delta-variation", 2], "delta-variation must be from 0 to 1, got 2"),
    "rho": ([*WALK, "--rho", -4], "rho must be a number above 0, got -4"),
    "rule": ([*WALK, "--rule", "adapted"], "did you mean 'adaptive'"),
    "width": ([*WALK, "--rule", "static:width=-1"], "width must be a number of at least 0, or inf"),
    "query": ([*WALK, "--query", "summ"], "query must be one of sum, avg, max, got 'summ'"),
    "sources": ([*WALK, "--sources", 0], "sources must be a whole number of at least 1, got 0"),
    "steps": ([*WALK, "--steps", 5], "steps must be a whole number of at least 10, got 5"),
    "asked": ([*WALK, "--asked", 2], "asked must be at most the number of sources, 1, got 2"),
    "seed": ([*WALK, "--seed", -1], "seed must be a whole number of at least 0, got -1"),
    "no file": (["replay", "none.csv"], "there is no file none.csv"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_error_is_one_sentence(case):
    arguments, complaint = BAD[case]
    result = call(*arguments, "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("penstock: ")
    assert result.stderr.count("\n") == 1
    assert complaint in result.stderr


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        (["--key", "when"], "has no column 'when' for the key"),
        (["--value", "where"], "must hold numbers, got 'roof' at row 1"),
        (["--time", "where"], "must hold numbers, timestamps or dates, got 'roof'"),
    ],
)
def test_a_file_that_cannot_be_replayed(readings, columns, complaint):
    result = call("replay", readings, *COLUMNS, *columns)
    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in result.stderr


def test_readings_all_at_once(tmp_path):
    file = tmp_path / "now.csv"
    file.write_text("key,time,value\na,1,2\nb,1,3\n")
    result = call("replay", file)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "must span some time" in result.stderr
