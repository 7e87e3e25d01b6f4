"""Interval caches on Spark: readings thinned to refreshes, and bounded answers from intervals."""

from .bounded import bounded_agg, latest
from .metrics import ThinMetrics
from .thin import thin

__all__ = ["ThinMetrics", "bounded_agg", "latest", "thin"]
