"""What an operator must know, worked out before anything runs.

A plan is made of plain values, so that it travels to the workers, and its fingerprint tells
whether a checkpoint was written by the same query.
"""

import os
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import pyarrow as pa

from ..engine import Lookup
from ..engine.ledger import split_budget
from ..engine.lookup import COSTS, HITS
from ..kernel.shape import Joins
from ..relations import Patience, RowSource
from .checks import BUCKETS, USUAL, whole
from .frames import Input, Output
from .runtime.labels import labels
from .session import partitions


@dataclass(frozen=True, kw_only=True)
class Placed:
    """Into how many buckets the keys are split, and where Spark puts each."""

    buckets: int
    labels: tuple[int, ...]  # of each bucket: see `runtime.labels`
    partitions: int
    checkpoint: str | None = None  # where the figures of the query may be kept; see `monitor`

    changeable: ClassVar[tuple[str, ...]] = ()  # fields that a restart may change

    @property
    def numbers(self) -> dict[int, int]:
        """The number of each bucket by its label."""
        return {label: number for number, label in enumerate(self.labels)}

    @property
    def terms(self) -> dict[str, Any]:
        """What a restart may change, and the state depends on."""
        return {name: getattr(self, name) for name in self.changeable}

    def can_go_on(self, terms: dict[str, Any]) -> bool:
        """Tell whether what was written under these terms is of use."""
        return True

    def under(self, terms: dict[str, Any]) -> Self:
        """Return the plan as it was before some of it changed.

        What was written before there was a field has the default of that.
        """
        before: dict[str, Any] = {n: getattr(type(self), n, None) for n in self.changeable}
        before |= terms
        return replace(self, **{name: before[name] for name in self.changeable})

    @property
    def placement(self) -> dict[str, object]:
        """What a checkpoint must agree on: the labels depend on it.

        Where nothing else is asked for the buckets follow from the setting, so it is told first.
        """
        return {"spark.sql.shuffle.partitions": self.partitions, "buckets": self.buckets}


def placed(
    session: Any, buckets: int | None, checkpoint: str | os.PathLike[str] | None = None
) -> dict[str, Any]:
    """Return where the buckets of a query are, as the fields of `Placed`."""
    parts = partitions(session)
    count = min(parts, USUAL) if buckets is None else whole(buckets, "buckets", 1, BUCKETS)
    return {
        "buckets": count,
        "labels": tuple(labels(count, parts)),
        "partitions": parts,
        # What is no path is refused by `check_checkpoint`.
        "checkpoint": os.fspath(checkpoint) if isinstance(checkpoint, str | os.PathLike) else None,
    }


@dataclass(frozen=True, kw_only=True)
class JoinPlan(Placed):
    """What the operator of a join must know."""

    what: ClassVar[str] = "join"
    changeable: ClassVar[tuple[str, ...]] = (
        "budget",
        "in_bytes",
        "policy",
        "goal",
        "delay",
        "clock",
        "seed",
        "sample",
    )

    inputs: tuple[Input, ...]
    joins: Joins
    within: int | tuple[int, int] | None  # see `engine.Join`
    near: int | float | None = None  # likewise, of the column that `Input.near` names
    said_near: str | None = None  # as a user writes it
    how: str = "inner"
    match: str = "all"
    archived: bool = False  # rows that leave early are given out, to be archived
    delay: int  # by how much a row may be late, before a budget has no room for what it would meet
    clock: str  # which stream sets it for a budget; see `engine.Join`
    watermark: bool  # whether Spark tells how far the streams have come
    # Microseconds by which Spark's watermark is behind that of the join. Results may be so much
    # older than the row that completed them, and what follows in the query must not call them late.
    behind: int = 0
    place: int = 1  # among the joins that the rows pass in one query
    budget: int | None
    in_bytes: bool
    policy: str
    goal: str
    layout: str
    seed: int
    sample: float
    output: tuple[Output, ...]  # per join

    @property
    def reach(self) -> tuple[int, ...] | None:
        """How long after its time a row of each input can match; None: for ever."""
        if isinstance(self.within, tuple):
            return self.within[1], -self.within[0]
        return None if self.within is None else (self.within,) * len(self.inputs)

    @property
    def lifetime(self) -> int | None:
        """How long a row can match at most; None: for ever."""
        return None if self.reach is None else max(0, *self.reach)

    @property
    def is_plain(self) -> bool:
        """Whether all matches are found and only they are results."""
        return self.how == "inner" and self.match == "all"

    @property
    def is_shared(self) -> bool:
        """Whether several buckets share a budget."""
        return self.budget is not None and self.buckets > 1

    @property
    def fingerprint(self) -> dict[str, object]:
        """What a checkpoint must agree on; budget, policy and goal may change."""
        return {
            "columns": [
                [f"{name}: {kind}" for name, kind in zip(i.names, i.types, strict=True)]
                for i in self.inputs
            ],
            "keys": [list(i.keys) for i in self.inputs],
            "time": [i.time for i in self.inputs],
            "joins": [[stream for stream, _ in join] for join in self.joins],
            "within": self.within,
            "near": self.said_near,
            "behind": self.behind,
            "layout": self.layout,
            "how": self.how,
            "match": self.match,
            "archived": self.archived,
            **next(filter(None, (source.marks for source in self.inputs)), {}),
        } | self.placement


