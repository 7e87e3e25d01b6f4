"""Many sources at once, driven by readings and queries in bulk: the engine of Spark's `thin`."""

from .thinner import KINDS, Refreshes, Thinner

__all__ = ["KINDS", "Refreshes", "Thinner"]
