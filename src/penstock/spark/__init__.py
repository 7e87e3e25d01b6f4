"""Penstock on Apache Spark: DataFrame in, DataFrame out. Needs `pip install penstock[spark]`.

What users call is `join`, `lookup`, `thin` and `precision`. `frames`, `checks`, `near` and
`session` look at what these are given, and `plan` says what an operator must know; `runtime` does
the work in Spark's workers, where `recall` estimates what a join has lost. `figures`, `observe`,
`metrics` and `listener` tell of a running query. `archive` writes results exactly once and finds
those missed; `sample` counts and samples frames; `pipeline` makes queries of TOML files; `demo`
shows the library at work.

Advice, profiles and the monitor are imported when they are first asked for: every worker of a join
imports this.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..relations import Relation
from . import needs
from .archive.reconcile import Owed, Reconciled, owed, reconcile, settled
from .archive.write import write
from .join import join, join_group, join_many
from .lookup import lookup
from .metrics import LookupMetrics, Metrics, ThinMetrics, metrics
from .sample.count import count

if TYPE_CHECKING:
    from .listener import Monitor, monitor
    from .sample.advice import advise
    from .sample.profile import ProfileStream, profile, saved_profile

LATE = {
    "advise": "sample.advice",
    "ProfileStream": "sample.profile",
    "profile": "sample.profile",
    "saved_profile": "sample.profile",
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
