"""CLOCK with credit for partial results, and GDJ with memory by the credit of each join.

Both papers suggest these and say no more than what is quoted here; the rest is ours.

- `sketched_clock`: CLOCK "by using different-sized increments for partial vs. full join results". A
  result of n streams takes a tuple of each. A held tuple and an arrival of another stream with its
  key are a part of one, whether or not the rest is there: a part adds `part`, a result `full`. The
  paper names no sizes. Of GDJ the same is an option: `gdj:credit=parts`.
- `sketched_shares`: "to simply use the average credits per tuple for each join" to apportion the
  memory to two joins. The join that holds most above its share loses its tuple of lowest credit; a
  newcomer gets a percentile of the credits of its own join.

Source: Gao et al., "The CLOCK data-aware eviction approach" (ESWC 2014), section 3.2; Bestavros et
al., "GreedyDual-Join" (BUCS-TR-2004-028), section 4.3.
"""

from typing import NamedTuple

import numpy as np

from penstock.kernel import ladder as ladders
from penstock.kernel import members as sets
from penstock.kernel.jit import jit
from penstock.kernel.pages import zeros
from penstock.kernel.policy import JOINING, Policy, Setup
from penstock.policies import clock
from penstock.policies.shared import discard_member, unlink


class PartialClockState(NamedTuple):
    """The state of CLOCK, the held slots, and both increments."""

    clock: clock.ClockState
    members: sets.Members
    part: np.ndarray  # float64[1]
    full: np.ndarray  # float64[1]


def make_clock(
    setup: Setup,
    part: float = 0.5,
    full: float = 1.0,
    w0: float = 0.0,
    rho: float | None = None,
    hand: str = clock.STAYS,
) -> PartialClockState:
    """Return an empty round; `part` and `full` are what a part and a whole result add."""
    assert len(setup.shape.joins) == 1, "one join of several streams"
    return PartialClockState(
        clock.make_state(setup, w0=w0, rho=rho, hand=hand),
        sets.make_members(setup.capacity),
        np.array([part]),
        np.array([full]),
    )


@jit
def _is_partner(held, slot, arrival):
    """Tell whether a held tuple and an arrival are a part of a result."""
    other = held.at[slot]["stream"] != held.at[arrival]["stream"]
    return other and held.key[slot, 0] == held.key[arrival, 0]


@jit
def clock_on_arrival(state, held, slot, now):
    for place in range(state.members.size[0]):
        one = state.members.slot[place]
        if _is_partner(held, one, slot):
            state.clock.weight[one] += state.part[0]


@jit
def clock_on_insert(state, held, slot, now):
    sets.add(state.members, slot)
    clock.on_insert(state.clock, held, slot, now)


@jit
def clock_on_match(state, held, slot, now):
    state.clock.weight[slot] += state.full[0]


@jit
def clock_on_remove(state, held, slot, now):
    discard_member(state, held, slot, now)
    unlink(state.clock, held, slot, now)


@jit
def clock_choose(state, held, newcomer, now):
    return clock.choose_victim(state.clock, held, newcomer, now)


SKETCHED_CLOCK = Policy(
    "sketched_clock",
    "CLOCK with other increments for parts of results than for results",
    make_clock,
    clock_choose,
    on_arrival=clock_on_arrival,
    on_insert=clock_on_insert,
    on_match=clock_on_match,
    on_remove=clock_on_remove,
    problems=(JOINING,),
)


class SharesState(NamedTuple):
    """A ladder of credits for each of two joins, and what stands on it in all."""

    first: ladders.Ladder
    second: ladders.Ladder
    join_of: np.ndarray  # int64[streams]
    credit: np.ndarray  # int64[2]: the sum of the credits of each join
    mine: np.ndarray  # int64[capacity]: the credit of a slot


def make_shares(setup: Setup, percentile: float = 0.1) -> SharesState:
    """Return empty buffers of two joins, none of whose streams is in both."""
    joins = setup.shape.joins
    assert len(joins) == 2, "two joins share the memory"
    join_of = np.full(setup.shape.streams, -1)
    for number, join in enumerate(joins):
        join_of[[stream for stream, _ in join]] = number
    assert sorted(join_of) == [0] * len(joins[0]) + [1] * len(joins[1]), "no stream in both"
    return SharesState(
        ladders.make_ladder(setup.capacity, percentile),
        ladders.make_ladder(setup.capacity, percentile),
        join_of,
        np.zeros(2, np.int64),
        zeros(setup.capacity, np.int64),
    )


@jit
def shares_on_insert(state, held, slot, now):
    join = state.join_of[held.at[slot]["stream"]]
    if join == 0:
        ladders.enter(state.first, slot)
        credit = state.first.value[state.first.rung[slot]]
    else:
        ladders.enter(state.second, slot)
        credit = state.second.value[state.second.rung[slot]]
    state.mine[slot] = credit
    state.credit[join] += credit


@jit
def shares_on_match(state, held, slot, now):
    join = state.join_of[held.at[slot]["stream"]]
    if join == 0:
        ladders.climb(state.first, slot)
    else:
        ladders.climb(state.second, slot)
    state.mine[slot] += 1
    state.credit[join] += 1


@jit
def shares_on_remove(state, held, slot, now):
    join = state.join_of[held.at[slot]["stream"]]
    if join == 0:
        ladders.leave(state.first, slot)
    else:
        ladders.leave(state.second, slot)
    state.credit[join] -= state.mine[slot]


@jit
def shares_choose(state, held, newcomer, now):
    """Evict from the join that is farthest above its share, the first of equals."""
    one, other = state.first.size[0], state.second.size[0]
    if one == 0 or other == 0:
        return ladders.lowest(state.second) if one == 0 else ladders.lowest(state.first)
    left, right = state.credit[0] / one, state.credit[1] / other
    share = left / (left + right) if left + right > 0 else 0.5
    # The shares of both add up to 1: one is above its own by as much as the other is below.
    if one >= share * (one + other):
        return ladders.lowest(state.first)
    return ladders.lowest(state.second)


SKETCHED_SHARES = Policy(
    "sketched_shares",
    "GDJ with memory for each of two joins by its average credit",
    make_shares,
    shares_choose,
    on_insert=shares_on_insert,
    on_match=shares_on_match,
    on_remove=shares_on_remove,
    problems=(JOINING,),
)
