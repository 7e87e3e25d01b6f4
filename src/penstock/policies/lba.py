"""LBA and ELBA: the tuple whose key is expected least often on the other side is evicted.

A key that came a moment ago comes again sooner than its popularity says. A locality model of every
side of every join, learned while it runs, says how much sooner:

    U(e) = sum over the recent lags of e of c_lag  +  c_b P(e)

is how often a key e is expected among the next T arrivals of a side. P is its share of all arrivals
so far. The repetition weights are fitted to the last arrivals, by likelihood: first after a
warm-up, during which popularity alone counts, then again and again. Without short-term correlations
LBA is PROB.

Expectations are counted in units that grow with the stream: U times the arrivals since the last
fit. So what depends on popularity alone changes only when a key is counted, and can stay in a heap.

LBA: most held tuples have not come lately on the other side: their worth is their popularity and is
kept in a heap. A key that came lately is *hot*: its worth changes with every arrival, so it is kept
apart and looked at again: all of them in a small memory, in a larger one a few at a time, in turns.

ELBA computes the expectation for each tuple at each eviction. What came at lag k is expected to be
repeated i steps from now with a_{k-1+i}, and from then on to go on repeating itself; the sum runs
over the T steps ahead. With one T for all that is the number which LBA reads from its table, so
both choose alike, and LBA is a hundred times as fast. With `remaining=yes` the sum ends where the
window of a tuple does, which no table can know.

Source: algorithm 1 and section 4.1 of Li, Chang, Kollios and Bestavros, "Characterizing and
Exploiting Reference Locality in Data Stream Applications" (ICDE 2006). At equal worth the tuple
that expires first is evicted.
Departures: T is how long a tuple may be held if all are admitted, half of a side's share of the
memory; the paper takes the window, which no tuple reaches in a small memory. The newcomer competes;
P and the weights are learned continuously; in a join of three sides or more a tuple is looked at
again when it matches, not when only one of its partners comes.
"""

from typing import NamedTuple

import numpy as np

from ..kernel import heap as heaps
from ..kernel import keycounts
from ..kernel import members as sets
from ..kernel import recent as histories
from ..kernel import rng as rngs
from ..kernel.gains import gain
from ..kernel.heap import ABSENT, Heap
from ..kernel.jit import jit
from ..kernel.members import SCAN, expires_sooner, make_choose
from ..kernel.policy import JOINING, REJECT, Policy, Setup, Trial, check_range
from ..kernel.slots import FOREVER
from .shared import COMPETE, WITH_MEMBERS, admits_always

HORIZON = 200  # lags; the longer of them matter little each and much in sum
WARM_UP = 2048  # arrivals on all sides before the first fit
SELDOM = 131_072  # at least so often it is fitted again
PER_LAG = 8  # arrivals wanted for each lag
NOISE = 1e-4  # a smaller weight says nothing
ALONE = 0.95  # a larger b is what independent draws give: then popularity alone counts
# Hot tuples looked at for each eviction, where not all of them are; one more for each that became
# hot since the last.
TURN = 8


class LocalityState(NamedTuple):
    """One row per line; a line is one side of one join."""

    counts: keycounts.KeyCounts
    recent: histories.Recent
    repeat: np.ndarray  # float64[lines, h]: a_1 .. a_h
    afresh: np.ndarray  # float64[lines]: b
    reach: np.ndarray  # int64[lines]: the last lag with a weight; 0: popularity alone counts
    gain: np.ndarray  # float64[lines, h]: c_1 .. c_h
    fresh: np.ndarray  # float64[lines]: c_b over the arrivals at the last fit
    known: np.ndarray  # int64[lines]: the arrivals at the last fit
    steps: np.ndarray  # int64[1]: T
    wait: np.ndarray  # int64[1]: arrivals to the next fit
    given: np.ndarray  # bool[1]: the weights were known beforehand and are not fitted
    began: np.ndarray  # int64[1]: the time of the first arrival


