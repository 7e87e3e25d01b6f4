"""Keys whose order means something, for policies with a model of values."""

import numpy as np

from ..errors import BadInput
from ..models.cells import find_unit, to_cells
from .source import Trace


def ordered_keys(trace: Trace, policy: str) -> np.ndarray:
    """Return a whole number for each key, equal where keys are and in the order of their values.

    >>> from penstock.workloads import LookupTrace
    >>> ordered_keys(LookupTrace([0, 1, 0], value=np.array([20.7, 18.4, 20.7])), "heeb").tolist()
    [207, 184, 207]
    """
    if trace.value is None:
        raise BadInput(
            f"policy {policy!r} goes by the order of keys, and those of {trace.name} are names; "
            "choose a numeric key column, or another policy"
        )
    return to_cells(trace.value, find_unit("key", trace.value))[0]
