"""Penstock on Apache Spark: DataFrame in, DataFrame out. Needs `pip install penstock[spark]`."""

from ..relations import Relation
from . import needs
from .advise import advise
from .archive import write
from .count import count
from .join import join, join_group, join_many
from .lookup import lookup
from .metrics import LookupMetrics, Metrics, ThinMetrics, metrics
from .monitor import Monitor, monitor
from .profile import ProfileStream, profile, saved_profile
from .reconcile import Owed, Reconciled, owed, reconcile, reconcile_inputs, settled

__all__ = [
    "LookupMetrics",
    "Metrics",
    "Monitor",
    "Owed",
    "ProfileStream",
    "Reconciled",
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
    "owed",
    "profile",
    "reconcile",
    "reconcile_inputs",
    "saved_profile",
    "settled",
    "write",
]