def make_locality(setup: Setup, policy: str, h: int, steps: int | None) -> LocalityState:
    """Return an empty model, or one with the weights in `setup.models`."""
    check_range(policy, "h", h, 1, histories.ROOM_TO_SEARCH // PER_LAG)
    if steps is not None:
        check_range(policy, "steps", steps, 1)
    shape = setup.shape
    lines = len(shape.joins) * shape.sides
    weights = _given(setup)
    locality = LocalityState(
        keycounts.make_counts(shape, setup.scale),
        histories.make_recent(lines, _room(setup.scale, h)),
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
            locality.repeat[line, :reach], locality.afresh[line] = a[:reach], b + a[reach:].sum()
        _look_ahead(locality)
    return locality


def _room(scale: int, h: int) -> int:
    """Return how many arrivals to keep of a line: as many as h asks for, more for more rows.

    >>> _room(10, 200), _room(1000, 200), _room(10, 1024)
    (2048, 8192, 8192)
    """
    wanted = max(PER_LAG * h, min(8 * scale, histories.ROOM_TO_SEARCH))
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


def refit(locality: LocalityState) -> None:
    """Learn the weights again from the last arrivals."""
    arrived = locality.recent.history.arrived
    for line in range(len(arrived)):
        if not locality.given[0]:
            _fit(locality, line)
        locality.known[line] = max(1, arrived[line])
    _look_ahead(locality)
    locality.fresh[:] /= locality.known
    locality.wait[0] = max(WARM_UP, min(int(arrived.sum()), SELDOM))


def _fit(locality: LocalityState, line: int) -> None:
    from ..profile.locality import fit_likelihood

    locality.repeat[line], locality.afresh[line] = 0, 1
    came = histories.recent(locality.recent.history, line)
    h = min(locality.repeat.shape[1], len(came) // PER_LAG)
    if h > 0:
        a = fit_likelihood(np.unique(came, return_inverse=True)[1], h).a
        a[a < NOISE] = 0
        if a.sum() > 1 - ALONE:
            locality.repeat[line, :h], locality.afresh[line] = a, 1 - a.sum()


def _look_ahead(locality: LocalityState) -> None:
    """Compute the sums of columns."""
    from ..profile.locality import Weights, expected

    for line in range(len(locality.afresh)):
        weights = Weights(locality.repeat[line], float(locality.afresh[line]))
        locality.gain[line], locality.fresh[line] = expected(weights, int(locality.steps[0]))
        locality.reach[line] = np.max(np.flatnonzero(weights.a), initial=-1) + 1


@jit
def note(locality, held, slot, now):
    """Record an arrival on all of its legs."""
    locality.began[0] = min(locality.began[0], now)
    counts = locality.counts
    keycounts.tally(counts, held, slot)
    stream, sides = held.at[slot]["stream"], counts.cell.shape[2] - keycounts.SEEN
    for leg in range(counts.legs.shape[1]):
        join, side = counts.legs[stream, leg, 0], counts.legs[stream, leg, 1]
        if join < 0:
            break
        key = held.key[slot, counts.legs[stream, leg, 2]]
        histories.note_arrival(locality.recent, join * sides + side, key)
    locality.wait[0] -= 1


@jit
def arrivals_until(locality, line, deadline, now):
    """Return how many arrivals of a line are expected before a deadline."""
    spent = max(1.0, np.float64(now - locality.began[0] + 1))
    return np.float64(deadline - now) * locality.recent.history.arrived[line] / spent


@jit
def units(locality, line):
    """Return how many units one expected arrival is worth."""
    return locality.recent.history.arrived[line] / locality.known[line]


def make_worth(ahead):
    """Return `worth(state, held, slot, now) -> (worth, whether it is hot)`.

    A tuple is hot if its key came lately on the other side: then its worth changes with time.
    `ahead(state, line, key, seen, deadline, now)` returns both for one line, where the key was seen
    `seen` times. One factor for each other side of a join, one summand for each join, weighed by
    the goal (`kernel/gains.py`).
    """

    @jit
    def worth(state, held, slot, now):
        counts = state.locality.counts
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


# ------------------------------------------------------------ LBA


class LbaState(NamedTuple):
    """The model, and the held slots: by popularity, or among the hot."""

    locality: LocalityState
    cold: Heap
    hot: sets.Members
    turn: np.ndarray  # int64[1]: the place of the hot tuple that was looked at last
    fresh: np.ndarray  # int64[1]: how many became hot since the last eviction
    stale: np.ndarray  # bool[1]: the model has changed since the heap was filled
    always: np.ndarray  # bool[1]: the newcomer is never rejected


def make_lba_state(
    setup: Setup, h: int = HORIZON, steps: int | None = None, admit: str = COMPETE
) -> LbaState:
    """Return an empty state.

    `h` is how many arrivals back the model looks, `steps` how many ahead: T.
    """
    return LbaState(
        make_locality(setup, "lba", h, steps),
        heaps.make_heap(setup.capacity),
        sets.make_members(setup.capacity),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.bool_),
        admits_always("lba", admit),
    )


def refresh_lba(state: LbaState) -> LbaState:
    """Learn the model again."""
    refit(state.locality)
    state.stale[0] = True
    return state


@jit
def _ahead_lba(state, line, key, seen, deadline, now):
    """Return how much is expected of a key, by lemma 3, and whether it came lately."""
    locality = state.locality
    lately, hot = histories.weigh(locality.recent, line, key, locality.gain, locality.reach)
    return locality.fresh[line] * seen + units(locality, line) * lately, hot


worth_lba = make_worth(_ahead_lba)


@jit
def _start_over(state):
    """Treat every tuple as hot: under another model worths differ, and which are hot."""
    state.stale[0] = False
    heap = state.cold
    for place in range(heap.size[0]):
        slot = heap.node[place]["slot"]
        heap.place[slot] = ABSENT
        sets.add(state.hot, slot)
    heap.size[0] = 0


@jit
def record_lba(state, held, slot, now):
    if state.stale[0]:
        _start_over(state)
    note(state.locality, held, slot, now)


@jit
def insert_lba(state, held, slot, now):
    # Hot or not: if not, the next look at it says so.
    sets.add(state.hot, slot)
    state.fresh[0] += 1


@jit
def match_lba(state, held, slot, now):
    if state.cold.place[slot] != ABSENT:
        heaps.drop(state.cold, slot)
        sets.add(state.hot, slot)
        state.fresh[0] += 1


@jit
def remove_lba(state, held, slot, now):
    if state.cold.place[slot] != ABSENT:
        heaps.drop(state.cold, slot)
    else:
        sets.discard(state.hot, slot)


@jit
def choose_lba(state, held, newcomer, now):
    cold, hot = state.cold, state.hot
    best, lowest = np.int64(-1), np.inf
    if cold.size[0] > 0:
        best, lowest = heaps.lowest(cold), cold.node[0]["score"]
    scans = cold.size[0] + hot.size[0] <= SCAN
    place = hot.size[0] if scans else min(state.turn[0], hot.size[0])
    looks = min(hot.size[0], SCAN if scans else TURN + state.fresh[0])
    for look in range(1 if state.always[0] else 0, 1 + looks):
        slot = newcomer
        if look > 0:
            # Downwards: a tuple that is moved to the heap is replaced by one looked at already.
            place = (place if place > 0 else hot.size[0]) - 1
            slot = np.int64(hot.slot[place])
        total, is_hot = worth_lba(state, held, slot, now)
        if look > 0 and not is_hot:
            sets.discard(hot, slot)
            heaps.push(cold, slot, total, held.at[slot]["born"], held.at[slot]["deadline"])
        if (
            best < 0
            or total < lowest
            or (total == lowest and expires_sooner(held, slot, best, newcomer))
        ):
            best, lowest = slot, total
    state.turn[0], state.fresh[0] = place, 0
    return REJECT if best == newcomer else best


LBA = Policy(
    "lba",
    "evicts the tuple expected least often, by popularity and by what came lately",
    make_lba_state,
    choose_lba,
    on_insert=insert_lba,
    on_match=match_lba,
    on_gain=match_lba,
    on_remove=remove_lba,
    on_arrival=record_lba,
    problems=(JOINING,),
    pause=lambda state: int(state.locality.wait[0]),
    refresh=refresh_lba,
    cost=20,
    auto={JOINING: Trial(3)},
    advise={JOINING: Trial(11)},
)


# ------------------------------------------------------------ ELBA


class ElbaState(NamedTuple):
    """The model, how often keys repeat themselves, and the held slots."""

    locality: LocalityState
    times: np.ndarray  # float64[lines, steps + 1]: how often a key repeats itself within i steps
    until: np.ndarray  # float64[lines, steps + 1]: the sum of the times below i
    remaining: np.ndarray  # bool[1]: only what is left of the window of a tuple counts
    members: sets.Members
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]: the newcomer is never rejected


def make_elba_state(
    setup: Setup,
    h: int = HORIZON,
    steps: int | None = None,
    remaining: bool = False,
    admit: str = COMPETE,
) -> ElbaState:
    """Return an empty state.

    `h` is how many arrivals back the model looks, `steps` how many ahead: T.
    """
    from ..profile.locality import FAR

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


def refresh_elba(state: ElbaState) -> ElbaState:
    """Learn the model again."""
    refit(state.locality)
    _unfold(state)
    return state


def _unfold(state: ElbaState) -> None:
    """Compute how often a key repeats itself within each number of steps."""
    from ..profile.locality import Weights, repeats

    locality = state.locality
    for line in range(len(locality.afresh)):
        weights = Weights(locality.repeat[line], float(locality.afresh[line]))
        state.times[line] = repeats(weights, state.times.shape[1] - 1)
        state.until[line, 1:] = np.cumsum(state.times[line, :-1])


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
def _ahead_elba(state, line, key, seen, deadline, now):
    """Return how much is expected of a key, and whether it came lately."""
    locality = state.locality
    steps = _steps(state, line, deadline, now)
    near = min(steps, state.times.shape[1] - 1)
    total = 0.0
    number = histories.latest(locality.recent, line, key)
    while number > 0 and histories.lag_of(locality.recent, line, number) <= locality.reach[line]:
        if histories.is_of(locality.recent, line, number, key):
            total += _repeated(state, line, histories.lag_of(locality.recent, line, number), near)
        number = histories.earlier(locality.recent, line, number)
    afresh = state.until[line, near] + (steps - near) * state.times[line, near]
    popular = locality.afresh[line] * afresh / locality.known[line] * seen
    return popular + units(locality, line) * total, total > 0


_worth_elba = make_worth(_ahead_elba)


@jit
def score_elba(state, held, slot, now):
    return _worth_elba(state, held, slot, now)[0]


choose_elba = make_choose(score_elba, is_first=expires_sooner)


@jit
def record_elba(state, held, slot, now):
    note(state.locality, held, slot, now)


ELBA = Policy(
    "elba",
    "lba computed for each tuple: slow, but it can respect what is left of a window",
    make_elba_state,
    choose_elba,
    **WITH_MEMBERS,
    on_arrival=record_elba,
    problems=(JOINING,),
    pause=lambda state: int(state.locality.wait[0]),
    refresh=refresh_elba,
)
