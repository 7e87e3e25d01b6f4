"""Stream joins and stream caches inside a hard memory budget.

`Join` and `Lookup` are the engines. `advise` is `penstock.spark.advise`: how much memory a join or
a cache of Spark frames needs.

All are imported when they are first asked for: the command line's help and what only configures a
query do without NumPy, Numba and Spark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import BadInput, BadState, PenstockError

if TYPE_CHECKING:
    from .engine import Join, Lookup
    from .spark.sample.advice import advise as advise

__all__ = ["BadInput", "BadState", "Join", "Lookup", "PenstockError"]
__version__ = "0.2.0"
LATE = {"Join": "engine", "Lookup": "engine", "advise": "spark"}


def __getattr__(name: str) -> Any:
    if name not in LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{LATE[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *LATE})
