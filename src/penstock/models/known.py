"""What can be known of a stream beforehand: its values, or the process that generates it.

`Known` is the certain future, for offline optima and tests. `models_of` returns the true models of
the generated workloads. A step of a workload is a step of its models: what arrives at time t of the
trace is X_t.

Source: section 7.1 of Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD
2005).
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..numeric import Floats
from ..workloads.draws import at_least
from ..workloads.drift import NOISES, Noise
from .cells import numbers, wanted
from .model import History, Model, Now, now, steps
from .noise import Discrete
from .trend import Trend
from .walk import Walk

MODELLED = (*NOISES, "walk")


class Known:
    """A stream of which all values are known; after the last one there are none.

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

    def prob(self, v: Any, d: Any, history: History) -> Floats:
        """Return 1 if v is the value d steps later, else 0."""
        end = now(history)
        self._check_agrees(end)
        place = end.time + steps(d)
        exists = place < len(self.values)
        value = self.values[np.where(exists, place, 0)] if len(self.values) else 0
        return ((value == wanted(v)) & exists).astype(np.float64)[()]

    def sample(self, length: int, seed: int, history: History = ()) -> np.ndarray:
        """Return the next values; `seed` is not used, because nothing is drawn."""
        at_least("length", length, 0)
        start = now(history).time + 1
        if start + length > len(self.values):
            raise BadInput(
                f"length must be at most {max(len(self.values) - start, 0)}, got {length};"
                " no more values are known"
            )
        return self.values[start : start + length].copy()

    def _check_agrees(self, end: Now) -> None:
        if end.value is None:
            return
        time = np.asarray(end.time)
        if (time >= len(self.values)).any() or (self.values[time] != end.value).any():
            raise BadInput(
                f"history must agree with the known values, got {end.value} at step {end.time}"
            )


def models_of(workload: str) -> tuple[Model, Model]:
    """Return the models of R and of S; S is also the stream of references of a cache.

    >>> r, s = models_of("tower")
    >>> r.centre([0, 1, 2]).tolist(), s.centre([0, 1, 2]).tolist()  # R lags one step behind
    ([-1, 0, 1], [0, 1, 2])
    """
    if workload in NOISES:
        noise_r, noise_s = NOISES[workload]
        return drift_models(noise_r=noise_r, noise_s=noise_s)
    if workload == "walk":
        step = Walk.normal(drift=0, sd=1)
        return step, step
    raise BadInput(f"unknown models of {workload!r}; known: {', '.join(MODELLED)}")


def drift_models(
    *, noise_r: Noise, noise_s: Noise, lag: int = 1, speed: int = 1
) -> tuple[Model, Model]:
    """Return the models of R and of S of `workloads.drift`, called with the same arguments.

    >>> still = Noise("uniform", bound=0)
    >>> r, s = drift_models(noise_r=still, noise_s=still, lag=2)
    >>> r.sample(3, seed=0).tolist(), s.sample(3, seed=0).tolist()
    ([-2, -1, 0], [0, 1, 2])
    """
    r = Trend(speed, -speed * lag, Discrete(-noise_r.bound, noise_r.pmf()))
    s = Trend(speed, 0, Discrete(-noise_s.bound, noise_s.pmf()))
    return r, s
