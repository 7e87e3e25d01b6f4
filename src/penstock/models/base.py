"""What every model offers, whatever its family."""

from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from .cells import Floats
from .history import Now


@runtime_checkable
class Model(Protocol):
    """A stochastic process of keys, one a step: X_0, X_1, ...

    `independent`: given the time, a value says nothing about later ones.
    `timeless`: what comes depends on the last value alone, not on the time.
    """

    family: ClassVar[str]
    independent: ClassVar[bool]
    timeless: ClassVar[bool]

    def prob(self, v: Any, d: Any, history: "ArrayLike | Now") -> Floats:
        """Return Pr(X_{t+d} = v | history up to t); v, d and the ends of histories broadcast."""

    def sample(self, length: int, seed: int, history: "ArrayLike | Now" = ()) -> np.ndarray:
        """Return `length` values: a stream from its start, or how a history goes on."""
