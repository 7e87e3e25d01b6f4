"""What is simulated besides the values: the queries, the costs and the caches."""

from dataclasses import dataclass

import numpy as np

from ...errors import BadInput
from ..checks import count, number
from ..costs import Costs
from .state import Load

KINDS = ("sum", "avg", "max")
ASKED = 10  # how many values a query of the paper is about


@dataclass(frozen=True)
class Workload:
    """The paper's queries: every `period`, about `asked` random sources, within a random δ.

    delta, variation: δ is uniform over delta × (1 - variation) to delta × (1 + variation).
    rho: the cost factor; C_qr is 2 and C_vr is rho.
    asked: by default 10, or all sources if there are fewer.
    capacity: how many intervals a cache holds, by default all.

    >>> Workload(period=2, delta=20).costs
    Costs(value=1.0, query=2.0)
    """

    period: float
    delta: float
    variation: float = 1.0
    rho: float = 1.0
    query: str = "sum"
    asked: int | None = None
    capacity: int | None = None
    caches: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        number("period", self.period, 0, above=True)
        number("delta", self.delta, 0)
        if not 0 <= number("delta-variation", self.variation, 0) <= 1:
            raise BadInput(f"delta-variation must be from 0 to 1, got {self.variation}")
        number("rho", self.rho, 0, above=True)
        if self.query not in KINDS:
            raise BadInput(f"query must be one of {', '.join(KINDS)}, got {self.query!r}")
        count("caches", self.caches, 1)
        count("seed", self.seed, 0)

    @property
    def costs(self) -> Costs:
        """What refreshes cost."""
        return Costs(float(self.rho), 2.0)

    def load(self, sources: int) -> Load:
        """Return the numbers that the kernel needs."""
        asked = min(ASKED, sources) if self.asked is None else count("asked", self.asked, 1)
        capacity = sources if self.capacity is None else count("capacity", self.capacity, 0)
        if asked > sources:
            raise BadInput(f"asked must be at most the number of sources, {sources}, got {asked}")
        scale = asked if self.query == "avg" else 1
        low, high = self.delta * (1 - self.variation), self.delta * (1 + self.variation)
        return Load(
            float(self.period),
            float(low * scale),
            float(high * scale),
            asked,
            min(capacity, sources),
            self.query == "max",
        )


@dataclass(frozen=True)
class Outcome:
    """What a rule cost."""

    rule: str
    cost_rate: float  # Ω: per unit of time, all sources and caches together
    p_vr: float  # value-initiated refreshes per unit of time
    p_qr: float  # query-initiated ones
    mean_width: float  # of the original widths, over sources, caches and time
    span: float  # units of time that were counted
    refreshes: np.ndarray  # records of kernel.LOG, if they were asked for
    seconds: float = 0.0  # that the counted part took

    @property
    def messages(self) -> float:
        """The cost in all: with ρ = 1 the number of messages."""
        return self.cost_rate * self.span