@dataclass(frozen=True, kw_only=True)
class LookupPlan(Placed):
    """What the operator of a lookup must know."""

    what: ClassVar[str] = "lookup"
    changeable: ClassVar[tuple[str, ...]] = (
        "budget",
        "in_bytes",
        "policy",
        "goal",
        "cost",
        "seed",
        "ttl",
    )

    events: Input
    source: RowSource
    promised: pa.Schema  # of the answers: the relation's key columns, then those wanted
    columns: tuple[tuple[str, str], ...]  # of the relation: its name there, its name in the result
    how: str
    on_missing: str
    ttl: int | None  # microseconds
    budget: int
    in_bytes: bool
    policy: str
    goal: str = HITS
    cost: str | None = None  # the relation's column that tells what a row costs to fetch
    seed: int
    patience: Patience

    @property
    def fingerprint(self) -> dict[str, object]:
        """What a checkpoint must agree on: else a bucket might keep rows that had changed."""
        return {"operator": "lookup"} | self.placement

    @property
    def terms(self) -> dict[str, Any]:
        """What a restart may change, and the state depends on."""
        return super().terms | {"meaning": self.meaning}

    def can_go_on(self, terms: dict[str, Any]) -> bool:
        """Tell whether what was written under these terms is of use: rows of this relation."""
        return bool(terms["meaning"] == self.meaning)

    @property
    def meaning(self) -> dict[str, object]:
        """What the cached rows mean; if it has changed they are fetched anew."""
        return {
            "relation": self.source.identity,
            "columns": [f"{field.name}: {field.type}" for field in self.promised],
            "keys": [self.events.type_of(key) for key in self.events.keys],
            "memory counts": "bytes" if self.in_bytes else "rows",
        }

    @property
    def held_keys(self) -> int:
        """How many key columns stand before the relation's in a cached row, to be compared."""
        return 0 if self.events.exact else len(self.events.keys)

    @property
    def cost_place(self) -> str:
        """Which column of a cached row tells what it costs to fetch."""
        names = [name for name, _ in self.columns]
        return str(self.held_keys + names.index(str(self.cost)))

    @property
    def engine_goal(self) -> str:
        """The goal of the engines, which are told bytes as costs.

        With a budget in rows an engine knows no sizes, and of a key without a row there are no
        bytes.
        """
        return HITS if self.goal == HITS else COSTS

    def share(self, number: int) -> int:
        """Return what one bucket may hold."""
        return split_budget(self.budget, self.buckets)[number]

    def engine(self, number: int) -> Lookup:
        """Return the cache of a bucket, as it starts."""
        return Lookup(
            self.policy,
            self.share(number),
            goal=self.engine_goal,
            in_bytes=self.in_bytes,
            seed=self.seed + number,
        )
