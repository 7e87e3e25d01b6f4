"""The true models of the generated workloads: what a policy could know of them at best.

A step of a workload is a step of its models: what arrives at time t of the trace is X_t.
"""

from ..errors import BadInput
from ..workloads.drift import NOISES, Noise
from .base import Model
from .noise import Discrete
from .trend import Trend
from .walk import Walk

MODELLED = (*NOISES, "walk")


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
    known = ", ".join(MODELLED)
    raise BadInput(f"the models of {workload!r} are not known; those of {known} are")


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
