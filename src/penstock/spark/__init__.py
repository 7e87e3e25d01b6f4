"""Penstock on Apache Spark: DataFrame in, DataFrame out. Needs `pip install penstock[spark]`."""

from ..relations import Relation
from . import needs
from .advise import advise
from .count import count
from .join import join, join_group, join_many
from .lookup import lookup
from .metrics import LookupMetrics, Metrics, ThinMetrics, metrics
from .monitor import Monitor, monitor
from .profile import ProfileStream, profile, saved_profile

__all__ = [
    "LookupMetrics",
    "Metrics",
    "Monitor",
    "ProfileStream",
    "Relation",
    "ThinMetrics",
    "advise",
    "count",
    "join",
    "join_group",
    "join_many",
    "lookup",
    "metrics",
    "monitor",
    "needs",
    "profile",
    "saved_profile",
]
