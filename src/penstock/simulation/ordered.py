"""Keys whose order means something, for policies with a model of values."""

import functools
from dataclasses import replace
from typing import TypeVar

from ..errors import BadInput
from ..models.cells import find_unit, to_cells
from ..workloads import JoinTrace, LookupTrace

AnyTrace = TypeVar("AnyTrace", JoinTrace, LookupTrace)


@functools.lru_cache(maxsize=2)  # the same in every run over a file
def with_ordered_keys(trace: AnyTrace, policy: str) -> AnyTrace:
    """Return the trace with whole numbers for keys, equal where keys are and in their order.

    >>> import numpy as np
    >>> degrees = LookupTrace([0, 1, 0], value=np.array([20.7, 19.0, 20.7]))
    >>> with_ordered_keys(degrees, "heeb").key.tolist()
    [207, 190, 207]
    """
    if trace.value is None:
        raise BadInput(
            f"policy {policy!r} goes by the order of keys, and those of {trace.name} are names; "
            "choose a numeric key column, or another policy"
        )
    value = trace.value.ravel()  # one unit for all attributes, which may meet each other
    cell = to_cells(value, find_unit("key", value))[0]
    return replace(trace, key=cell.reshape(trace.value.shape))
