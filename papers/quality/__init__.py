"""How good the policies are, on many streams and in many memories, beside the best there can be."""

from .bench import run
from .cell import quality_cell
from .plan import cells, contenders
from .streams import Stream, everything
from .summary import Quality

__all__ = ["Quality", "Stream", "cells", "contenders", "everything", "quality_cell", "run"]
