"""A join as a comparison wants it, made anew for each replay."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .. import policies
from ..core.gains import PAIRS
from ..engines import Join
from ..engines.join import Matches
from ..models import Model
from ..workloads import JoinTrace
from .arrivals import Arrivals, arrivals
from .before import fit_before
from .contender import Contender
from .ordered import with_ordered_keys


class Joining(NamedTuple):
    """A policy, its memory, and the terms on which it joins."""

    who: Contender
    memory: int
    within: int | None = None
    layout: str = "unified"
    drop: float = 0.0
    seed: int = 0
    models: Sequence[Model] | None = None
    goal: str = PAIRS

    def prepare(self, trace: JoinTrace) -> tuple[Arrivals, Callable[[], Join]]:
        """Return the rows in the order in which they are taken, and what makes a fresh join."""
        chosen, models = self.who.chosen, self.models
        assert chosen is not None, "hindsight does not join"
        if self.who.params.get("fit") == "before":
            models = fit_before(trace, self.who.params)
        if chosen.policy.ordered or (chosen.policy is policies.AUTO and trace.value is not None):
            trace = with_ordered_keys(trace, chosen.policy.name)
        rows = arrivals(trace, self.within)
        shares = np.bincount(rows.side, minlength=trace.streams) / max(1, len(trace))

        def fresh() -> Join:
            return Join(
                chosen,
                self.memory,
                goal=self.goal,
                within=self.within,
                joins=trace.joins,
                layout=self.layout,
                shares=shares.tolist() if self.layout == "split" else None,
                drop=self.drop,
                together=trace.together,
                seed=self.seed,
                models=models,
            )

        return rows, fresh


def push(join: Join, rows: Arrivals, emit: bool = False) -> Matches:
    """Let a join take some rows."""
    return join.push(rows.side, rows.key, rows.time, end=rows.end, emit=emit)
