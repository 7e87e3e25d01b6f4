"""What a release must have right: one version everywhere, and the files around the code."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

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


def test_type_checkers_see_that_the_package_is_typed():
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert (ROOT / "src" / "penstock" / "py.typed").exists()
    assert "py.typed" in tool["setuptools"]["package-data"]["penstock"]


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Build the sdist, and the wheel from what the sdist holds; return their paths."""
    folder = tmp_path_factory.mktemp("dist")
    build = "import sys, setuptools.build_meta as b; print(b.build_sdist(sys.argv[1]))"
    sources = folder / "sources"
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    sources.mkdir()
    subprocess.run(["tar", "-x"], cwd=sources, input=archive.stdout, check=True)
    run(sys.executable, "-c", build, str(folder), cwd=sources)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as opened:
        opened.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    pip = sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"
    options = "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)
    run(*pip, "wheel", *options, str(unpacked))
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


def run(*command, **options):
    """Run a command without the settings of this Python, and return what it says."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    options.setdefault("env", clean)
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_wheel_and_sdist_hold_the_package_and_nothing_else(dist):
    sdist, wheel = dist
    assert sdist.name == f"penstock-{__version__}.tar.gz"
    assert wheel.name == f"penstock-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    assert {name.split("/")[0] for name in names} == {
        "penstock",
        f"penstock-{__version__}.dist-info",
    }
    packaged = {name for name in names if name.startswith("penstock/")}
    tracked = run("git", "ls-files", "src", cwd=ROOT).split()
    assert packaged == {name.removeprefix("src/") for name in tracked}
    with tarfile.open(sdist) as opened:
        assert not [name for name in opened.getnames() if "/tests" in name or "/papers" in name]


def test_wheel_runs_in_an_empty_environment(dist, tmp_path):
    """Install it into a new environment; its requirements, which take a minute, come from here."""
    python = tmp_path / "venv" / "bin" / "python"
    venv.create(tmp_path / "venv", with_pip=False)
    pip = sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"
    run(*pip, "--python", str(python), "install", "--no-deps", "--no-index", str(dist[1]))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env = clean | {"PYTHONPATH": sysconfig.get_path("purelib")}
    at = run(str(python), "-c", "import penstock; print(penstock.__file__)", env=env)
    assert Path(at.strip()).is_relative_to(tmp_path)
    said = run(str(python.with_name("penstock")), "--version", env=env)
    assert __version__ in said
    code = "from penstock import Lookup; print(Lookup('lru', 2).push([1, 2, 1]).hit.sum())"
    assert run(str(python), "-c", code, env=env).strip() == "1"
