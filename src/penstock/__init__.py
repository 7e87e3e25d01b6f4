"""Stream joins and stream caches inside a hard memory budget.

The engines, and with them NumPy and Numba, are imported when they are first asked for: the command
line's help and what only configures a query do without them.
"""

from typing import TYPE_CHECKING, Any

from .errors import BadInput, BadState, PenstockError

if TYPE_CHECKING:
    from .engine import Join, Lookup

__all__ = ["BadInput", "BadState", "Join", "Lookup", "PenstockError", "advise"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in ("Join", "Lookup"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import engine

    globals().update(Join=engine.Join, Lookup=engine.Lookup)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def advise(left: Any, right: Any = None, **options: Any) -> Any:
    """Say how much memory a join, or a cache, of Spark frames needs: see `penstock.spark.advise`.

    Needs `pip install penstock[spark]`. Files need no Spark: `penstock advise --help`.
    """
    from .spark import advise as advise_frames

    return advise_frames(left, right, **options)
