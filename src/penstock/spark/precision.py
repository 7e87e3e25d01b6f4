"""Interval caches on Spark: readings thinned to refreshes, and bounded answers from intervals."""

from .thinning.aggregate import bounded_agg
from .thinning.figures import ThinMetrics
from .thinning.latest import latest
from .thinning.thin import thin

__all__ = ["ThinMetrics", "bounded_agg", "latest", "thin"]
