"""The demonstration: two real streams joined live on Spark, in a tenth of the memory they need."""

from .picture import draw, where_to_draw
from .run import Demo, run_demo
from .show import comparison, moral, watching
from .summary import summarise

__all__ = [
    "Demo",
    "comparison",
    "draw",
    "moral",
    "run_demo",
    "summarise",
    "watching",
    "where_to_draw",
]
