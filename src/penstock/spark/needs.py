"""Say in one sentence what must be installed, before anything else is imported."""

import os
import shutil
from importlib.util import find_spec

from ..errors import PenstockError

NEEDED = ("pyspark", "pandas", "pyarrow")


class SparkMissing(PenstockError, ImportError):
    """Something that Spark needs is not installed."""


def check_installed() -> None:
    """Refuse to go on without the packages that Spark needs."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise SparkMissing(
            f"penstock.spark needs {' and '.join(missing)}, which cannot be imported; "
            "pip install penstock[spark]"
        )


def check_java() -> None:
    """Refuse to start a session of our own without Java."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which(f"{home}/bin/java" if home else "java") is None:
        where = f"JAVA_HOME ({home}) holds none" if home else "there is none on the path"
        raise SparkMissing(
            f"Spark needs Java 17 or newer, and {where}; install it, or set JAVA_HOME to its folder"
        )


check_installed()
