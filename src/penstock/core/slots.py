"""The held tuples, one slot each.

The last slot is the waiting room: the newcomer is written there before anybody decides about it,
so a policy reads a newcomer exactly as it reads a held tuple.
"""

from typing import NamedTuple

import numpy as np

FOREVER = np.iinfo(np.int64).max  # the deadline of a tuple that never dies of age

# What there is to know about a tuple besides its keys. One record per slot: who looks at one of
# these mostly looks at several, and a record is one cache line.
TUPLE = np.dtype(
    [
        ("time", np.int64),  # when it arrived, or from when it is valid
        ("deadline", np.int64),  # the last time at which it can match, or FOREVER
        ("row", np.int64),  # which row of the input it is
        ("born", np.int64),  # how many tuples were kept before it
        ("size", np.int32),  # in bytes, where the budget counts bytes
        ("before", np.int32),  # its neighbours in the queue of deadlines
        ("after", np.int32),
        ("stream", np.int32),
    ]
)


class Held(NamedTuple):
    """The held tuples by slot; the last row is the waiting room."""

    key: np.ndarray  # int64[capacity + 1, attributes]
    at: np.ndarray  # TUPLE[capacity + 1]


def make_held(capacity: int, attributes: int) -> Held:
    """Return room for `capacity` tuples and the newcomer."""
    return Held(np.zeros((capacity + 1, attributes), np.int64), np.zeros(capacity + 1, TUPLE))
