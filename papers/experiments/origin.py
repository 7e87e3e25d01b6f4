"""Which commit the sources of a run are of, and what is said of it on the page."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("src", "papers")  # of which results are made
UNKNOWN = "unknown"
SHORT = 10  # characters of a commit's name that are shown


class Origin(NamedTuple):
    """A commit, and whether the sources are as it has them."""

    commit: str
    clean: bool


def origin(root: Path = ROOT) -> Origin:
    """Return the commit that is checked out; outside a repository it is unknown.

    >>> origin(Path("/"))
    Origin(commit='unknown', clean=False)
    """
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None:
        return Origin(UNKNOWN, False)
    return Origin(commit, _git(root, "status", "--porcelain", "--", *SOURCES) == "")


def is_here(commit: str, root: Path = ROOT) -> bool:
    """Tell whether the repository has a commit, among those that led to what is checked out."""
    return _git(root, "merge-base", "--is-ancestor", commit, "HEAD") is not None


def told(records: Iterable[dict[str, Any]]) -> str:
    """Return a sentence on the commits at which experiments were run.

    >>> told([{"name": "heeb-8", "commit": "3fa91b2c77d0", "clean": True}])
    'All experiments were run at the commit 3fa91b2c77.'
    """
    groups: dict[Origin, list[str]] = {}
    for record in records:
        at = Origin(record.get("commit", UNKNOWN), record.get("clean", False))
        groups.setdefault(at, []).append(record["name"])
    if len(groups) == 1:
        return f"All experiments were run at {_named(next(iter(groups)))}."
    parts = (f"at {_named(at)}: {', '.join(names)}" for at, names in groups.items())
    return f"The experiments were run at different commits: {'; '.join(parts)}."


def _named(at: Origin) -> str:
    if at.commit == UNKNOWN:
        return "an unknown commit"
    changed = "" if at.clean else " with changes that were not committed"
    return f"the commit {at.commit[:SHORT]}{changed}"


def _git(root: Path, *arguments: str) -> str | None:
    """Return what git prints, or None where it fails or is missing."""
    try:
        done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
