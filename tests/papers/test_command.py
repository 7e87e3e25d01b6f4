import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from papers import program
from papers.program import app

ROOT = Path(__file__).resolve().parents[2]


def call(*arguments):
    return CliRunner().invoke(app, ["reproduce", *arguments])


def test_without_an_argument_experiments_are_listed():
    listed = json.loads(call("--json").stdout)["experiments"]
    figures = {each["name"]: each["figure"] for each in listed}
    assert figures["heeb-8"] == "figure 8"
    assert "heeb-8" in call().stdout


def test_an_experiment_leaves_its_files_and_verdicts(tmp_path):
    result = call("heeb-flowexpect", "--quick", "--out", str(tmp_path / "new"), "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    (made,) = json.loads(result.stdout)["experiments"]
    assert [each["verdict"] for each in made["verdicts"]] == ["holds"] * 3
    files = {path.name for path in (tmp_path / "new").iterdir()}
    assert {"heeb-flowexpect.csv", "heeb-flowexpect.png", "reproduction.md"} <= files
    html = (tmp_path / "new" / "reproduction.html").read_text()
    assert made["verdicts"][2]["claim"].replace("'", "&#x27;") in html


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
    assert result.stderr.startswith("papers: unknown experiment 'heeb8'; did you mean 'heeb-8'?")
    assert result.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    result = call("heeb-6", "--out", str(tmp_path / "file"))
    assert result.exit_code == 2
    assert "--out must be a folder that can be made" in result.stderr
    assert result.stderr.count("\n") == 1


def test_pages_of_docs_are_written_from_a_folder_of_results(tmp_path, monkeypatch):
    docs, results = tmp_path / "docs", tmp_path / "results"
    (docs / "images").mkdir(parents=True)
    monkeypatch.setattr(program, "DOCS", docs)
    assert call("heeb-flowexpect", "--quick", "--out", str(results)).exit_code == 0
    options = ["page", "reproduction", str(results), "--note", "Run on a Sunday."]
    assert CliRunner().invoke(app, options).exit_code == 0
    assert "Run on a Sunday." in (docs / "reproduction.md").read_text()
    assert (docs / "reproduction" / "heeb-flowexpect.png").exists()
    assert CliRunner().invoke(app, ["page", "quality", str(results), "--quick"]).exit_code == 0
    assert "**Not all was run.**" in (docs / "which-policy.md").read_text()
    assert (docs / "images" / "which-policy.png").exists()


def test_results_of_a_commit_that_is_not_here_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(program, "DOCS", tmp_path / "docs")
    assert call("heeb-flowexpect", "--quick", "--out", str(tmp_path)).exit_code == 0
    path = tmp_path / "heeb-flowexpect.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"commit": "3fd2480"}))
    refused = CliRunner().invoke(app, ["page", "reproduction", str(tmp_path)])
    assert refused.exit_code == 2
    assert "got 3fd2480 of heeb-flowexpect; run" in refused.stderr
    assert not (tmp_path / "docs").exists()


@pytest.mark.slow
def test_it_runs_as_a_module_with_workers_and_continues_where_it_stopped(tmp_path):
    command = [sys.executable, "-m", "papers", "reproduce", "heeb-16", "--quick", "--json"]
    for _ in range(2):
        made = subprocess.run(
            [*command, "--out", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
        )
        cells = (tmp_path / "cells" / "cells.jsonl").read_text().splitlines()
        (found,) = json.loads(made.stdout)["experiments"]
        assert found["verdicts"]
    assert len({json.loads(cell)["cell"] for cell in cells}) == len(cells)  # none was done twice


def test_nothing_in_the_wheel_refers_to_the_data_of_the_papers():
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text()
        assert "../shared" not in text, path
        assert "PENSTOCK_DATA" not in text, path
