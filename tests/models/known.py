"""A model of the certain future, for tests of what models are used for."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from penstock.errors import BadInput
from penstock.kernel.options import at_least
from penstock.models import Now
from penstock.models.cells import numbers, wanted
from penstock.models.model import Past, now, steps
from penstock.numeric import Floats


class Known:
    """A stream of which all values are known; after the last one there are none.

    >>> Known([4, 7, 4]).prob(4, [1, 2, 3], history=[4]).tolist()
    [0.0, 1.0, 0.0]
    """

    family: ClassVar[str] = "known"

    def __init__(self, values: ArrayLike) -> None:
        self.values = numbers("values", values)

    def __repr__(self) -> str:
        return f"Known({len(self.values)} values)"

    def prob(self, v: Any, d: Any, history: Past) -> Floats:
        """Return 1 if v is the value d steps later, else 0."""
        end = now(history)
        self._check_agrees(end)
        place = end.time + steps(d)
        exists = place < len(self.values)
        value = self.values[np.where(exists, place, 0)] if len(self.values) else 0
        return ((value == wanted(v)) & exists).astype(np.float64)[()]

    def sample(self, length: int, seed: int, history: Past = ()) -> np.ndarray:
        """Return the next values; `seed` is not used, because nothing is drawn."""
        at_least("length", length, 0)
        start = now(history).time + 1
        if start + length > len(self.values):
            raise BadInput(
                f"length must be at most {max(len(self.values) - start, 0)}, got {length};"
                " no more values are known"
            )
        return self.values[start : start + length].copy()

    def support(self, most: int, history: Past) -> np.ndarray:
        """Return the next values."""
        start = now(history).time + 1
        return np.unique(self.values[start : start + most])

    def _check_agrees(self, end: Now) -> None:
        if end.value is None:
            return
        time = np.asarray(end.time)
        if (time >= len(self.values)).any() or (self.values[time] != end.value).any():
            raise BadInput(
                f"history must agree with the known values, got {end.value} at step {end.time}"
            )
