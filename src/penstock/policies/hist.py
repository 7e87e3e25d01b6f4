"""HIST, histogram HEEB: the benefit of a tuple is learned, by its distance from the other stream.

Of the streams only the form is known, not the parameters. The other stream has a position: of a
trend its current mean, of a walk its last value. Tuples at the same offset from it have the same
future, so a curve of the expected matches over the offset describes all tuples at all times. The
tuple with the lowest benefit at its current offset is evicted.

Source: Xie, Yang, Chen, "On joining and caching stochastic streams" (SIGMOD 2005), section 6.2.
Departures (docs/decisions/0008 has the reasons and the measurements):
- The curve is not learned from removed tuples, but from up to `watch` tuples a side that are
  watched, held or rejected; each gives several observations. They are the newcomers, and the values
  of the other stream, as if a tuple of this side had them.
- The paper's second histogram, of inverse lifetimes, is one number: a match counts by the chance
  to be still held when it comes, which falls by 1 / (1 + life) with each arrival of the other
  stream. `life` is the mean time a newcomer is held, the rejected included: tuples held divided by
  arrivals (Little's law). For caching only the first reference counts. So the curve is HEEB's H.
- An observation ends after `life` arrivals; what comes later is read off the curve as it is.
- The curve is a line between the centres of buckets, not a step at their edges, and a bucket with
  few observations does not fade.
- The position of a trend is a line fitted to the past, which fades: it does not lag behind.
- 20 buckets, where the paper has 10.

`form=auto` measures for each stream the one-step forecast errors of both forms: of a trend the
distance from the fitted line, of a walk the step from the last value. Their variance about their
mean, over the last hundred arrivals or so, decides: noise about a trend makes the steps vary twice
as much as the distances, while a walk leaves any line. The other form must be better by a fifth;
then what was learned about offsets from this stream is forgotten. It begins as a trend.

Windows are ignored: the benefit of a tuple does not depend on the time left.
"""

from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from ..kernel import histogram as histograms
from ..kernel import members as sets
from ..kernel import rng as rngs
from ..kernel.jit import jit
from ..kernel.members import make_choose
from ..kernel.policy import CACHING, Policy, Setup, check_choice, check_range
from .shared import COMPETE, WITH_MEMBERS, admits_always

TREND, WALK, AUTO = "trend", "walk", "auto"
RATES = 4096  # arrivals after which the count of the past is halved
LEAP = 16  # forecasts of a line through fewer points are not judged
JUDGED = 48  # forecasts before the form may change
RECENT = 0.01  # weight of the latest forecast error
BETTER = 0.8  # so much less must the errors of the other form vary
SHORTEST = 8  # arrivals that a tuple is watched at least
LAPS = 4  # lifetimes that it is watched, if that is more


WATCHED = np.dtype(
    [
        ("key", np.int64),
        ("since", np.int64),  # the time of its arrival
        ("offset", np.float64),  # where the current observation began
        ("worth", np.float64),  # matches in it, weighed
        ("weight", np.float64),  # what the next match counts, nearly
        ("steps", np.int64),  # arrivals of the other stream in it
        ("age", np.int64),  # and in all
    ]
)


class WatchedTuples(NamedTuple):
    """Watched tuples by their side; `at[side, : size[side]]` are in use."""

    at: np.ndarray  # WATCHED[2, watch]
    size: np.ndarray  # int64[2]


class Positions(NamedTuple):
    """The position of each stream, and how well either form predicts it."""

    last: np.ndarray  # float64[2]
    level: np.ndarray  # float64[2]: of the fitted line now
    slope: np.ndarray  # float64[2]: of the fitted line, per arrival
    seen: np.ndarray  # int64[2]
    walks: np.ndarray  # bool[2]: the form in force
    mean: np.ndarray  # float64[2, 2]: of forecast errors, by stream and form (1: walk)
    variance: np.ndarray  # float64[2, 2]


class HistState(NamedTuple):
    """What is learned, from which tuples, and the members to compare."""

    members: sets.Members
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]: the newcomer is never rejected
    caching: np.ndarray  # bool[1]
    together: np.ndarray  # bool[1]: tuples of the same time do not match
    auto: np.ndarray  # bool[1]: the form is found out
    smoothing: np.ndarray  # float64[1]
    arrived: np.ndarray  # int64[2]: of each stream lately
    positions: Positions
    watched: WatchedTuples
    worth: histograms.Histograms  # by side


def make_state(
    setup: Setup,
    form: str = AUTO,
    buckets: int = 20,
    every: int = 300,
    decay: float = 0.9,
    smoothing: float = 0.05,
    watch: int = 32,
    admit: str = COMPETE,
) -> HistState:
    """Return an empty state.

    A curve has `buckets` buckets; after `every` observations those with more than so many are
    multiplied by `decay` and one is split. `smoothing` is the weight of the latest value in the
    position of a trend. `watch` tuples a side are watched.
    """
    check_choice("hist", "form", form, (TREND, WALK, AUTO))
    check_range("hist", "buckets", buckets, 2, 1024)
    check_range("hist", "every", every, 1)
    check_range("hist", "decay", decay, 0, 1)
    check_range("hist", "smoothing", smoothing, 1e-6, 1)
    check_range("hist", "watch", watch, 1, 1024)
    if not setup.shape.is_plain:
        raise BadInput(
            f"policy 'hist' is defined for one join of two streams, got {setup.shape.joins}"
        )
    return HistState(
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        admits_always("hist", admit),
        np.array([setup.problem == CACHING]),
        np.array([setup.together]),
        np.array([form == AUTO]),
        np.array([smoothing], np.float64),
        np.zeros(2, np.int64),
        Positions(
            np.zeros(2),
            np.zeros(2),
            np.zeros(2),
            np.zeros(2, np.int64),
            np.full(2, form == WALK),
            np.zeros((2, 2)),
            np.zeros((2, 2)),
        ),
        WatchedTuples(np.zeros((2, watch), WATCHED), np.zeros(2, np.int64)),
        histograms.make_histograms(2, buckets, every, decay),
    )


