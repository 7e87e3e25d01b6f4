"""Commands of the pages: those of README and quick start run as they are, all others are parsed."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from penstock.cli import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *ROOT.glob("examples/**/*.md")]
INLINE = re.compile(r"`\S*/bin/penstock ([^`\n]*)`")
PROGRAM = re.compile(r"^(?:\S*/bin/)?penstock (?!-)(.*)$", re.MULTILINE)
# The real one for all but `test`, which would run this test: of that the plan alone.
MAKE = """#!/bin/sh
case "$*" in test) set -- --dry-run test ;; esac
exec {make} "$@"
"""


def fenced(page: Path, *languages: str) -> list[str]:
    """Return the blocks of a page that are in one of the languages."""
    found: list[str] = []
    language = None  # of the block that we are in
    for line in page.read_text().splitlines(keepends=True):
        if line.startswith("```"):
            language = line[3:].strip() if language is None else None
            found += [""] if language in languages else []
        elif language in languages:
            found[-1] += line
    return found


def commands() -> list[str]:
    """Return what follows `penstock` in the blocks of all pages, and in text with its folder."""
    found = []
    for page in PAGES:
        for block in fenced(page, "", "sh"):
            found += PROGRAM.findall(block)
        found += INLINE.findall(page.read_text())
    return sorted({command.partition("  #")[0].strip() for command in found})


@pytest.mark.parametrize("command", commands())
def test_every_command_of_a_page_has_the_arguments_that_it_names(command, tmp_path, monkeypatch):
    words = shlex.split(command)
    monkeypatch.chdir(tmp_path)
    for name in words[1:]:  # an option may want its file to be there
        if name.endswith((".csv", ".toml")):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).touch()
    found = typer.main.get_command(app)
    while hasattr(found, "commands"):
        found = found.commands[words.pop(0)]
    assert found.make_context(found.name, words)


@pytest.fixture
def source(tmp_path):
    """Return a copy of what is under version control, as it is now, with a home beside it."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).exists():
            (tmp_path / "penstock" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / "penstock" / name)
    (tmp_path / "home").mkdir()
    return tmp_path / "penstock"


def run(block: str, folder: Path, path: str, **more: str) -> str:
    """Run a block as a user would who has pasted it, and return what it says."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"HOME": str(folder.parent / "home"), "PATH": path, **more}
    command = ["bash", "-euo", "pipefail", "-c", block]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{block}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.spark
def test_the_blocks_of_the_readme_run_as_they_are(source, tmp_path):
    """In an environment that is set up: `make test` has done that, and takes the longest."""
    environment, programs = source / ".venv", tmp_path / "programs"
    environment.mkdir()
    for each in Path(sys.prefix).iterdir():
        (environment / each.name).symlink_to(each)
    key = "{ pwd; cat requirements.lock pyproject.toml scripts/setup.sh; } | cksum"
    run(f"rm -f .venv/.penstock-stamp; ({key}) >.venv/.penstock-stamp", source, os.environ["PATH"])
    programs.mkdir()
    (programs / "make").write_text(MAKE.format(make=shutil.which("make")))
    (programs / "make").chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    said = [
        run(block, source, path, PYTHONPATH=str(source / "src"))
        for block in fenced(ROOT / "README.md", "sh")
    ]
    assert "estimated" in said[0] or "recall" in said[0]
    assert "scripts/setup.sh" in said[0]  # of the plan
    assert list((source / "shop" / "matches").glob("*.parquet"))
    assert "budget=" in said[2]
    assert (source / "advice.html").exists()


@pytest.mark.slow
@pytest.mark.spark
def test_the_blocks_of_the_quick_start_run_as_they_are(source, tmp_path):
    """In an empty home: the packages come from the index."""
    path = f"{Path(sys.base_prefix) / 'bin'}:{os.environ['PATH']}"
    said = [run(block, source, path) for block in fenced(ROOT / "docs" / "quickstart.md", "sh")]
    assert "penstock" in said[0]
    found = list((tmp_path / "home" / "shop" / "matches").glob("*.parquet"))
    assert found
    assert sum(path.stat().st_size for path in found) > 0
