"""Blocks of Python that need no Spark run as they are: of the policies, and of CONTRIBUTING."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "pyproject.toml")


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def register(path: Path, imported: str, start: str, line: str) -> None:
    """Add an import and a line at the start of a collection."""
    text = path.read_text()
    assert text.count(f"\n{start}\n") == 1
    path.write_text(text.replace(f"\n{start}\n", f"\n{imported}\n\n{start}\n    {line}\n"))


def test_the_blocks_on_policies():
    names: dict = {}
    for block in blocks("docs/policies.md"):
        exec(compile(block, "docs/policies.md", "exec"), names)
    assert names["facts"]["in_force"]


def test_the_policy_of_contributing_passes_its_tests_and_the_contract(tmp_path):
    """Put the four pieces where the page says, into a copy, and run the tests as plain Python."""
    policy, twin, test = blocks("CONTRIBUTING.md")
    for name in COPIED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, tmp_path)
    policies, twins = tmp_path / "src/penstock/policies", tmp_path / "tests/naive/policies"
    (policies / "mru.py").write_text(policy)
    (twins / "mru.py").write_text(twin)
    (tmp_path / "tests/policies/test_mru.py").write_text(test)
    register(
        policies / "__init__.py", "from .mru import MRU", "BUILT_IN: tuple[Policy, ...] = (", "MRU,"
    )
    register(twins / "__init__.py", "from .mru import Mru", "ALL = {", '"mru": Mru,')
    command = [sys.executable, "-m", "pytest", "-q", "-k", "mru", "-p", "no:cacheprovider"]
    command += ["tests/policies/test_mru.py", "tests/policies/test_contract.py"]
    plainly = os.environ | {"NUMBA_DISABLE_JIT": "1", "PENSTOCK_HYPOTHESIS": "nojit"}
    plainly |= {"PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(command, cwd=tmp_path, env=plainly, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    (passed,) = re.findall(r"(\d+) passed", done.stdout)
    assert int(passed) > 5
