"""GDJ, GreedyDual-Join: matches earn credit; the tuple with the lowest credit is evicted.

A newcomer starts with the credit found at a `percentile` of the credits held, which determines how
long it is kept without a match. A match earns one, and credit is never reduced: the paper's method
1. Its method 3 also subtracts what was earned from all credits, in equal parts. A reduction that is
the same for all changes no comparison, and a newcomer's credit is copied from a tuple whose credit
was reduced; so method 3 decides exactly as method 1. Method 2, by ranks, was never better
(`papers/policies/gdj_rank.py`).

Which percentile is best differs much from stream to stream. With `percentile=auto` it is found
while the engine runs, as the paper suggests: miniatures try several (`engine/adapt/pilot.py`).

Source: Bestavros et al., "GreedyDual-Join" (BUCS-TR-2004-028), sections 4.1 and 5.2.
"""

from typing import NamedTuple

from ..kernel import ladder as ladders
from ..kernel.jit import jit
from ..kernel.policy import CACHING, JOINING, Policy, Setup, Trial, Tunable, check_range

PERCENTILES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)  # finer steps gained less than 1 %

CANDIDATES = ("percentile=0.2", "percentile=0.0", "percentile=0.5", "percentile=0.9")  # of `auto`


class GdjState(NamedTuple):
    """Credits on a ladder."""

    ladder: ladders.Ladder


def make_state(setup: Setup, percentile: float = 0.9) -> GdjState:
    """Return an empty state; `percentile` 0 gives a newcomer the lowest credit, 1 the highest."""
    check_range("gdj", "percentile", percentile, 0, 1)
    return GdjState(ladders.make_ladder(setup.capacity, float(percentile)))


@jit
def on_insert(state, held, slot, now):
    ladders.enter(state.ladder, slot)


@jit
def on_match(state, held, slot, now):
    ladders.climb(state.ladder, slot)


@jit
def on_remove(state, held, slot, now):
    ladders.leave(state.ladder, slot)


@jit
def choose_victim(state, held, newcomer, now):
    return ladders.lowest(state.ladder)


def retuned(state: GdjState, fresh: GdjState) -> GdjState:
    return GdjState(state.ladder._replace(percentile=fresh.ladder.percentile))


GDJ = Policy(
    "gdj",
    "matches earn credit, newcomers get a percentile of it; evicts the lowest credit",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    tunable={"percentile": Tunable(PERCENTILES, 0.2)},
    retuned=retuned,
    cost=1.5,
    auto={JOINING: Trial(4, CANDIDATES), CACHING: Trial(7, CANDIDATES)},
    advise={JOINING: Trial(8, ("percentile=0.1",))},
)
