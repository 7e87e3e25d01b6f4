"""Penstock on Apache Spark: DataFrame in, DataFrame out. Needs `pip install penstock[spark]`.

Users call the functions of `__all__`, and `thin`, `latest` and `bounded_agg` of the module
`precision`. Of the modules, `join`, `lookup` and `thin` build the queries; `frames`, `checks`,
`near` and `session` check what they are given, and `plan` is what an operator must know; `runtime`
does the work in Spark's workers, where `recall` estimates what a join has lost. `figures`,
`observe`, `metrics` and `listener` report on a running query. `archive` writes results exactly once
and finds those missed; `sample` counts and samples frames; `pipeline` makes queries of TOML files;
`demo` shows the library at work.

Whatever no worker of a join or a lookup needs is imported when it is first used: every worker
imports this package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..relations import Relation
from . import needs
from .join import join, join_group, join_many
from .lookup import lookup
from .metrics import LookupMetrics, Metrics, ThinMetrics, metrics

if TYPE_CHECKING:
    from .archive.reconcile import Owed, Reconciled, owed, reconcile, settled
    from .archive.write import write
    from .listener import Monitor, monitor
    from .sample.advice import advise
    from .sample.count import count
    from .sample.profile import ProfileStream, profile, saved_profile

LATE = {
    "Owed": "archive.reconcile",
    "Reconciled": "archive.reconcile",
    "owed": "archive.reconcile",
    "reconcile": "archive.reconcile",
    "settled": "archive.reconcile",
    "write": "archive.write",
    "advise": "sample.advice",
    "count": "sample.count",
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
