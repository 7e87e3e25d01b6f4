"""Packages with policies, installed into a folder of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "penstock_newest"
OFFLINE = ("--no-deps", "--no-index", "--no-build-isolation", "--quiet")


def install(folder: Path) -> Path:
    """Build and install the example; return the folder to put on the path."""
    sources, target = folder / "sources", folder / "installed"
    shutil.copytree(EXAMPLE, sources)  # building leaves files behind
    pip = (sys.executable, "-m", "pip", "install", *OFFLINE, "--target", target, sources)
    done = subprocess.run(pip, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


def offer(folder: Path, package: str, name: str, value: str, module: str = "") -> Path:
    """Write what an installer would of a package with one entry point."""
    described = folder / f"{package}-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[penstock.policies]\n{name} = {value}\n")
    (folder / f"{value.partition(':')[0]}.py").write_text(module)
    return folder


def run(code: str, *paths: Path, **more: str) -> subprocess.CompletedProcess:
    """Run Python code with these folders on its path."""
    found = os.pathsep.join(map(str, [ROOT / "src", ROOT, *paths]))
    env = os.environ | {"PYTHONPATH": found} | more
    command = (sys.executable, "-c", code)
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT)
