"""What a release must have right: one version everywhere, and the files around the code."""

import re
import tomllib
from pathlib import Path

from penstock import __version__

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_the_same_everywhere():
    assert PROJECT["version"] == __version__
    headings = re.findall(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == __version__


def test_the_workflow_runs_on_every_python_that_is_supported():
    said = re.findall(r":: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    (matrix,) = re.findall(r"python: \[(.*)\]", workflow)
    assert [version.strip('" ') for version in matrix.split(",")] == said
    assert "make test" in workflow


def test_type_checkers_are_told_that_the_package_is_typed():
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert (ROOT / "src" / "penstock" / "py.typed").exists()
    assert "py.typed" in tool["setuptools"]["package-data"]["penstock"]
