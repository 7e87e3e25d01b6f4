"""What is thinned, worked out before anything runs; travels to the workers."""

from dataclasses import dataclass

from ...precision.rule import Costs
from ...precision.thinning import Thinner
from ..plan import Input


@dataclass(frozen=True)
class ThinPlan:
    """Everything the operator must know."""

    readings: Input
    queries: Input | None
    value: str
    rounded: str | None  # the column that tells where no double equals the value
    delta: str
    rule: str
    costs: Costs
    limits: tuple[float, ...]
    silence: int | None  # microseconds
    seed: int
    buckets: int
    labels: tuple[int, ...]
    partitions: int

    @property
    def fingerprint(self) -> dict[str, object]:
        """What a checkpoint must agree on; costs, silence and queries may change."""
        kinds = dict(zip(self.readings.names, self.readings.types, strict=True))
        return {
            "operator": "thin",
            "key": [f"{name}: {kinds[name]}" for name in self.readings.keys],
            "rule": self.rule,
            "limits": list(self.limits),
            "buckets": self.buckets,
            "spark.sql.shuffle.partitions": self.partitions,  # the labels depend on it
        }

    def thinner(self) -> Thinner:
        """Return the sources of a bucket, as they start."""
        return Thinner(
            self.rule,
            costs=self.costs,
            limits=self.limits,
            max_silence=self.silence,
            seed=self.seed,
        )
