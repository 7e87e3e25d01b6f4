"""The known future: every value is certain. Offline optima and tests use it.

Source: section 7.1 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD
2005).
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..core.options import at_least
from ..errors import BadInput
from .cells import Floats, numbers, wanted
from .counts import steps
from .history import Now, now
from .record import Fit


class Known:
    """A stream whose values are all known; after the last one nothing comes.

    >>> Known([4, 7, 4]).prob(4, [1, 2, 3], history=[4]).tolist()
    [0.0, 1.0, 0.0]
    """

    family: ClassVar[str] = "known"
    independent: ClassVar[bool] = True
    timeless: ClassVar[bool] = False

    def __init__(self, values: ArrayLike) -> None:
        self.values = numbers("values", values)

    def __repr__(self) -> str:
        return f"Known({len(self.values)} values)"

    def prob(self, v: Any, d: Any, history: ArrayLike | Now) -> Floats:
        """Return 1 where v is what comes d steps later, else 0."""
        end = now(history)
        self._check_agrees(end)
        place = end.time + steps(d)
        comes = place < len(self.values)
        value = self.values[np.where(comes, place, 0)] if len(self.values) else 0
        return ((value == wanted(v)) & comes).astype(np.float64)[()]

    def sample(self, length: int, seed: int, history: ArrayLike | Now = ()) -> np.ndarray:
        """Return the next values; `seed` is unused, nothing is drawn."""
        at_least("length", length, 0)
        start = now(history).time + 1
        if start + length > len(self.values):
            raise BadInput(
                f"length must be at most {max(len(self.values) - start, 0)}, got {length};"
                " nothing more is known"
            )
        return self.values[start : start + length].copy()

    @classmethod
    def fit(cls, data: ArrayLike) -> Fit:
        """Return the data as their own model: certain, and with a parameter for each value.

        >>> Known.fit([1, 2, 3]).free
        2
        """
        model = cls(data)
        count = max(len(model.values) - 1, 0)
        return Fit(model, {}, 0.0, count, count)

    def _check_agrees(self, end: Now) -> None:
        if end.value is None:
            return
        time = np.asarray(end.time)
        if (time >= len(self.values)).any() or (self.values[time] != end.value).any():
            raise BadInput(
                f"history must agree with the known values, got {end.value} at step {end.time}"
            )
