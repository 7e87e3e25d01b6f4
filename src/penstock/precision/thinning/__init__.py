"""Many sources at once, driven by readings and queries in bulk: the engine behind Spark's `thin`."""

from .thinner import KINDS, Refreshes, Thinner

__all__ = ["KINDS", "Refreshes", "Thinner"]
