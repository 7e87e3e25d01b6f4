"""The sources of a `Thinner` as arrays, a row for each key."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...core import keymap
from ...core.jit import kernel
from ...core.rng import mix
from ...errors import BadState
from ..rule import Tuned

NEVER = np.iinfo(np.int64).min
LOW, HIGH, VALUE = 0, 1, 2  # columns of now
READ, CLOCK, SENT = 0, 1, 2  # columns of when
FEW = 1024  # keys that there is room for at first


class State(NamedTuple):
    """All that the kernel reads and writes."""

    key: np.ndarray  # int64[room]: 64 bits that stand for the key
    memory: np.ndarray  # float64[room, numbers]: of the rule
    now: np.ndarray  # float64[room, 3]: the interval that was last sent, and the value
    rounded: np.ndarray  # bool[room]: the value is no float, and lies between its neighbours
    when: np.ndarray  # int64[room, 3]: of the last reading, of the last row, of the last refresh
    rng: np.ndarray  # uint64[room, 1]: the coins of the rule


def empty_state(tuned: Tuned, room: int) -> State:
    """Return room for keys of which nothing is known."""
    start = tuned.start()
    memory = np.empty((room, len(start)))
    memory[:] = start
    return State(
        np.zeros(room, np.int64),
        memory,
        np.full((room, 3), np.nan),
        np.zeros(room, np.bool_),
        np.full((room, 3), NEVER),
        np.zeros((room, 1), np.uint64),
    )


def with_room(tuned: Tuned, state: State, known: int, room: int) -> State:
    """Return the known keys, with room for more."""
    larger = empty_state(tuned, room)
    for new, old in zip(larger, state, strict=True):
        new[:known] = old[:known]
    return larger


def read_state(tuned: Tuned, saved: Mapping[str, np.ndarray]) -> State:
    """Return a state as it was saved, refusing one of another rule."""
    if "rounded" not in saved:  # by an earlier release, which did not mind: be on the safe side
        saved = {**saved, "rounded": np.ones(len(saved["key"]), np.bool_)}
    state = State(*(np.array(saved[name]) for name in State._fields))
    numbers = len(tuned.start())
    if state.memory.shape != (len(state.key), numbers):
        raise BadState(
            f"a saved memory must hold {numbers} numbers for each of {len(state.key)} keys under"
            f" rule {tuned.text!r}, got an array of the shape {state.memory.shape}"
        )
    return state


def index_of(state: State, known: int) -> np.ndarray:
    """Return the table that finds a key's row."""
    table = keymap.make_buckets(len(state.key))
    keymap.fill(table, 0, state.key[:known], np.arange(known))
    return table


@kernel
def enter(table, known_keys, known, rng, seed, keys, first, row):
    """Fill `row` with the rows of keys, entering new ones; stop where the room is used up.

    Returns how many of the keys are done and how many are known then. `first` says where to go on.
    """
    room = known_keys.shape[0]
    for i in range(first, len(keys)):
        found = keymap.find(table, 0, known_keys, keys[i])
        if found < 0:
            if known == room:
                return i, known
            found = known
            known_keys[found] = keys[i]
            rng[found, 0] = mix(np.uint64(keys[i]) ^ seed)
            keymap.add(table, 0, keys[i], found)
            known += 1
        row[i] = found
    return len(keys), known


@kernel
def look_up(table, known_keys, keys, row):
    """Fill `row` with the rows of keys, -1 where a key is unknown."""
    for i in range(len(keys)):
        row[i] = keymap.find(table, 0, known_keys, keys[i])
