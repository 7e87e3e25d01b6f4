"""Stream joins and stream caches inside a hard memory budget."""

from .engines import Join, Lookup
from .errors import BadInput, BadState, PenstockError

__all__ = ["BadInput", "BadState", "Join", "Lookup", "PenstockError"]
__version__ = "0.1.0"
