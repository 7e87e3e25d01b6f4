"""Penstock on Apache Spark: DataFrame in, DataFrame out. Needs `pip install penstock[spark]`."""

from .join import join, join_many
from .metrics import Metrics, metrics

__all__ = ["Metrics", "join", "join_many", "metrics"]
