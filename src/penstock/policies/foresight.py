"""What LBA and ELBA know: a locality model of every side of every join, learned as it goes.

    U(e) = sum over the lags at which e came lately of c_lag  +  c_b P(e)

is how often a key is expected among the next T arrivals of a side. P is how often it came so far,
of all that came. The repetition weights are fitted to the last arrivals, by likelihood: first after
a warm-up, in which popularity is all there is to go by, then again and again.

Worths are counted in units that grow with the stream: U times the arrivals since the last fit. So
what depends on popularity alone changes only when a key is counted, and can stay in a heap.

T is how long a tuple may hope to be held if all are let in: half of a side's share of the memory.
The paper takes the window, which in a small memory nobody reaches.
"""

from typing import NamedTuple

import numpy as np

from ..core import keycounts, recent
from ..core.gains import gain
from ..core.history import recent as last_values
from ..core.jit import jit
from ..core.keycounts import KeyCounts
from ..core.policy import Setup, check_range
from ..core.recent import ROOM, Recent, make_recent
from ..core.slots import FOREVER

HORIZON = 200  # lags; the longer of them matter little each and much in sum
WARM_UP = 2048  # arrivals on all sides before the first fit
SELDOM = 131_072  # at least so often it is fitted again
PER_LAG = 8  # arrivals wanted for each lag
NOISE = 1e-4  # a smaller weight says nothing
ALONE = 0.95  # a larger b is what independent draws give: then popularity is all there is


class Foresight(NamedTuple):
    """One row per line; a line is one side of one join."""

    counts: KeyCounts
    recent: Recent
    repeat: np.ndarray  # float64[lines, h]: a_1 .. a_h
    afresh: np.ndarray  # float64[lines]: b
    reach: np.ndarray  # int64[lines]: the last lag with a weight; 0: popularity is all there is
    gain: np.ndarray  # float64[lines, h]: c_1 .. c_h
    fresh: np.ndarray  # float64[lines]: c_b over the arrivals at the last fit
    known: np.ndarray  # int64[lines]: the arrivals at the last fit
    steps: np.ndarray  # int64[1]: T
    wait: np.ndarray  # int64[1]: arrivals to the next fit
    given: np.ndarray  # bool[1]: the weights were known beforehand and are not fitted
    began: np.ndarray  # int64[1]: the time of the first arrival


