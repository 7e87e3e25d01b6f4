"""How far ahead to look: the alphas of HEEB, and who chooses among them while it runs.

Given: there is one. By lifetime: the alpha under which tuples would last as long as they are seen
to. By feedback: every alpha has a small memory of its own beside the real one, fed with the keys of
a hash sample small enough for it (all keys, where the real memory is small), and the alpha that
finds most there is taken.
"""

from typing import NamedTuple

import numpy as np

from ..core.jit import jit
from ..core.policy import CACHING, Setup
from ..core.rng import mix

GIVEN, LIFETIME, FEEDBACK = range(3)
ROOM = 256  # tuples in a shadow memory at most
STEPS = 7  # alphas that are tried
MOST = 64.0  # the largest of them, at least
FADE = 1 - 1 / 20_000  # what a result found long ago still counts, per arrival since
LEAD = 1.002  # a new alpha must have found so many times as much
LIVES = 1_000.0  # lifetimes that the mean goes by
SALT = np.uint64(0xA24BAED4963EE407)


class Alphas(NamedTuple):
    """The alphas, the one in force, and the shadows; without feedback there are none of these."""

    value: np.ndarray  # float64[alphas]
    chosen: np.ndarray  # int64[1]
    mode: np.ndarray  # int64[1]
    life: np.ndarray  # float64[2]: the mean lifetime, and how many it is the mean of
    key: np.ndarray  # int64[shadows, room]
    stream: np.ndarray  # int64[shadows, room]
    time: np.ndarray  # int64[shadows, room]
    deadline: np.ndarray  # int64[shadows, room]
    size: np.ndarray  # int64[shadows]
    found: np.ndarray  # float64[shadows]
    threshold: np.ndarray  # uint64[1]: which keys are in the sample
    together: np.ndarray  # bool[1]: tuples of one time do not see each other
    caching: np.ndarray  # bool[1]


def grid(scale: int) -> np.ndarray:
    """Return the alphas worth trying for a memory of so many tuples: 1, 2, 4, ... 64, or wider.

    >>> grid(10).tolist()
    [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    """
    return np.geomspace(1.0, max(MOST, 2.0 * scale), STEPS).round(9)


def make_alphas(setup: Setup, values: np.ndarray, mode: int) -> Alphas:
    """Return the alphas with empty shadows."""
    shadows = len(values) if mode == FEEDBACK and setup.shape.is_plain else 0
    room = max(1, min(ROOM, setup.scale))
    share = min(1.0, room / setup.scale)
    held = [np.zeros((shadows, room), np.int64) for _ in range(4)]
    return Alphas(
        values,
        # The paper's choice for walks and autoregressions: alpha as large as the memory.
        np.array([np.abs(np.log(values / setup.scale)).argmin()]),
        np.array([mode]),
        np.zeros(2),
        held[0],
        held[1],
        held[2],
        held[3],
        np.zeros(shadows, np.int64),
        np.zeros(shadows),
        np.array([min(round(share * 2**53), 2**53)], np.uint64),
        np.array([setup.together]),
        np.array([setup.problem == CACHING]),
    )


@jit
def saw_lifetime(alphas, steps):
    """Take note how long a tuple was held."""
    life = alphas.life
    life[1] = min(life[1] + 1, LIVES)
    life[0] += (steps - life[0]) / life[1]
    if alphas.mode[0] == LIFETIME:
        alpha = -1 / np.log(1 - 1 / max(life[0], 1.05))
        nearest = 0
        for layer in range(len(alphas.value)):
            if abs(np.log(alphas.value[layer] / alpha)) < abs(
                np.log(alphas.value[nearest] / alpha)
            ):
                nearest = layer
        alphas.chosen[0] = nearest


def make_trial(worth):
    """Return `try_out(state, held, slot, now)`, which shows an arrival to every shadow.

    `worth(state, layer, stream, key, deadline, now)` is the score of a tuple.
    """

    @jit
    def meets(alphas, shadow, place, stream, key, now):
        if alphas.key[shadow, place] != key:
            return False
        if alphas.caching[0]:
            return True
        if alphas.stream[shadow, place] == stream or alphas.deadline[shadow, place] < now:
            return False
        return not alphas.together[0] or alphas.time[shadow, place] < now

    @jit
    def place_for(state, shadow, stream, key, deadline, now):
        """Return where the newcomer goes, -1 if it has the lowest score itself."""
        alphas = state.alphas
        size = alphas.key.shape[1]
        if alphas.size[shadow] < size:
            alphas.size[shadow] += 1
            return alphas.size[shadow] - 1
        place, lowest = -2, np.inf
        for each in range(-1, size):  # the newcomer first: at an equal score it stays
            whose, what, until = stream, key, deadline
            if each >= 0:
                whose, what = alphas.stream[shadow, each], alphas.key[shadow, each]
                until = alphas.deadline[shadow, each]
            score = -1.0 if until < now else worth(state, shadow, whose, what, until, now)
            if place == -2 or score < lowest:
                place, lowest = each, score
            elif score == lowest:
                if place < 0 or alphas.time[shadow, each] < alphas.time[shadow, place]:
                    place = each
        return place

    @jit
    def keep(state, shadow, stream, key, deadline, now):
        """Offer the newcomer a place."""
        alphas = state.alphas
        place = place_for(state, shadow, stream, key, deadline, now)
        if place >= 0:
            alphas.key[shadow, place] = key
            alphas.stream[shadow, place] = stream
            alphas.time[shadow, place] = now
            alphas.deadline[shadow, place] = deadline

    @jit
    def try_out(state, held, slot, now):
        alphas = state.alphas
        key = held.key[slot, 0]
        if (mix(np.uint64(key) ^ SALT) >> np.uint64(11)) >= alphas.threshold[0]:
            return
        stream, deadline = np.int64(held.at[slot]["stream"]), held.at[slot]["deadline"]
        best = alphas.chosen[0]
        for shadow in range(len(alphas.size)):
            found = 0
            for place in range(alphas.size[shadow]):
                if meets(alphas, shadow, place, stream, key, now):
                    found += 1
            alphas.found[shadow] = alphas.found[shadow] * FADE + found
            if not alphas.caching[0] or found == 0:
                mine = np.int64(0) if alphas.caching[0] else stream  # rows wait, references do not
                keep(state, shadow, mine, key, deadline, now)
            if alphas.found[shadow] > alphas.found[best]:
                best = shadow
        if alphas.found[best] > LEAD * alphas.found[alphas.chosen[0]] + 1:
            alphas.chosen[0] = best

    return try_out
