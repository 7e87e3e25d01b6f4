"""Bring a batch into the form that the kernel takes: checked, filtered and in order.

Arrivals may be dropped at random, as if they had never come: what is joined is then a sample of
each stream. Source: section 4.2 of the GDJ paper, "upon arrival a tuple [...] is dropped with a
probability p"; decision 14 says why such a tuple does not look for partners either.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import BadInput
from ..kernel.rng import hashed, make_rng, uniforms
from ..kernel.slots import FOREVER
from .join_kernel import NEVER, Form, Rows


class Dropping(NamedTuple):
    """How many arrivals are dropped, and the generator that draws which: one draw an arrival."""

    rate: float
    rng: np.ndarray  # uint64[1]


def make_dropping(rate: float, seed: int) -> Dropping:
    """Return what drops with probability `rate`; its draws are not those of a policy's generator.

    >>> make_dropping(1.0, seed=0)
    Traceback (most recent call last):
    penstock.errors.BadInput: drop must be from 0 to below 1, got 1.0
    """
    if not 0 <= rate < 1:
        raise BadInput(f"drop must be from 0 to below 1, got {rate}")
    # A policy is seeded with the seed itself; far from it, draws never meet.
    return Dropping(rate, hashed(make_rng(~seed), np.uint64(0)))


def draw(dropping: Dropping, count: int) -> np.ndarray:
    """Return which of the next `count` arrivals are dropped: bool[count].

    >>> dropping = make_dropping(0.5, seed=1)
    >>> draw(dropping, 1000).sum() + draw(dropping, 1000).sum()
    np.int64(976)
    """
    if not dropping.rate:
        return np.zeros(count, np.bool_)
    return uniforms(dropping.rng, count) < dropping.rate


class Window(NamedTuple):
    """What decides how long a tuple can match, and how late it may come."""

    reach: tuple[int, ...] | None  # how long after its time a row of each stream can match, or how
    # many tuples its window holds
    counting: bool
    delay: int | None
    watermark: int | None  # rows of an earlier time come too late


def prepare(
    form: Form,
    window: Window,
    first_row: int,
    side: npt.ArrayLike,
    key: npt.ArrayLike,
    time: npt.ArrayLike | None,
    end: npt.ArrayLike | None,
    null: npt.ArrayLike | None,
    size: npt.ArrayLike | None,
    dropping: Dropping,
) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Check a batch, leave out what takes no part, put the rest in (time, side, arrival) order.

    Returns also how many rows of each stream arrived, are late, have no key and were dropped:
    int64[4, streams]; and which of the rows have no key and are not late.
    """
    streams = form.shape.streams
    stream = _streams(side, streams)
    n = len(stream)
    keys = _keys(key, n, form.attributes)
    times = _times(time, n, first_row)
    deadlines = _deadlines(times, stream, end, window)
    sizes = _sizes(size, n) if form.sized else np.empty(0, np.int64)
    missing = np.zeros(n, bool) if null is None else np.asarray(null, bool)
    behind = _late(times, missing, window)
    late = behind & ~missing
    dropped = draw(dropping, n)  # after all checks: a batch that is refused draws nothing
    missing, late = missing & ~dropped, late & ~dropped
    chosen = _in_order(times, stream, missing | late | dropped, window.counting)
    columns = [stream, keys, times, deadlines, np.arange(first_row, first_row + n), sizes]
    if chosen is not None:
        columns = [column[chosen] if len(column) else column for column in columns]
    columns.append(np.zeros(len(columns[0]), bool))  # none is matched yet
    every = np.ones(n, bool)
    counts = [
        np.bincount(stream[which], minlength=streams) for which in (every, late, missing, dropped)
    ]
    keyless = np.flatnonzero(missing if window.delay is None else missing & ~behind)
    return Rows(*map(np.ascontiguousarray, columns)), np.stack(counts), keyless


def _streams(side: npt.ArrayLike, streams: int) -> np.ndarray:
    given = np.asarray(side)
    if given.ndim != 1:
        raise BadInput(f"side must be one column of numbers, got shape {given.shape}")
    if len(given) and not 0 <= given.min() <= given.max() < streams:
        worst = given.min() if given.min() < 0 else given.max()
        raise BadInput(f"side must be from 0 to {streams - 1}, got {worst}")
    return given.astype(np.int8)


