import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.cli import app


def call(*arguments):
    return CliRunner().invoke(app, ["count", *map(str, arguments)])


def report(*arguments):
    result = call(*arguments, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def complaint(*arguments):
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture
def pages(tmp_path):
    """Texts with a skewed popularity, times that go back, and a column of nothing."""
    ranks = np.random.default_rng(1).zipf(1.4, 20_000)
    names = [f"page {min(rank, 5000)}" for rank in ranks.tolist()]
    columns = {"key": names, "time": list(range(20_000))[::-1], "void": [None] * 20_000}
    columns["number"] = ranks.tolist()
    pq.write_table(pa.table(columns), tmp_path / "pages.parquet")
    return tmp_path / "pages.parquet", Counter(names)


def test_the_report(pages):
    file, true = pages
    made = report(file, "--support", 0.02, "--epsilon", 0.002)
    keys = made.pop("keys")
    assert made.pop("items_per_second") > 0
    held = made.pop("held")
    assert held["end"] <= held["peak"] < 2 * held["expected"]
    assert made == {
        "file": "pages.parquet",
        "key": "key",
        "support": 0.02,
        "epsilon": 0.002,
        "memory": None,
        "rows": 20_000,
        "rows_without_key": 0,
    }
    assert {key for key, n in true.items() if n >= 400} <= {each["key"] for each in keys}
    for each in keys:
        assert each["count"] == each["lowest"] <= true[each["key"]] <= each["highest"]
        assert each["highest"] >= 400
        assert each["share"] == each["lowest"] / 20_000
    assert [each["count"] for each in keys] == sorted(
        (each["count"] for each in keys), reverse=True
    )
    assert report(file, "--support", 0.02)["epsilon"] == 0.002


def test_memory_chooses_epsilon_and_is_never_exceeded(pages):
    file, _ = pages
    used = [report(file, "--support", 0.05, "--memory", m) for m in (30, 100, 300, 100_000)]
    for made in used:
        assert made["held"]["peak"] <= made["memory"]
        assert made["held"]["peak"] > made["memory"] / 2 or made["memory"] == 100_000
    epsilons = [made["epsilon"] for made in used]
    assert epsilons == sorted(epsilons, reverse=True)
    assert all(each["lowest"] == each["highest"] for each in used[-1]["keys"])


def test_integers_and_several_columns_keep_their_values(pages):
    file, _ = pages
    assert report(file, "--key", "number", "--support", 0.2)["keys"][0]["key"] == 1
    both = report(file, "--key", "key,number", "--support", 0.2)["keys"][0]
    assert both["key"] == ["page 1", 1]


def test_rows_without_a_key_are_left_out(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("key,x\na,1\n,2\na,3\nb,4\n")
    made = report(file, "--support", 0.5)
    assert (made["rows"], made["rows_without_key"]) == (3, 1)
    assert made["keys"] == [
        {"key": "a", "count": 2, "lowest": 2, "highest": 2, "share": 2 / 3},
    ]
    shown = call(file, "--support", 0.5)
    assert shown.exit_code == 0
    for words in ("at least", "66.67%", "1 rows without a key left out", "epsilon 0.05"):
        assert words in " ".join(shown.stdout.split())


def test_bad_input_is_one_sentence(pages, tmp_path):
    file, _ = pages
    for arguments, words in (
        (("--support", 0.1, "--epsilon", 0.1), "support must be above epsilon, got support 0.1"),
        (("--support", 0.1, "--epsilon", 0), "epsilon must be above 0 and below 1, got 0.0"),
        (("--support", 0.1, "--epsilon", 1), "epsilon must be above 0 and below 1, got 1.0"),
        (("--support", 0.1, "--epsilon", "nan"), "epsilon must be above 0 and below 1, got nan"),
        (("--support", 0), "support must be above 0 and at most 1, got 0.0"),
        (("--support", 0.01, "--memory", 5), "memory 5 is too small for any epsilon"),
        (("--support", 0.5, "--memory", 1), "memory 1 is too small for any epsilon"),
        (("--support", 0.01, "--memory", 0), "memory must be a whole number of at least 1, got 0"),
        (("--support", 0.1, "--epsilon", 0.01, "--memory", 9), "cannot both be given"),
        (("--support", 0.1, "--key", "void"), "must hold values, got nothing but nulls"),
        (("--support", 0.1, "--key", "kee"), "has no column 'kee' for the key; did you mean"),
        ((), "Missing option '--support'"),
    ):
        assert words in complaint(file, *arguments)
    empty = tmp_path / "empty.csv"
    empty.write_text("key,x\n,1\n,2\n")
    assert "nothing but nulls" in complaint(empty, "--support", 0.1)
    assert "there is no file" in complaint(tmp_path / "none.csv", "--support", 0.1)


def test_a_key_of_megabytes_is_cut_in_the_table_and_whole_in_the_json(tmp_path):
    """Folding it into a column would take minutes."""
    key, file = "x" * 20_000_000, tmp_path / "large.parquet"
    pq.write_table(pa.table({"key": [key, key, "a"]}), file)
    shown = call(file, "--support", 0.5)
    assert shown.exit_code == 0
    assert "(20,000,000 characters)" in " ".join(shown.stdout.split())
    assert len(shown.stdout) < 5000
    assert report(file, "--support", 0.5)["keys"][0]["key"] == key


def test_a_complaint_that_quotes_megabytes_is_cut(tmp_path):
    file = tmp_path / "large.csv"
    file.write_text("key\n7\n")
    said = complaint(file, "--support", 0.5, "--key", "y" * 1_000_000)
    assert len(said) < 3000
    assert said.startswith(f"penstock: {file} has no column 'yyy")
    assert said.endswith("Its columns: key\n")


def test_a_window_of_rows(pages):
    file, _ = pages
    names = pq.read_table(file)["key"].to_pylist()
    made = report(file, "--support", 0.05, "--window", 3000)
    true = Counter(names[-3000:])
    assert made["rows"] == 20_000
    assert made["rows_in_window"] == {"lowest": 3000, "highest": 3000}
    assert {key for key, n in true.items() if n >= 150} <= {each["key"] for each in made["keys"]}
    for each in made["keys"]:
        assert each["lowest"] <= true[each["key"]] <= each["highest"] <= each["lowest"] + 15
        assert each["share"] == each["lowest"] / 3000
    assert "in the last 3000 rows: 3,000 rows" in " ".join(
        call(file, "--support", 0.05, "--window", 3000).stdout.split()
    )


def test_a_window_of_time(pages, tmp_path):
    file, _ = pages  # its times go back: the last rows in time are the first of the file
    names = pq.read_table(file)["key"].to_pylist()
    made = report(file, "--support", 0.05, "--window", 3000, "--time", "time")
    true = Counter(names[:3000])
    fewest, most = made["rows_in_window"].values()
    assert fewest <= 3000 <= most <= fewest + 100
    assert {key for key, n in true.items() if n >= 150} <= {each["key"] for each in made["keys"]}
    for each in made["keys"]:
        assert each["lowest"] <= true[each["key"]] <= each["highest"]
    stamps = tmp_path / "stamps.csv"
    stamps.write_text(
        "key,at\na,2026-01-01 00:00:00\nb,2026-01-01 00:30:00\na,2026-01-01 01:10:00\n"
    )
    keys = report(stamps, "--support", 0.4, "--window", "1 hour", "--time", "at")["keys"]
    assert sorted((each["key"], each["count"]) for each in keys) == [("a", 1), ("b", 1)]


def test_bad_windows_are_one_sentence(pages):
    file, _ = pages
    for arguments, words in (
        (("--window", 9, "--memory", 9), "window and memory cannot both be given"),
        (("--time", "time"), "time must be given with window, got time alone"),
        (("--window", "1 hour"), "window must be a whole number, got '1 hour'; give --time"),
        (("--window", "²"), "window must be a whole number, got '²'; give --time"),
        (("--window", "1 hour", "--time", "time"), "the times are whole numbers"),
        (("--window", 0), "rows must be a whole number of at least 1, got 0"),
        (("--window", 9, "--time", "tim"), "has no column 'tim' for the time; did you mean"),
    ):
        assert words in complaint(file, "--support", 0.1, *arguments)
