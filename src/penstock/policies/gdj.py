"""GDJ, GreedyDual-Join: matches earn credit; the tuple with the lowest credit is evicted.

A newcomer starts with the credit found at a `percentile` of the credits held, which determines how
long it is kept without a match. Three methods:

1. a match earns one, and credit is never reduced;
2. a match earns the rank of its tuple by credit, and every arrival reduces all credits by one;
3. a match earns one, and what was earned is subtracted from all credits in equal parts.

A reduction that is the same for all changes no comparison, and a newcomer's credit is copied from a
tuple whose credit was reduced; so it is never computed, and method 3 decides exactly as method 1.

In a join of three or more streams a tuple earns when a whole result is found, or, with
`credit=parts`, for every arrival of another stream with its key, be the rest of a result held or
not. Whole results become rare as streams are added, so that most tuples would never earn anything.
Held tuples with an arrival's key are found in lists by a hash of the key. In a join of two streams
every part is a result. The paper leaves open what a partial result earns (section 5.3.4).

Which percentile is best differs much from stream to stream. With `percentile=auto` it is found
while the engine runs, as the paper suggests: shadow caches try several (`engine/adapt/chooser.py`).

Source: Bestavros et al., "GreedyDual-Join" (BUCS-TR-2004-028), sections 4.1 and 5.2.
"""

from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from ..kernel import ladder as ladders
from ..kernel import order as orders
from ..kernel import policy as contract
from ..kernel import ranks as trees
from ..kernel.jit import jit
from ..kernel.order import AFTER, NONE, Order
from ..kernel.policy import JOINING, Policy, Setup, Trial, Tunable
from ..kernel.rng import mix
from ..kernel.shape import Shape

BY_RANK = 2
RESULTS, PARTS = "results", "parts"
PERCENTILES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)  # finer steps gained less than 1 %


class GdjState(NamedTuple):
    """Credits on a ladder (methods 1 and 3) or in a tree with ranks (method 2)."""

    ladder: ladders.Ladder
    ranks: trees.Ranks
    method: np.ndarray  # int64[1]
    stamps: np.ndarray  # int64[1]: changes of credit so far; order equal credits
    percentile: np.ndarray  # float64[1]
    # Where parts earn; else both are empty.
    peers: Order  # the held slots, in lists by a hash of their keys
    column: np.ndarray  # int64[streams]: which of a tuple's keys joins


def make_state(
    setup: Setup, percentile: float = 0.2, method: int = 1, credit: str = RESULTS
) -> GdjState:
    """Return an empty state; `percentile` 0 gives a newcomer the lowest credit, 1 the highest."""
    contract.check_range("gdj", "percentile", percentile, 0, 1)
    contract.check_choice("gdj", "method", str(method), ("1", "2", "3"))
    contract.check_choice("gdj", "credit", credit, (RESULTS, PARTS))
    by_rank = method == BY_RANK
    by_parts = credit == PARTS and setup.shape.sides > 2
    lists = 1 << (min(setup.scale, contract.UNKNOWN_SCALE) - 1).bit_length()
    return GdjState(
        ladders.make_ladder(1 if by_rank else setup.capacity, percentile),
        trees.make_ranks(setup.capacity if by_rank else 1),
        np.array([method]),
        np.zeros(1, np.int64),
        np.array([percentile], float),
        orders.make_order(setup.capacity, lists) if by_parts else orders.make_order(0, 0),
        _columns(setup.shape) if by_parts else np.zeros(0, np.int64),
    )


def _columns(shape: Shape) -> np.ndarray:
    """Return which of a tuple's keys joins, by stream; refuse what is not one join of them all."""
    if len(shape.joins) > 1 or len(shape.joins[0]) < shape.streams:
        raise BadInput(
            "parameter 'credit' of policy 'gdj' may be 'parts' where one join has all streams, got "
            f"joins={shape.joins}; leave it at 'results'"
        )
    return shape.leg_table[:, 0, 2].copy()


@jit
def _stamp(state):
    state.stamps[0] += 1
    return state.stamps[0]


@jit
def _key(state, held, slot):
    return held.key[slot, state.column[held.at[slot]["stream"]]]


@jit
def _list_of(state, key):
    """Return in which list the slots with a key are, besides others."""
    return np.int64(mix(np.uint64(key)) & np.uint64(len(state.peers.ends) - 1))


@jit
def on_arrival(state, held, slot, now):
    if len(state.column) == 0:
        return
    stream, key = held.at[slot]["stream"], _key(state, held, slot)
    one = orders.front(state.peers, _list_of(state, key))
    while one != NONE:
        if held.at[one]["stream"] != stream and _key(state, held, one) == key:
            _earn(state, one)
        one = np.int64(state.peers.link[one, AFTER])


@jit
def on_insert(state, held, slot, now):
    if len(state.column) > 0:
        orders.push_back(state.peers, _list_of(state, _key(state, held, slot)), slot)
    if state.method[0] != BY_RANK:
        ladders.enter(state.ladder, slot)
        return
    size = trees.size(state.ranks)
    credit = np.int64(0)
    if size > 0:
        rank = min(size - 1, np.int64(state.percentile[0] * size))
        credit = state.ranks.credit[trees.at(state.ranks, rank)]
    trees.enter(state.ranks, slot, credit, _stamp(state))


@jit
def on_match(state, held, slot, now):
    if len(state.column) == 0:
        _earn(state, slot)


@jit
def _earn(state, slot):
    if state.method[0] != BY_RANK:
        ladders.climb(state.ladder, slot)
        return
    credit = state.ranks.credit[slot]
    earned = trees.not_above(state.ranks, credit)
    trees.leave(state.ranks, slot)
    trees.enter(state.ranks, slot, credit + earned, _stamp(state))


@jit
def on_remove(state, held, slot, now):
    if len(state.column) > 0:
        orders.unlink(state.peers, _list_of(state, _key(state, held, slot)), slot)
    if state.method[0] != BY_RANK:
        ladders.leave(state.ladder, slot)
    else:
        trees.leave(state.ranks, slot)


@jit
def choose_victim(state, held, newcomer, now):
    if state.method[0] != BY_RANK:
        return ladders.lowest(state.ladder)
    return trees.at(state.ranks, 0)


def retuned(state: GdjState, fresh: GdjState) -> GdjState:
    ladder = state.ladder._replace(percentile=fresh.ladder.percentile)
    return state._replace(ladder=ladder, percentile=fresh.percentile)


GDJ = Policy(
    "gdj",
    "matches earn credit, newcomers get a percentile of it; evicts the lowest credit",
    make_state,
    choose_victim,
    on_arrival=on_arrival,
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    tunable={"percentile": Tunable(PERCENTILES, 0.2)},
    retuned=retuned,
    cost=1.5,
    advise={JOINING: Trial(8, ("percentile=0.1",))},
)
