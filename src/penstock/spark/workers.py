"""The Python that Spark's workers run: does it have what they need?

Without pyarrow there a query dies under pages of Java. The question is asked once per application,
by a plain function of a row, which needs nothing installed; and not at all where the workers are
known to run this very Python.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable
from typing import Any

from pyspark.sql import functions as F

from .checks import warn_user
from .needs import SparkMissing

NEEDED = ("numba", "numpy", "pandas", "pyarrow", "penstock")
_checked: set[str] = set()  # applications whose workers have what they need


def check_workers(session: Any) -> None:
    """Refuse workers whose Python lacks what we need, and say which Python to choose."""
    application = str(session.conf.get("spark.app.id", "")) or str(id(session))
    if application in _checked:
        return
    if not _run_this_python(session):
        _judge(*_ask(session))
    _checked.add(application)


def _run_this_python(session: Any) -> bool:
    """Tell whether workers are known to run what runs here: in a local session made by it."""
    try:
        named = session.sparkContext.pythonExec
        is_local = str(session.conf.get("spark.master", "")).startswith("local")
    except Exception:  # Spark Connect has no context
        return False
    # The Python of a virtual environment links to the one that it was made from: compare by name.
    return bool(is_local and sys.executable and shutil.which(named) == sys.executable)


def _ask(session: Any) -> tuple[str, list[str]]:
    """Return which Python a worker runs and what it lacks, from what it says or how it fails."""
    question = F.udf(_question(NEEDED), "string", useArrow=False)
    try:
        row = session.range(0, 1, 1, 1).select(question("id")).first()
    except Exception as error:
        return "", _reasons(str(error))
    python, *missing = row[0].split("\n")
    return python, missing


def _question(names: tuple[str, ...]) -> Callable[[int], str]:
    """Return a function that travels by value: the workers may not have this package."""

    def missing(_: int) -> str:
        import sys
        from importlib.util import find_spec

        return "\n".join([sys.executable, *(name for name in names if find_spec(name) is None)])

    return missing


def _reasons(error: str) -> list[str]:
    """Return what a failure says about the Python of the workers; it may have other causes."""
    lacks = re.search(r"No module named '(\w+)", error)
    if lacks:
        return [lacks.group(1)]
    if "PYTHON_VERSION_MISMATCH" in error:
        return ["version"]
    return ["program"] if "Cannot run program" in error else []


def _judge(python: str, missing: list[str]) -> None:
    which = f"the Python that Spark's workers run{f', {python},' if python else ''}"
    way_out = (
        f"set the environment variable PYSPARK_PYTHON to the Python that they should run (here "
        f"{sys.executable}) before the session starts"
    )
    if missing == ["version"]:
        here = ".".join(map(str, sys.version_info[:2]))
        raise SparkMissing(f"{which} is of another version than {here}, which runs here; {way_out}")
    if missing == ["program"]:
        named = os.environ.get("PYSPARK_PYTHON", "python3")
        raise SparkMissing(f"{which} cannot be started ({named}); {way_out}")
    if missing == ["penstock"]:  # it may still come, with the job
        warn_user(
            f"{which} cannot import penstock yet; install it there, or ship it before the query "
            "starts: spark.addArtifacts(penstock.spark.session.package_zip(folder), pyfile=True)"
        )
    elif missing:
        raise SparkMissing(
            f"{which} cannot import {', '.join(missing)}; {way_out}, or install penstock[spark] "
            "there"
        )
