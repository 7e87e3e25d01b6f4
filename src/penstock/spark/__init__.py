"""Penstock on Apache Spark: DataFrame in, DataFrame out. Needs `pip install penstock[spark]`.

Advice, profiles and the monitor are imported when they are first asked for: every worker of a join
imports this.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..relations import Relation
from . import needs
from .archive import write
from .count import count
from .join import join, join_group, join_many
from .lookup import lookup
from .metrics import LookupMetrics, Metrics, ThinMetrics, metrics
from .reconcile import Owed, Reconciled, owed, reconcile, settled

if TYPE_CHECKING:
    from .frame_advice import advise
    from .frame_profile import ProfileStream, profile, saved_profile
    from .listener import Monitor, monitor

LATE = {
    "advise": "frame_advice",
    "ProfileStream": "frame_profile",
    "profile": "frame_profile",
    "saved_profile": "frame_profile",
    "Monitor": "listener",
    "monitor": "listener",
}
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
    "saved_profile",
    "settled",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{LATE[name]}"), name)
    globals()[name] = found
    return found
