"""The normal distribution cut to cells: the mass between half a unit below and half above."""

from typing import Any

import numpy as np

from ..numeric import normal_below
from .cells import Floats


def cell_mass(cell: Any, mean: Any, sd: Any) -> Floats:
    """Return the mass of a normal on [cell - 1/2, cell + 1/2]; all three may be arrays.

    >>> cell_mass(0, mean=0, sd=1).round(6)
    np.float64(0.382925)
    """
    # Taken in the lower tail; in the upper one rounding eats the difference.
    off = -np.abs(cell - np.asarray(mean))
    return normal_below((off + 0.5) / sd) - normal_below((off - 0.5) / sd)
