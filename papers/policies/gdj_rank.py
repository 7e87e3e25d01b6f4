"""GDJ with the credit method 2: a match earns the rank of its tuple by credit.

Every arrival reduces all credits by one, which changes no comparison and is never computed. The
other methods are those of `penstock.policies.gdj`: method 1, and method 3, which decides exactly as
method 1. Method 2 was never better than these (`gdj-3`), and takes a search tree.

Source: Bestavros et al., "GreedyDual-Join" (BUCS-TR-2004-028), sections 4.1 and 5.2.
"""

from typing import NamedTuple

import numpy as np

from penstock.kernel.jit import jit
from penstock.kernel.policy import Policy, Setup, check_range

from . import ranks as trees


class GdjRankState(NamedTuple):
    """Credits in a tree with ranks."""

    ranks: trees.Ranks
    stamps: np.ndarray  # int64[1]: changes of credit so far; order equal credits
    percentile: np.ndarray  # float64[1]


def make_state(setup: Setup, percentile: float = 0.9) -> GdjRankState:
    """Return an empty state; `percentile` 0 gives a newcomer the lowest credit, 1 the highest."""
    check_range("gdj_rank", "percentile", percentile, 0, 1)
    return GdjRankState(
        trees.make_ranks(setup.capacity), np.zeros(1, np.int64), np.array([percentile], float)
    )


@jit
def _stamp(state):
    state.stamps[0] += 1
    return state.stamps[0]


@jit
def on_insert(state, held, slot, now):
    size = trees.size(state.ranks)
    credit = np.int64(0)
    if size > 0:
        rank = min(size - 1, np.int64(state.percentile[0] * size))
        credit = state.ranks.credit[trees.at(state.ranks, rank)]
    trees.enter(state.ranks, slot, credit, _stamp(state))


@jit
def on_match(state, held, slot, now):
    credit = state.ranks.credit[slot]
    earned = trees.not_above(state.ranks, credit)
    trees.leave(state.ranks, slot)
    trees.enter(state.ranks, slot, credit + earned, _stamp(state))


@jit
def on_remove(state, held, slot, now):
    trees.leave(state.ranks, slot)


@jit
def choose_victim(state, held, newcomer, now):
    return trees.at(state.ranks, 0)


GDJ_RANK = Policy(
    "gdj_rank",
    "matches earn a rank by credit, newcomers get a percentile of it; evicts the lowest credit",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
)
