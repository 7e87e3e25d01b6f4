"""Stream joins and stream caches inside a hard memory budget."""

from typing import Any

from .engines import Join, Lookup
from .errors import BadInput, BadState, PenstockError

__all__ = ["BadInput", "BadState", "Join", "Lookup", "PenstockError", "advise"]
__version__ = "0.1.0"


def advise(left: Any, right: Any = None, **options: Any) -> Any:
    """Say how much memory a join, or a cache, of Spark frames needs: see `penstock.spark.advise`.

    Needs `pip install penstock[spark]`. Files need no Spark: `penstock advise --help`.
    """
    from .spark import advise as advise_frames

    return advise_frames(left, right, **options)
