"""Penstock on Apache Spark: DataFrame in, DataFrame out. Needs `pip install penstock[spark]`."""

from . import needs  # first: it says in one sentence what is missing
from .count import count
from .group import join_group
from .join import join, join_many
from .metrics import Metrics, metrics
from .profile import ProfileStream, profile, saved_profile

__all__ = [
    "Metrics",
    "ProfileStream",
    "count",
    "join",
    "join_group",
    "join_many",
    "metrics",
    "needs",
    "profile",
    "saved_profile",
]
