"""Bring a batch into the form that the kernel takes: checked, filtered and in order."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.slots import FOREVER
from ..errors import BadInput
from .dropping import Dropping, draw
from .kernel import Form, Rows


class Window(NamedTuple):
    """What decides how long a tuple can match, and how late it may come."""

    within: int | None
    counting: bool
    delay: int | None
    watermark: int | None  # rows of an earlier time come too late


class Batch(NamedTuple):
    """A batch ready for the kernel, and what was left out of it, per stream."""

    rows: Rows
    arrived: np.ndarray
    dropped: np.ndarray
    late: np.ndarray
    null: np.ndarray


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
) -> Batch:
    """Check a batch, leave out who takes no part, put the rest in (time, side, arrival) order."""
    streams = form.shape.streams
    stream = _streams(side, streams)
    n = len(stream)
    keys = _keys(key, n, form.shape.attributes)
    times = _times(time, n, first_row)
    deadlines = _deadlines(times, end, window)
    sizes = _sizes(size, n) if form.sized else np.empty(0, np.int64)
    missing = _mask(null, n)
    late = _late(times, missing, window)
    dropped = draw(dropping, n)  # after all checks: a batch that is refused draws nothing
    missing, late = missing & ~dropped, late & ~dropped
    chosen = _in_order(times, stream, missing | late | dropped, window.counting)
    columns = [stream, keys, times, deadlines, np.arange(first_row, first_row + n), sizes]
    if chosen is not None:
        columns = [column[chosen] if len(column) else column for column in columns]
    columns.append(np.zeros(len(columns[0]), bool))
    return Batch(
        Rows(*map(np.ascontiguousarray, columns)),
        np.bincount(stream, minlength=streams),
        np.bincount(stream[dropped], minlength=streams),
        np.bincount(stream[late], minlength=streams),
        np.bincount(stream[missing], minlength=streams),
    )


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


def _deadlines(times: np.ndarray, end: npt.ArrayLike | None, window: Window) -> np.ndarray:
    if end is not None and window.counting:
        raise BadInput("end cannot be given with a count window; leave out end= or window='count'")
    if end is not None:
        deadlines = np.asarray(end, np.int64)
        if deadlines.shape != times.shape:
            raise BadInput(f"end must have {len(times)} rows, got shape {deadlines.shape}")
        if (deadlines < times).any():
            at = int(np.argmax(deadlines < times))
            raise BadInput(
                f"end must not lie before time, got {deadlines[at]} before {times[at]} in row {at}"
            )
        return deadlines
    if window.within is None:
        return np.full(len(times), FOREVER)
    if window.counting:
        return np.full(len(times), window.within)
    return np.where(times > FOREVER - window.within, FOREVER, times + window.within)


def _sizes(size: npt.ArrayLike | None, n: int) -> np.ndarray:
    if size is None:
        raise BadInput("a budget in bytes needs the size of every row; pass size=")
    sizes = np.asarray(size, np.int64)
    if sizes.shape != (n,) or (n and sizes.min() < 0):
        raise BadInput(f"size must be {n} numbers of at least 0")
    return sizes


def _mask(null: npt.ArrayLike | None, n: int) -> np.ndarray:
    return np.zeros(n, bool) if null is None else np.asarray(null, bool)


def _late(times: np.ndarray, missing: np.ndarray, window: Window) -> np.ndarray:
    """Return which rows come after the watermark; without a delay that is an error."""
    none = np.zeros(len(times), bool)
    if window.counting or window.watermark is None:
        return none
    late = (times < window.watermark) & ~missing
    if window.delay is None and late.any():
        raise BadInput(
            f"time must not go back, got {times[late].min()} after {window.watermark}; sort the "
            "rows, or pass delay= to say how late they may come"
        )
    return late


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
