"""ELBA: LBA, with the expectation worked out for each tuple at each eviction.

What came at lag k is expected to be repeated i steps from now with a_{k-1+i}, and from then on to
go on repeating itself; the sum runs over the T steps ahead. With one T for all that is the number
which LBA reads off its table, so both choose alike, and LBA is a hundred times as fast. With
`remaining=yes` the sum ends where the window of a tuple does, which no table can know.

Source: section 4.1 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference
Locality in Data Stream Applications" (ICDE 2006); see also `lba.py`.
"""

from typing import NamedTuple

import numpy as np

from ..core import members as sets
from ..core import rng as rngs
from ..core.jit import jit
from ..core.least import expires_sooner, make_choose
from ..core.members import Members
from ..core.policy import JOINING, Policy, Setup
from ..core.recent import earlier, is_of, lag_of, latest
from ..core.slots import FOREVER
from .admission import COMPETE, admits_always
from .foresight import (
    HORIZON,
    Foresight,
    arrivals_until,
    make_foresight,
    make_worth,
    note,
    refit,
    units,
)


class ElbaState(NamedTuple):
    """What is expected, how often things repeat themselves, and who is held."""

    sight: Foresight
    times: (
        np.ndarray
    )  # float64[lines, steps + 1]: how often something repeats itself within i steps
    until: np.ndarray  # float64[lines, steps + 1]: the sum of the times below i
    remaining: np.ndarray  # bool[1]: only what is left of its window counts for a tuple
    members: Members
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]: the newcomer is never refused


def make_state(
    setup: Setup,
    h: int = HORIZON,
    steps: int | None = None,
    remaining: bool = False,
    admit: str = COMPETE,
) -> ElbaState:
    """Return an empty state.

    `h` is how many arrivals the model looks back on, `steps` for how many it looks ahead: T.
    """
    from ..profile.locality import FAR

    sight = make_foresight(setup, "elba", h, steps)
    near = min(int(sight.steps[0]), FAR)
    state = ElbaState(
        sight,
        np.zeros((len(sight.afresh), near + 1)),
        np.zeros((len(sight.afresh), near + 1)),
        np.array([remaining]),
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        admits_always("elba", admit),
    )
    _unfold(state)
    return state


def refresh(state: ElbaState) -> ElbaState:
    """Learn the model anew."""
    refit(state.sight)
    _unfold(state)
    return state


def _unfold(state: ElbaState) -> None:
    """Work out how often something repeats itself within each number of steps."""
    from ..profile.locality import Weights, repeats

    sight = state.sight
    for line in range(len(sight.afresh)):
        weights = Weights(sight.repeat[line], float(sight.afresh[line]))
        state.times[line] = repeats(weights, state.times.shape[1] - 1)
        state.until[line, 1:] = np.cumsum(state.times[line, :-1])


@jit
def _steps(state, line, deadline, now):
    """Return how far to look ahead for a tuple."""
    steps = state.sight.steps[0]
    if not state.remaining[0] or deadline == FOREVER:
        return steps
    left = arrivals_until(state.sight, line, deadline, now)
    return steps if left >= steps else np.int64(left)


@jit
def _repeated(state, line, lag, near):
    """Return how often what came at this lag is expected within so many steps."""
    a = state.sight.repeat
    total = 0.0
    for ahead in range(1, min(near, a.shape[1] - lag + 1) + 1):
        total += a[line, lag + ahead - 2] * state.times[line, near - ahead]
    return total


@jit
def _ahead(state, line, key, seen, deadline, now):
    """Return how much is expected of a key, and whether it came lately."""
    sight = state.sight
    steps = _steps(state, line, deadline, now)
    near = min(steps, state.times.shape[1] - 1)
    total = 0.0
    number = latest(sight.recent, line, key)
    while number > 0 and lag_of(sight.recent, line, number) <= sight.reach[line]:
        if is_of(sight.recent, line, number, key):
            total += _repeated(state, line, lag_of(sight.recent, line, number), near)
        number = earlier(sight.recent, line, number)
    afresh = state.until[line, near] + (steps - near) * state.times[line, near]
    popular = sight.afresh[line] * afresh / sight.known[line] * seen
    return popular + units(sight, line) * total, total > 0


_worth = make_worth(_ahead)


@jit
def score(state, held, slot, now):
    return _worth(state, held, slot, now)[0]


choose_victim = make_choose(score, goes_first=expires_sooner)


@jit
def on_arrival(state, held, slot, now):
    note(state.sight, held, slot, now)


@jit
def on_insert(state, held, slot, now):
    sets.add(state.members, slot)


@jit
def on_remove(state, held, slot, now):
    sets.discard(state.members, slot)


ELBA = Policy(
    "elba",
    "lba worked out anew for each tuple: slow, but it can heed what is left of a window",
    make_state,
    choose_victim,
    on_insert=on_insert,
    on_remove=on_remove,
    on_arrival=on_arrival,
    problems=(JOINING,),
    pause=lambda state: int(state.sight.wait[0]),
    refresh=refresh,
    tracked=lambda state: int(state.members.size[0]),
)
