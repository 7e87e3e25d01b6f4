"""A demonstration: real temperatures, and the intervals that a cache holds of them."""

from .picture import NAME, draw
from .run import Demo, run_demo
from .screen import play, still
from .words import comparison, moral, summarise

__all__ = ["NAME", "Demo", "comparison", "draw", "moral", "play", "run_demo", "still", "summarise"]
