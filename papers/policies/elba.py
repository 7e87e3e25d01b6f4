"""ELBA: LBA's expectation, computed for each tuple at each eviction.

What came at lag k is expected to be repeated i steps from now with a_{k-1+i}, and from then on to
go on repeating itself; the sum runs over the T steps ahead. With one T for all that is the number
which LBA reads from its table, so both choose alike, and LBA is a hundred times as fast. With
`remaining=yes` the sum ends where the window of a tuple does, which no table can know.

Source: section 4.1 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference
Locality in Data Stream Applications" (ICDE 2006). Departures: those of `penstock.policies.lba`.
"""

from typing import NamedTuple

import numpy as np

from penstock.kernel import members as sets
from penstock.kernel import rng as rngs
from penstock.kernel.history import earlier, is_of, lag_of, latest
from penstock.kernel.jit import jit
from penstock.kernel.members import expires_sooner, make_choose
from penstock.kernel.policy import JOINING, Policy, Setup
from penstock.kernel.slots import FOREVER
from penstock.policies.lba import HORIZON, Locality, make_locality, make_worth, note, refit, units
from penstock.policies.shared import COMPETE, WITH_MEMBERS, admits_always


class ElbaState(NamedTuple):
    """The model, how often keys repeat themselves, and the held slots."""

    locality: Locality
    times: np.ndarray  # float64[lines, steps + 1]: how often a key repeats itself within i steps
    until: np.ndarray  # float64[lines, steps + 1]: the sum of the times below i
    remaining: np.ndarray  # bool[1]: only what is left of the window of a tuple counts
    members: sets.Members
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]: the newcomer is never rejected


def make_state(
    setup: Setup,
    h: int = HORIZON,
    steps: int | None = None,
    remaining: bool = False,
    admit: str = COMPETE,
) -> ElbaState:
    """Return an empty state.

    `h` is how many arrivals back the model looks, `steps` how many ahead: T.
    """
    from penstock.profile.locality import FAR

    locality = make_locality(setup, "elba", h, steps)
    near = min(int(locality.steps[0]), FAR)
    state = ElbaState(
        locality,
        np.zeros((len(locality.afresh), near + 1)),
        np.zeros((len(locality.afresh), near + 1)),
        np.array([remaining]),
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        admits_always("elba", admit),
    )
    _unfold(state)
    return state


def refresh(state: ElbaState) -> ElbaState:
    """Learn the model again."""
    refit(state.locality)
    _unfold(state)
    return state


def _unfold(state: ElbaState) -> None:
    """Compute how often a key repeats itself within each number of steps."""
    from penstock.profile.locality import Weights, repeats

    locality = state.locality
    for line in range(len(locality.afresh)):
        weights = Weights(locality.repeat[line], float(locality.afresh[line]))
        state.times[line] = repeats(weights, state.times.shape[1] - 1)
        state.until[line, 1:] = np.cumsum(state.times[line, :-1])


@jit
def arrivals_until(locality, line, deadline, now):
    """Return how many arrivals of a line are expected before a deadline."""
    spent = max(1.0, np.float64(now - locality.began[0] + 1))
    return np.float64(deadline - now) * locality.recent.history.arrived[line] / spent


@jit
def _steps(state, line, deadline, now):
    """Return how far to look ahead for a tuple."""
    steps = state.locality.steps[0]
    if not state.remaining[0] or deadline == FOREVER:
        return steps
    left = arrivals_until(state.locality, line, deadline, now)
    return steps if left >= steps else np.int64(left)


@jit
def _repeated(state, line, lag, near):
    """Return how often what came at this lag is expected within so many steps."""
    a = state.locality.repeat
    total = 0.0
    for ahead in range(1, min(near, a.shape[1] - lag + 1) + 1):
        total += a[line, lag + ahead - 2] * state.times[line, near - ahead]
    return total


@jit
def _ahead(state, line, key, seen, deadline, now):
    """Return how much is expected of a key, and whether it came lately."""
    locality = state.locality
    steps = _steps(state, line, deadline, now)
    near = min(steps, state.times.shape[1] - 1)
    total = 0.0
    number = latest(locality.recent, line, key)
    while number > 0 and lag_of(locality.recent, line, number) <= locality.reach[line]:
        if is_of(locality.recent, line, number, key):
            total += _repeated(state, line, lag_of(locality.recent, line, number), near)
        number = earlier(locality.recent, line, number)
    afresh = state.until[line, near] + (steps - near) * state.times[line, near]
    popular = locality.afresh[line] * afresh / locality.known[line] * seen
    return popular + units(locality, line) * total, total > 0


_worth = make_worth(_ahead)


@jit
def score(state, held, slot, now):
    return _worth(state, held, slot, now)[0]


choose_victim = make_choose(score, goes_first=expires_sooner)


@jit
def on_arrival(state, held, slot, now):
    note(state.locality, held, slot, now)


ELBA = Policy(
    "elba",
    "lba computed for each tuple: slow, but it can respect what is left of a window",
    make_state,
    choose_victim,
    **WITH_MEMBERS,
    on_arrival=on_arrival,
    problems=(JOINING,),
    pause=lambda state: int(state.locality.wait[0]),
    refresh=refresh,
)
