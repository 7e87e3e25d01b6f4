import json

import pytest
from typer.testing import CliRunner

from penstock.cli import app
from tests.profile.streams import local


def call(*arguments):
    return CliRunner().invoke(app, ["profile", *map(str, arguments)])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("streams") / "calls.csv"
    rows = [f"n{key},{3 * row}" for row, key in enumerate(local(5000).tolist())]
    path.write_text("who,at\n" + "\n".join(rows) + "\n")
    return path


def test_json_is_one_object(file):
    result = call(file, "--key", "who", "--time", "at", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    assert (report["name"], report["tuples"]) == ("calls.csv", 5000)
    assert report["bursts"]["rate"] == pytest.approx(1 / 3)


def test_people_get_a_table_and_a_page(file, tmp_path):
    target = tmp_path / "calls.html"
    result = call(file, "--key", "who", "--html", target)
    assert result.exit_code == 0
    assert "Zipf exponent" in result.stdout
    assert target.read_text().count('class="chart"') == 4


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("key\n", [], "must hold at least one row"),
        ("", [], "got an empty file"),
        ("key,x\n,1\n,2\n", [], "must hold values, got nothing but gaps; choose another one"),
        ("key,x\n,1\n7,2\n", [], "must have a value in every row, got null at row 1"),
        ("key\n7\n7\n", [], "keys must take at least two values to have a profile"),
        ("key\nfoo\nfoo\n", [], "got one and the same key in all 2 rows; choose another column"),
        ("key\n7\n8\n", ["--h", "2"], "h must be below the length of the stream, 2 rows, got 2"),
        ("key\n7\n8\n", ["--key", "kay"], "has no column 'kay' for the key; did you mean 'key'?"),
        ("key\n7\n8\n", ["--html", "/no/where.html"], "--html must be a file in a folder"),
    ],
)
def test_one_sentence_and_exit_code_2(tmp_path, text, options, said):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    result = call(path, *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
