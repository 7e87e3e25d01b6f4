import json

from typer.testing import CliRunner

from penstock.cli import app


def call(*arguments):
    return CliRunner().invoke(app, ["reproduce", *arguments])


def test_without_an_argument_experiments_are_listed():
    listed = json.loads(call("--json").stdout)["experiments"]
    assert {"name": "heeb-8", "figure": "figure 8"}.items() <= listed[2].items()
    assert "heeb-8" in call().stdout


def test_an_experiment_leaves_its_files_and_verdicts(tmp_path):
    result = call("heeb-flowexpect", "--quick", "--out", str(tmp_path / "new"), "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    (made,) = json.loads(result.stdout)["experiments"]
    assert [each["verdict"] for each in made["verdicts"]] == ["holds"] * 3
    files = {path.name for path in (tmp_path / "new").iterdir()}
    assert {"heeb-flowexpect.csv", "heeb-flowexpect.png", "reproduction.md"} <= files


def test_without_data_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_DATA", str(tmp_path))
    result = call("heeb-15", "--out", str(tmp_path))
    assert result.exit_code == 0
    assert "skipped: it needs temps/melbourne_daily_max_temperatures.csv" in " ".join(
        result.stdout.split()
    )


def test_an_unknown_experiment_is_one_sentence(tmp_path):
    result = call("heeb8", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr.startswith("penstock: unknown experiment 'heeb8'; did you mean 'heeb-8'?")
    assert result.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    result = call("heeb-6", "--out", str(tmp_path / "file"))
    assert result.exit_code == 2
    assert "--out must be a folder that can be made" in result.stderr
    assert result.stderr.count("\n") == 1
