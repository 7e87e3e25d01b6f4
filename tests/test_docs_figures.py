"""The figures of the front pages are those that were recorded, and no more is claimed."""

import json
from pathlib import Path

import pytest

from scripts import pictures

ROOT = Path(__file__).resolve().parents[1]
MEMORY, ROCKS, OURS = pictures.NAMES
JOINS = json.loads(pictures.JOINS.read_text())


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_front_pages_say_what_was_recorded(page):
    text = (ROOT / page).read_text()
    assert pictures.table(JOINS) in text
    assert pictures.claim(JOINS) in text


def test_the_page_on_scaling_is_worked_out_from_what_was_recorded():
    text = (ROOT / "docs" / "scaling.md").read_text()
    for part in pictures.scaled(JOINS):
        assert part in text


def test_the_pictures_are_drawn_from_what_was_recorded():
    made = pictures.pictures(JOINS, json.loads(pictures.CURVE.read_text()))
    folder = ROOT / "docs" / "images"
    assert sorted(made) == sorted(path.name for path in folder.glob("front-*.svg"))
    for name, drawn in made.items():
        assert drawn == (folder / name).read_text()


def record(batch, who, seconds, **more):
    """Return what bench/spark_join.py keeps of one case, as far as it is taken."""
    part, window = more.pop("part", "sizes"), more.pop("window", 100)
    work = {"rows": batch, "kind": "numeric", "window": window, "delay": 10}
    found = {"image_bytes": 0, "state_bytes": 5_000_000, "checkpoint_bytes": 0} | more
    taking = {"seconds": [seconds] * 10, "seconds_a_batch": seconds}
    return {"part": part, "workload": work, "who": who} | taking | found


def taken(*results, kept=()):
    report = {"when": "2026-12-01", "results": list(results)}
    return pictures.taken({"machine": "this one", "rows": list(kept)}, report, "abc")


def test_all_three_sizes_and_contenders_are_taken():
    names = (MEMORY, "spark, RocksDB, format 2", ROCKS, OURS, "penstock, 10 %")
    sizes = (10_000, 100_000, 1_000_000)
    made = taken(
        *(
            record(size, who, 1.0, checkpoint_bytes=80, image_bytes=7)
            for size in sizes
            for who in names
        )
    )
    found = [(row["batch"], row["who"]) for row in made["rows"]]
    assert found == [(size, who) for size in reversed(sizes) for who in pictures.NAMES]
    for row in made["rows"]:
        assert row["window"] == 220_000
        assert (row["batches"], row["written"]) == (10, 8)
        assert row["memory"] == (7 if row["who"] == OURS else 5_000_000)
        assert (row["date"], row["commit"]) == ("2026-12-01", "abc")
    assert "2026-12-01" in pictures.table(made)
    assert pictures.pictures(made, json.loads(pictures.CURVE.read_text()))


def test_a_case_that_is_measured_again_takes_the_place_of_the_earlier_one():
    before = taken(record(10_000, OURS, 3.0), record(10_000, ROCKS, 2.0))["rows"]
    before = [row | {"earlier": True} for row in before]
    made = taken(record(10_000, OURS, 1.0), kept=before)
    assert [(row["seconds"], "earlier" in row) for row in made["rows"]] == [
        (2.0, True),
        (1.0, False),
    ]


def test_what_was_not_measured_is_an_empty_cell_and_the_best_is_bold():
    rocks = record(10_000, ROCKS, 2.0, state_bytes=4_000_000)
    made = taken(record(10_000, MEMORY, 3.0), rocks, record(10_000, OURS, 4.0))
    bold = "|  |  | Spark, RocksDB, state format 4 | **2.00** | **4.00 MB and disk** |  |"
    assert [line for line in pictures.table(made).splitlines() if "**" in line] == [bold]
    ours = next(line for line in pictures.table(made).splitlines() if "Penstock |" in line)
    assert ours.endswith("| 4.00 |  |  |")
    assert "An empty cell was not measured." in pictures.table(made)


def test_a_mean_without_a_full_copy_of_the_state_says_so_and_is_not_claimed():
    few, many = (
        taken(
            record(10_000, OURS, 1.0, state_bytes=60_000_000, checkpoint_bytes=each),
            record(10_000, ROCKS, 2.0, checkpoint_bytes=200_000_000),
        )
        for each in (2_000_000, 100_000_000)
    )
    assert "| 0.20 MB ‡ |" in pictures.table(few)
    assert "no full copy of Penstock's state may be due" in pictures.table(few)
    assert pictures.table(few).count("**") == 2  # the fastest alone
    assert "checkpoint" not in pictures.state(few)
    assert "| **10 MB** |" in pictures.table(many)
    assert "‡" not in pictures.table(many)
    assert "at most 50 % as much" in pictures.state(many)


def test_what_many_micro_batches_wrote_is_said_and_not_compared_with_few_of_spark():
    part, who = pictures.LONG
    long = record(10_000, who, 1.0, part=part, checkpoint_bytes=90_000_000, window=105)
    ours = record(10_000, OURS, 1.0, checkpoint_bytes=2_000_000)
    large = record(20_000, OURS, 1.0, checkpoint_bytes=30_000_000)
    theirs = (
        record(size, ROCKS, 2.0, checkpoint_bytes=100_000_000, image_bytes=1)
        for size in (10_000, 20_000)
    )
    made = taken(ours, long, large, *theirs)
    assert "| 0.20 MB ‡ |" in pictures.table(made)
    assert "Over 10 micro-batches, with both, Penstock wrote 9.00 MB" in pictures.table(made)
    said = "wrote at most 30 % as much to the checkpoint as the join of Spark that wrote least "
    assert said + "(with 20,000 rows a micro-batch)." in pictures.state(made)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        ((1.0, 1.0), "in every case of the table below."),
        ((1.0, 3.0), "in 1 of the 2 cases of the table below (not in all with 10,000 rows"),
        ((3.0, 3.0), "in no case of the table below."),
    ],
)
def test_no_more_is_claimed_than_was_measured(seconds, said):
    large, small = seconds
    rows = record(100_000, ROCKS, 2.0), record(10_000, ROCKS, 2.0)
    made = taken(*rows, record(100_000, OURS, large), record(10_000, OURS, small))
    assert said in pictures.claim(made)
    assert "checkpoint" not in pictures.state(made)


def test_bytes_are_claimed_by_the_worst_case():
    ours = record(10_000, OURS, 1.0, checkpoint_bytes=3_000_000, image_bytes=9_000_000)
    made = taken(record(10_000, ROCKS, 2.0, checkpoint_bytes=10_000_000), ours)
    assert "wrote at most 30 % as much to the checkpoint" in pictures.state(made)
    assert "more than RocksDB takes" in pictures.state(made)
    assert "less memory" not in pictures.state(made)
