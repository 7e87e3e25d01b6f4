"""Pipelines from a TOML file: sources, one join, lookup or thin, a sink.

`toml_file` keeps the line of every key, `connectors` are the sources and sinks, `pipeline` checks a
file and makes a query of it, `advising` samples its sources, `driving` follows the query and ends
it after a micro-batch.
"""

from .advising import advised
from .connectors import CONSOLE
from .driving import COLUMNS, cells_of, drive
from .pipeline import Pipeline
from .toml_file import flat

__all__ = ["COLUMNS", "CONSOLE", "Pipeline", "advised", "cells_of", "drive", "flat"]
