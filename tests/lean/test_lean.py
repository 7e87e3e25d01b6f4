"""What a plain installation needs, and what the workers of Spark load."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COMMAND = "from tests.lean.engines import hide; hide(); from penstock.cli import main; main()"
LOADED = """
import sys
from penstock.spark.daemon import NEEDED, preload
preload()
assert set(NEEDED) <= set(sys.modules)
print(*(name for name in sys.modules if "penstock" in name))
"""


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **options)


def test_every_online_policy_runs_without_the_optional_packages():
    plainly = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = run(sys.executable, str(HERE / "engines.py"), "block", env=plainly)
    assert done.returncode == 0, done.stderr
    assert {"lru", "rate", "auto", "heeb:model=seasonal"} <= set(done.stdout.splitlines())


def test_policies_are_compiled_without_the_optional_packages():
    few = ["lru", "heeb:model=seasonal"]
    done = run(sys.executable, str(HERE / "engines.py"), "block", *few)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == few


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("simulate --workload tower --length 50 --memory 5 --policy opt", "needs ortools"),
        ("demo precision --out {page}.png", "needs matplotlib"),
    ],
)
def test_a_command_says_which_extra_it_needs(command, said, tmp_path):
    trace, page = tmp_path / "trace.csv", tmp_path / "page.html"
    trace.write_text("key\n" + "\n".join(str(n % 7) for n in range(100)) + "\n")
    words = command.format(trace=trace, page=page).split()
    done = run(sys.executable, "-c", COMMAND, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "pip install 'penstock[" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not page.exists()


@pytest.fixture(scope="module")
def loaded():
    """Return the modules of the package that workers of Spark begin with."""
    return run(sys.executable, "-c", LOADED, check=True).stdout.split()


@pytest.mark.parametrize(
    "room",
    [
        "advisor",
        "cli",
        "precision",
        "report",
        "simulate",
        "spark.archive.reconcile",
        "spark.demo",
        "spark.listener",
        "spark.pipeline",
        "spark.precision",
        "spark.sample",
        "spark.thin",
    ],
)
def test_a_worker_of_spark_does_not_load(room, loaded):
    assert "penstock.spark" in loaded
    assert [name for name in loaded if name.startswith(f"penstock.{room}")] == []


def test_of_profiles_a_worker_of_spark_loads_the_counter_of_frequent_keys_alone(loaded):
    mine = {name for name in loaded if name.startswith("penstock.profile")}
    assert mine == {"penstock.profile", "penstock.profile.lossy"}


@pytest.mark.slow
@pytest.mark.spark
def test_the_wheel_and_the_extra_spark_are_all_that_an_executor_needs(tmp_path):
    """Build the wheel, install it with `[spark]` into a new environment, and run there."""
    python, sources = str(tmp_path / "venv" / "bin" / "python"), tmp_path / "sources"
    venv.create(tmp_path / "venv", with_pip=True)
    shutil.copytree(ROOT / "src", sources / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = clean | {"PYSPARK_PYTHON": python}
    pip = "-m", "pip", "--disable-pip-version-check", "--quiet"
    build = "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)
    run(sys.executable, *pip, *build, str(sources), env=environment, check=True)
    (wheel,) = tmp_path.glob("penstock-*.whl")
    wanted = "--constraint", str(ROOT / "requirements.lock"), f"{wheel}[spark]"
    run(python, *pip, "install", *wanted, env=environment, check=True)
    for script in ("engines.py", "on_spark.py"):
        done = run(python, str(HERE / script), env=environment)
        assert done.returncode == 0, done.stderr[-5000:]