# Positions of the streams


@jit
def _offset(state, side, key):
    """Return the distance of a key of `side` from the position of the other stream."""
    at = state.positions
    other = 1 - side
    return np.float64(key) - (at.last[other] if at.walks[other] else at.level[other])


@jit
def _judge(at, stream, form, error, weight):
    mean = at.mean[stream, form] + weight * (error - at.mean[stream, form])
    at.mean[stream, form] = mean
    apart = error - mean
    at.variance[stream, form] += weight * (apart * apart - at.variance[stream, form])


@jit
def _move(state, stream, value):
    """Move the position on: the gains are those of least squares until they are small enough."""
    at = state.positions
    at.seen[stream] += 1
    n = np.float64(at.seen[stream])
    if n == 1.0:
        at.level[stream] = at.last[stream] = value
        return
    predicted = at.level[stream] + at.slope[stream]
    error = value - predicted
    if n > LEAP:
        weight = max(1.0 / (n - LEAP), RECENT)
        _judge(at, stream, 0, error, weight)
        _judge(at, stream, 1, value - at.last[stream], weight)
    gain = state.smoothing[0]
    at.level[stream] = predicted + max(gain, (4.0 * n - 2.0) / (n * (n + 1.0))) * error
    at.slope[stream] += max(0.375 * gain * gain, 6.0 / (n * (n + 1.0))) * error
    at.last[stream] = value


@jit
def _choose_form(state, stream):
    at = state.positions
    now = np.int64(at.walks[stream])
    if at.variance[stream, 1 - now] < BETTER * at.variance[stream, now]:
        at.walks[stream] = not at.walks[stream]
        histograms.clear(state.worth, 1 - stream)
        state.watched.size[1 - stream] = 0


# Learning


@jit
def _life(state, stream):
    """Return for how many arrivals of `stream` a newcomer is held on average."""
    both = state.arrived[0] + state.arrived[1]
    return np.float64(state.members.size[0] * state.arrived[stream]) / np.float64(both)


@jit
def _teach(state, side, key, life, now):
    """Update the watched tuples of `side` with a key that arrived on the other."""
    watched = state.watched
    keep = life / (1.0 + life)
    lap = max(1, int(life))
    longest = max(SHORTEST, LAPS * lap)
    for i in range(watched.size[side] - 1, -1, -1):
        one = watched.at[side, i]
        place = _offset(state, side, one["key"])
        if state.together[0] and one["since"] == now:
            one["offset"] = place  # they do not match; its future begins only now
            continue
        one["weight"] *= keep
        one["steps"] += 1
        one["age"] += 1
        over = False
        if one["key"] == key:
            one["worth"] += one["weight"]
            over = state.caching[0]
        if not over and one["steps"] < lap:
            continue
        worth = one["worth"]
        if not over:
            worth += one["weight"] * histograms.at(state.worth, side, place)
        histograms.add(state.worth, side, one["offset"], worth)
        if one["age"] < longest:
            _begin(one, place)
        else:  # the last one fills the gap
            watched.size[side] -= 1
            watched.at[side, i] = watched.at[side, watched.size[side]]


@jit
def _begin(one, offset):
    """Begin an observation."""
    one["offset"] = offset
    one["worth"] = 0.0
    one["weight"] = 1.0
    one["steps"] = 0


@jit
def _watch(state, side, key, now):
    """Watch a newcomer, if there is room and the other stream has a position."""
    watched = state.watched
    size = watched.size[side]
    if size == watched.at.shape[1] or state.positions.seen[1 - side] == 0:
        return
    one = watched.at[side, size]
    one["key"] = key
    one["since"] = now
    one["age"] = 0
    _begin(one, _offset(state, side, key))
    watched.size[side] = size + 1


@jit
def on_arrival(state, held, slot, now):
    stream, key = np.int64(held.at[slot]["stream"]), held.key[slot, 0]
    state.arrived[stream] += 1
    _move(state, stream, np.float64(key))
    if state.auto[0] and state.positions.seen[stream] >= LEAP + JUDGED:
        _choose_form(state, stream)
    _teach(state, 1 - stream, key, _life(state, stream), now)
    if not state.caching[0]:
        _watch(state, stream, key, now)
    _watch(state, 1 - stream, key, now)
    if state.arrived[0] + state.arrived[1] >= RATES:
        state.arrived[0] //= 2
        state.arrived[1] //= 2


@jit
def score(state, held, slot, now):
    side = np.int64(held.at[slot]["stream"])
    return histograms.at(state.worth, side, _offset(state, side, held.key[slot, 0]))


choose_victim = make_choose(score)


HIST = Policy(
    "hist",
    "evicts the tuple whose offset from the other stream has had the fewest matches",
    make_state,
    choose_victim,
    **WITH_MEMBERS,
    on_arrival=on_arrival,
    plain=True,
    ordered=True,
)
