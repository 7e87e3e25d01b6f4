"""RATE: who is least likely to be asked for next goes, by how often its key came at many scales.

A tuple is worth the chance that the next arrival on the other side has its key: a mixture of the
key's frequencies on all sides, at half-lives from a few arrivals to several budgets and for ever,
whose weights are learned from the arrivals themselves (`core/forecast.py`). So popularity that
lasts, bursts, and bursts that the sides share are told apart as they are found, and what was
learned about a key outlives its tuples, in a table of bounded size (`core/keyrates.py`).

With `half_life` it is one of its corners: a side is foretold by its own past at this scale alone,
and nothing is learned; inf is PROB, a small one follows the moment as LRU does. With `remains` a
tuple is worth that chance times what is left of its window, as LIFE has it.

Scores move with every arrival, so for an eviction some tuples are looked at (`core/suspects.py`).
"""

from typing import NamedTuple

import numpy as np

from ..core import forecast as forecasts
from ..core import suspects as sets
from ..core.forecast import Forecast
from ..core.jit import jit
from ..core.pages import full, zeros
from ..core.policy import CACHING, Policy, Setup, check_range
from ..core.suspects import Suspects, make_choose
from .admission import COMPETE, admits_always


class RateState(NamedTuple):
    """What is expected of each key, and the members to compare."""

    forecast: Forecast
    suspects: Suspects
    stream: np.ndarray  # int8[capacity]: of which stream a tuple is
    entry: np.ndarray  # int32[capacity, legs]: where the forecast has its keys, or -1
    newcomer: np.ndarray  # int32[1, legs]: the same of a tuple that is not held yet
    remains: np.ndarray  # bool[1]: what is left of the window counts too
    always: np.ndarray  # bool[1]: the newcomer is never refused


def make_state(
    setup: Setup, half_life: float | None = None, remains: bool = False, admit: str = COMPETE
) -> RateState:
    """Return an empty state; `half_life` is counted in arrivals of the other side."""
    if half_life is not None:
        check_range("rate", "half_life", half_life, 0.1)
    first = 1 if setup.problem == CACHING else 0  # rows that are fetched are no arrivals
    return RateState(
        forecasts.make_forecast(setup.shape, setup.scale, half_life, first),
        sets.make_suspects(setup.capacity),
        zeros(setup.capacity, np.int8),
        full((setup.capacity, setup.shape.legs), -1, np.int32),
        np.full((1, setup.shape.legs), -1, np.int32),
        np.array([remains]),
        admits_always("rate", admit),
    )


def reserve(state: RateState, arrivals: int) -> RateState:
    """Return the state with room for the keys of `arrivals` more tuples."""
    return state._replace(forecast=forecasts.reserve(state.forecast, arrivals))


@jit
def on_arrival(state, held, slot, now):
    forecasts.note(state.forecast, held, slot)


@jit
def on_insert(state, held, slot, now):
    sets.add(state.suspects, slot)
    state.stream[slot] = held.at[slot]["stream"]
    forecasts.look_up(state.forecast, held, slot, slot, state.entry)
    forecasts.hold(state.forecast, state.entry, slot, 1)


@jit
def on_match(state, held, slot, now):
    if state.entry[slot, 0] < 0:  # its key was not known when it came in; it may be now
        forecasts.hold(state.forecast, state.entry, slot, -1)
        forecasts.look_up(state.forecast, held, slot, slot, state.entry)
        forecasts.hold(state.forecast, state.entry, slot, 1)


@jit
def on_remove(state, held, slot, now):
    forecasts.hold(state.forecast, state.entry, slot, -1)
    sets.discard(state.suspects, slot)


@jit
def score(state, held, slot, now):
    # What is needed of a held tuple lies in small arrays: its record would be a cache miss more.
    if slot == len(held.at) - 1:
        forecasts.look_up(state.forecast, held, slot, 0, state.newcomer)
        stream = held.at[slot]["stream"]
        worth = forecasts.expected(state.forecast, held, slot, stream, state.newcomer, 0)
    else:
        stream = state.stream[slot]
        worth = forecasts.expected(state.forecast, held, slot, stream, state.entry, slot)
    if state.remains[0]:
        worth *= np.float64(held.at[slot]["deadline"]) - now + 1  # as integers FOREVER would wrap
    return worth


@jit
def announce(state, slot):
    forecasts.announce(state.forecast, state.entry, slot)


RATE = Policy(
    "rate",
    "the tuple least likely to be asked for next goes, by rates at many time scales",
    make_state,
    make_choose(score, announce),
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    on_arrival=on_arrival,
    reserve=reserve,
    tracked=lambda state: int(state.suspects.members.size[0]),
    cost=10,
)