def _keys(key: npt.ArrayLike, n: int, attributes: int) -> np.ndarray:
    keys = np.asarray(key)
    if keys.dtype.kind not in "iu" and keys.size:
        raise BadInput(f"key must be integers (ids or hashes), got {keys.dtype}; encode it first")
    if keys.shape not in ((n,), (n, attributes)) or (keys.ndim == 1 and attributes > 1):
        raise BadInput(
            f"key must have {n} rows and a column per attribute ({attributes}), "
            f"got shape {keys.shape}"
        )
    return keys.reshape(n, attributes).astype(np.int64, copy=False)


def _times(time: npt.ArrayLike | None, n: int, first_row: int) -> np.ndarray:
    if time is None:
        return np.arange(first_row, first_row + n)
    times = np.asarray(time)
    if times.shape != (n,):
        raise BadInput(f"time must have as many rows as side ({n}), got shape {times.shape}")
    if n and times.dtype.kind not in "iu":
        raise BadInput(f"time must be integers, got {times.dtype}; scale it to whole units")
    return times.astype(np.int64, copy=False)


def _deadlines(
    times: np.ndarray, stream: np.ndarray, end: npt.ArrayLike | None, window: Window
) -> np.ndarray:
    if end is not None and window.counting:
        raise BadInput("end cannot be given with a count window; leave out end= or window='count'")
    if end is not None:
        deadlines = np.asarray(end, np.int64)
        if deadlines.shape != times.shape:
            raise BadInput(f"end must have {len(times)} rows, got shape {deadlines.shape}")
        shifted = window.reach is not None and min(window.reach) < 0
        if not shifted and (deadlines < times).any():
            at = int(np.argmax(deadlines < times))
            raise BadInput(
                f"end must not lie before time, got {deadlines[at]} before {times[at]} in row {at}"
            )
        return deadlines
    if window.reach is None:
        return np.full(len(times), FOREVER)
    if window.counting:
        return np.full(len(times), window.reach[0])
    return after(times, stream, window.reach)


def after(times: np.ndarray, stream: np.ndarray, reach: tuple[int, ...]) -> np.ndarray:
    """Return the last time at which rows can match, FOREVER where that is out of range.

    >>> after(np.array([5, 6]), np.array([0, 1]), (60, -1)).tolist()
    [65, 5]
    """
    far = np.int64(reach[0]) if len(set(reach)) == 1 else np.array(reach, np.int64)[stream]
    if min(reach) < 0:  # before the first of all times there is none
        times = np.maximum(times, NEVER - np.minimum(far, 0))
    return np.where(times > FOREVER - np.maximum(far, 0), FOREVER, times + far)


def _sizes(size: npt.ArrayLike | None, n: int) -> np.ndarray:
    if size is None:
        raise BadInput("a budget in bytes needs the size of every row; pass size=")
    sizes = np.asarray(size, np.int64)
    if sizes.shape != (n,) or (n and sizes.min() < 0):
        raise BadInput(f"size must be {n} numbers of at least 0")
    return sizes


def _late(times: np.ndarray, missing: np.ndarray, window: Window) -> np.ndarray:
    """Return which rows come after the watermark; of rows with a key that is an error without a
    delay."""
    if window.counting or window.watermark is None:
        return np.zeros(len(times), bool)
    behind = times < window.watermark
    late = behind & ~missing
    if window.delay is None and late.any():
        raise BadInput(
            f"time must not go back, got {times[late].min()} after {window.watermark}; sort the "
            "rows, or pass delay= to say how late they may come"
        )
    return behind


def _in_order(times, stream, left_out, counting) -> np.ndarray | None:
    """Return the rows to take, in their order; None if that is all of them as they are."""
    if counting:
        return np.flatnonzero(~left_out) if left_out.any() else None
    if not left_out.any():
        later = times[1:] > times[:-1]
        if (later | ((times[1:] == times[:-1]) & (stream[1:] >= stream[:-1]))).all():
            return None
        return np.lexsort((stream, times))
    places = np.flatnonzero(~left_out)
    return places[np.lexsort((stream[places], times[places]))]
