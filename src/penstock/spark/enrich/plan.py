"""What is looked up where, worked out before anything runs; travels to the workers."""

from dataclasses import dataclass

import pyarrow as pa

from ...engines import Lookup
from ...engines.shares import split_budget
from ...relations import Patience, Source
from ..plan import Input


@dataclass(frozen=True)
class LookupPlan:
    """Everything the operator must know."""

    events: Input
    source: Source
    promised: pa.Schema  # of the answers: the relation's key columns, then those wanted
    columns: tuple[tuple[str, str], ...]  # of the relation: its name there, its name in the result
    how: str
    on_missing: str
    ttl: int | None  # microseconds
    memory: int
    in_bytes: bool
    policy: str
    seed: int
    patience: Patience
    buckets: int
    labels: tuple[int, ...]
    partitions: int

    @property
    def fingerprint(self) -> dict[str, object]:
        """What a checkpoint must agree on: else a bucket might keep rows that had changed."""
        return {
            "operator": "lookup",
            "buckets": self.buckets,
            "spark.sql.shuffle.partitions": self.partitions,  # the labels depend on it
        }

    @property
    def meaning(self) -> dict[str, object]:
        """What the cached rows mean; if it has changed they are fetched anew."""
        return {
            "relation": self.source.identity,
            "columns": [f"{field.name}: {field.type}" for field in self.promised],
            "keys": [self.events.types[self.events.names.index(key)] for key in self.events.keys],
            "memory counts": "bytes" if self.in_bytes else "rows",
        }

    @property
    def held_keys(self) -> int:
        """How many key columns stand before the relation's in a cached row, to be compared."""
        return 0 if self.events.exact else len(self.events.keys)

    def budget(self, number: int) -> int:
        """Return what one bucket may hold."""
        return split_budget(self.memory, self.buckets)[number]

    def engine(self, number: int) -> Lookup:
        """Return the cache of a bucket, as it starts."""
        return Lookup(
            self.policy, self.budget(number), in_bytes=self.in_bytes, seed=self.seed + number
        )
