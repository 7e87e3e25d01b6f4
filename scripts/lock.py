"""Write requirements.lock: the newest packages that pyproject.toml allows, names and versions only.

`lock.py` asks pip for them in a clean virtual environment. `lock.py --check` changes nothing and
tells whether the lock still serves every requirement of pyproject.toml.
"""

import argparse
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
HEADER = """\
# The whole development environment, names and versions only.
# Written by `make lock` from pyproject.toml; installed by `make setup`.
"""


def wanted() -> list[str]:
    """Return the requirements of the package and of all its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    return [*project["dependencies"], *(line for extra in extras for line in extra)]


def locked() -> dict[str, str]:
    """Return the locked version of every package, by its normalised name."""
    from packaging.utils import canonicalize_name

    lines = LOCK.read_text().splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


def resolve() -> list[str]:
    """Return `name==version` of everything that pip installs for the requirements."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", *wanted()], check=True)
        listing = subprocess.run(
            [*pip, "list", "--format=freeze", "--exclude=pip"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    return sorted(listing.split(), key=str.lower)


def check() -> list[str]:
    """Return one line for every requirement that the lock does not serve."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    versions = locked()
    problems = []
    for line in wanted():
        requirement = Requirement(line)
        version = versions.get(canonicalize_name(requirement.name))
        if version is None:
            problems.append(f"{line}: not in requirements.lock, run `make lock`")
        elif not requirement.specifier.contains(version, prereleases=True):
            problems.append(f"{line}: requirements.lock has {version}, run `make lock`")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare with pyproject.toml")
    if parser.parse_args().check:
        problems = check()
        print("\n".join(problems) or "Lock serves pyproject.toml")
        return bool(problems)
    packages = resolve()
    LOCK.write_text(HEADER + "\n".join(packages) + "\n")
    print(f"requirements.lock: {len(packages)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