def make_foresight(setup: Setup, policy: str, h: int, steps: int | None) -> Foresight:
    """Return what is known beforehand: nothing, or the weights in `setup.models`."""
    check_range(policy, "h", h, 1, ROOM // PER_LAG)
    if steps is not None:
        check_range(policy, "steps", steps, 1)
    shape = setup.shape
    lines = len(shape.joins) * shape.sides
    weights = _given(setup)
    sight = Foresight(
        keycounts.make_counts(shape, setup.scale),
        make_recent(lines, _room(setup.scale, h)),
        np.zeros((lines, h)),
        np.ones(lines),
        np.zeros(lines, np.int64),
        np.zeros((lines, h)),
        np.ones(lines),
        np.ones(lines, np.int64),
        np.array([steps or max(1, setup.scale // (2 * shape.streams))]),
        np.array([WARM_UP]),
        np.array([weights is not None]),
        np.full(1, FOREVER),
    )
    if weights is not None:
        for line, (a, b) in enumerate(weights):
            reach = min(h, len(a))
            sight.repeat[line, :reach], sight.afresh[line] = a[:reach], b + a[reach:].sum()
        _look_ahead(sight)
    return sight


def _room(scale: int, h: int) -> int:
    """Return how many arrivals to keep of a line: as many as h asks for, more for more rows.

    >>> _room(10, 200), _room(1000, 200), _room(10, 1024)
    (2048, 8192, 8192)
    """
    wanted = max(PER_LAG * h, min(8 * scale, ROOM))
    return 1 << (wanted - 1).bit_length()


def _given(setup: Setup) -> "list[tuple[np.ndarray, float]] | None":
    """Return a and b of every line, if the models given for the streams are of this kind."""
    from ..profile.locality import Weights

    if setup.models is None or not all(isinstance(each, Weights) for each in setup.models):
        return None
    none = (np.zeros(0), 1.0)
    found = [none] * (len(setup.shape.joins) * setup.shape.sides)
    for number, join in enumerate(setup.shape.joins):
        for side, (stream, _) in enumerate(join):
            found[number * setup.shape.sides + side] = setup.models[stream]
    return found


def refit(sight: Foresight) -> None:
    """Learn the weights anew from what came lately."""
    arrived = sight.recent.history.arrived
    for line in range(len(arrived)):
        if not sight.given[0]:
            _fit(sight, line)
        sight.known[line] = max(1, arrived[line])
    _look_ahead(sight)
    sight.fresh[:] /= sight.known
    sight.wait[0] = max(WARM_UP, min(int(arrived.sum()), SELDOM))


def _fit(sight: Foresight, line: int) -> None:
    from ..profile.locality_fit import fit_likelihood

    sight.repeat[line], sight.afresh[line] = 0, 1
    came = last_values(sight.recent.history, line)
    h = min(sight.repeat.shape[1], len(came) // PER_LAG)
    if h > 0:
        a = fit_likelihood(np.unique(came, return_inverse=True)[1], h).a
        a[a < NOISE] = 0
        if a.sum() > 1 - ALONE:
            sight.repeat[line, :h], sight.afresh[line] = a, 1 - a.sum()


def _look_ahead(sight: Foresight) -> None:
    """Work the sums of columns out."""
    from ..profile.locality import Weights, expected

    for line in range(len(sight.afresh)):
        weights = Weights(sight.repeat[line], float(sight.afresh[line]))
        sight.gain[line], sight.fresh[line] = expected(weights, int(sight.steps[0]))
        sight.reach[line] = np.max(np.flatnonzero(weights.a), initial=-1) + 1


@jit
def note(sight, held, slot, now):
    """Take note of an arrival on all of its legs."""
    sight.began[0] = min(sight.began[0], now)
    counts = sight.counts
    keycounts.tally(counts, held, slot)
    stream, sides = held.at[slot]["stream"], counts.cell.shape[2] - keycounts.SEEN
    for leg in range(counts.legs.shape[1]):
        join, side = counts.legs[stream, leg, 0], counts.legs[stream, leg, 1]
        if join < 0:
            break
        key = held.key[slot, counts.legs[stream, leg, 2]]
        recent.note(sight.recent, join * sides + side, key)
    sight.wait[0] -= 1


@jit
def arrivals_until(sight, line, deadline, now):
    """Return how many arrivals of a line are expected before a deadline."""
    spent = max(1.0, np.float64(now - sight.began[0] + 1))
    return np.float64(deadline - now) * sight.recent.history.arrived[line] / spent


@jit
def units(sight, line):
    """Return how many units one expected arrival is worth."""
    return sight.recent.history.arrived[line] / sight.known[line]


def make_worth(ahead):
    """Return `worth(state, held, slot, now) -> (worth, whether it is hot)`.

    A tuple is hot if its key came lately where it is awaited: then its worth moves with time.
    `ahead(state, line, key, seen, deadline, now)` returns both for one line, where the key was seen
    so often. One factor for each other side of a join, one summand for each join, weighed by the
    goal (`core/gains.py`).
    """

    @jit
    def worth(state, held, slot, now):
        counts = state.sight.counts
        stream, deadline = held.at[slot]["stream"], held.at[slot]["deadline"]
        sides = counts.cell.shape[2] - keycounts.SEEN
        total, hot = 0.0, False
        for leg in range(counts.legs.shape[1]):
            join, side = counts.legs[stream, leg, 0], counts.legs[stream, leg, 1]
            if join < 0:
                break
            key = held.key[slot, counts.legs[stream, leg, 2]]
            product = gain(held, slot, leg)
            for other in range(counts.width[join]):
                if other != side:
                    seen = keycounts.seen(counts, join, other, key)
                    factor, lately = ahead(state, join * sides + other, key, seen, deadline, now)
                    product *= factor
                    hot |= lately
            total += product
        return total, hot

    return worth
