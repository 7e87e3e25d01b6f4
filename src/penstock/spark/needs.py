"""Say in one sentence what must be installed, before anything else is imported."""

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


check_installed()
