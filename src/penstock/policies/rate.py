"""RATE: the tuple least likely to match next is evicted, by rates of its key at many time scales.

The score of a tuple is the chance that the next arrival on the other side has its key: a mixture of
the key's frequencies on all sides, at half-lives from a few arrivals to several budgets and
infinite, whose weights are learned from the arrivals themselves (`kernel/forecast.py`). So lasting
popularity, bursts, and bursts that the sides share are distinguished, and what was learned about a
key is kept after its tuples are removed, in a table of bounded size (`kernel/keyrates.py`).

With `half_life` it is a special case: a side is predicted by its own past at this scale alone, and
no weights are learned; inf is PROB, a small one is close to LRU. With `remains` the score is that
chance times what is left of the window, as in LIFE.

Scores change with every arrival, so for an eviction some tuples are compared
(`kernel/shortlist.py`).
"""

from typing import NamedTuple

import numpy as np

from ..kernel import forecast as forecasts
from ..kernel import shortlist as lists
from ..kernel.jit import jit
from ..kernel.pages import full, zeros
from ..kernel.policy import CACHING, JOINING, Policy, Setup, Trial, check_range
from ..kernel.shortlist import Shortlist, make_choose
from .shared import COMPETE, admits_always


class RateState(NamedTuple):
    """The forecast of each key, and the members to compare."""

    forecast: forecasts.Forecast
    shortlist: Shortlist
    stream: np.ndarray  # int8[capacity]: the stream of a tuple
    entry: np.ndarray  # int32[capacity, legs]: the entries of its keys in the forecast, or -1
    newcomer: np.ndarray  # int32[1, legs]: the same of a tuple that is not held yet
    remains: np.ndarray  # bool[1]: what is left of the window counts too
    always: np.ndarray  # bool[1]: the newcomer is never rejected


def make_state(
    setup: Setup, half_life: float | None = None, remains: bool = False, admit: str = COMPETE
) -> RateState:
    """Return an empty state; `half_life` is counted in arrivals of the other side."""
    if half_life is not None:
        check_range("rate", "half_life", half_life, 0.1)
    first = 1 if setup.problem == CACHING else 0  # rows that are fetched are not arrivals
    return RateState(
        forecasts.make_forecast(setup.shape, setup.scale, half_life, first),
        lists.make_shortlist(setup.capacity),
        zeros(setup.capacity, np.int8),
        full((setup.capacity, setup.shape.legs), -1, np.int32),
        np.full((1, setup.shape.legs), -1, np.int32),
        np.array([remains]),
        admits_always("rate", admit),
    )


def reserve(state: RateState, arrivals: int) -> RateState:
    """Return the state with room for the keys of `arrivals` more tuples."""
    forecast = forecasts.reserve(state.forecast, arrivals)
    return state if forecast is state.forecast else state._replace(forecast=forecast)


@jit
def on_arrival(state, held, slot, now):
    forecasts.note(state.forecast, held, slot)


@jit
def on_insert(state, held, slot, now):
    lists.add(state.shortlist, slot)
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
    lists.discard(state.shortlist, slot)


@jit
def score(state, held, slot, now):
    # What is needed of a held tuple is in small arrays: its record would be one more cache miss.
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
    "evicts the tuple least likely to match next, by rates at many time scales",
    make_state,
    make_choose(score, announce),
    on_insert=on_insert,
    on_match=on_match,
    on_remove=on_remove,
    on_arrival=on_arrival,
    reserve=reserve,
    cost=10,
    auto={JOINING: Trial(0)},
    advise={JOINING: Trial(12), CACHING: Trial(9)},
)
