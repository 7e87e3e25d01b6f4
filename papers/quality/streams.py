"""What policies are compared on: generated streams, some that change half way, recorded ones.

A stream is passed by its name, so that a worker makes it by itself. Generated joins have a window
of `WINDOW` steps, unless their tuples have deadlines of their own, and a length for which the
optimum can still be computed.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from penstock.errors import BadInput
from penstock.simulate.traces import JoinTrace, LookupTrace
from penstock.simulate.workloads import GENERATED

from . import recorded

WINDOW = 200  # steps
STEPS, FEW_STEPS = 6000, 2000  # of generated streams, and of short ones
ROWS = 200_000  # that recorded joins are cut to
SEED = 1
BY_ORDER = ("tower", "roof", "floor", "walk")  # where keys mean something as numbers
VALUES = ("wind speed, 1 day", "dew point, 1 week")  # the same of recorded ones
THREE = {"streams": 3}


class Arriving(NamedTuple):
    """The arrivals of a stream, and the window they are joined in."""

    trace: JoinTrace | LookupTrace
    within: int | None = None  # None: there is none, or the trace says


@dataclass(frozen=True)
class Stream:
    """A stream to join or to cache."""

    name: str
    make: Callable[[int], Arriving]  # of so many steps; a recorded one is as long as it is
    caching: bool = False
    ordered: bool = False  # keys are numbers whose order means something
    plain: bool = True  # a cache, or one join of two streams
    recorded: bool = False


def everything() -> list[Stream]:
    """Return all streams that can be had here."""
    return [*_generated(), *_changing(), *_recorded()]


@functools.lru_cache(maxsize=2)  # neighbours in a grid differ in policy and memory only
def arriving(name: str, steps: int) -> Arriving:
    """Return the arrivals of the stream of this name; the first steps of it, if it is generated.

    >>> arriving("join: zipf", 300).within, len(arriving("cache: zipf", 300).trace)
    (200, 600)
    """
    known = {stream.name: stream for stream in everything()}
    if name not in known:
        raise BadInput(f"unknown stream {name!r}; choose of {', '.join(known)}")
    return known[name].make(steps)


def _generated() -> list[Stream]:
    made = [
        Stream(f"join: {name}", partial(_join, name, {}), ordered=name in BY_ORDER)
        for name in GENERATED
        if name != "gdj"  # with two streams it is zipf
    ]
    for name, options in (
        ("zipf, inverse", {"correlation": "inverse"}),
        ("locality, apart", {"dealt": False}),
        ("locality, zipf 0.75", {"alpha": 0.75}),
    ):
        made.append(Stream(f"join: {name}", partial(_join, name.partition(",")[0], options)))
    made.append(Stream("join: gdj, 3 streams", partial(_join, "gdj", THREE), plain=False))
    return made + [
        Stream(f"cache: {name}", partial(_references, name), caching=True, ordered=name in BY_ORDER)
        for name in GENERATED
        if name != "gdj"
    ]


def _join(name: str, options: dict[str, Any], steps: int) -> Arriving:
    workload = GENERATED[name]
    trace = workload.join(steps, SEED, **options)
    return Arriving(trace, WINDOW if trace.end is None else None)


def _references(name: str, steps: int) -> Arriving:
    return Arriving(GENERATED[name].references(2 * steps, SEED))


def _changing() -> list[Stream]:
    return [
        Stream("join: zipf that jumps", _jumps),
        Stream("join: locality, then zipf", partial(_then, "locality", "zipf")),
        Stream("join: zipf, then locality", partial(_then, "zipf", "locality")),
        Stream("join: trend that turns", _turns, ordered=True),
        Stream("join: season", _season, ordered=True),
    ]


def _jumps(steps: int) -> Arriving:
    """Half way the most popular become the least popular."""
    trace = GENERATED["zipf"].join(steps, SEED)
    key = np.where(trace.time < steps // 2, trace.key, trace.key.max() - trace.key)
    return Arriving(replace(trace, key=key, value=key), WINDOW)


def _then(first: str, second: str, steps: int) -> Arriving:
    one, two = (GENERATED[name].join(steps // 2, SEED) for name in (first, second))
    key = np.concatenate((one.key, two.key))
    side = np.concatenate((one.side, two.side))
    time = np.concatenate((one.time, two.time + steps // 2))
    return Arriving(JoinTrace(side, key, time, value=key), WINDOW)


def _turns(steps: int) -> Arriving:
    """Values rise as in roof, and half way they fall back."""
    trace = GENERATED["roof"].join(steps, SEED)
    key = np.where(trace.time < steps // 2, trace.key, steps - trace.key)
    return Arriving(replace(trace, key=key, value=key, end=None), WINDOW)


def _season(steps: int) -> Arriving:
    """Values go up and down, four times a window; both sides are near the same course."""
    random = np.random.default_rng(SEED)
    time = np.repeat(np.arange(steps), 2)
    course = 100 * np.sin(2 * np.pi * 4 * time / WINDOW)
    key = np.rint(course + random.normal(0, 5, 2 * steps)).astype(np.int64)
    side = np.tile(np.arange(2, dtype=np.int8), steps)
    return Arriving(JoinTrace(side, key, time, together=True, value=key), WINDOW)


def _recorded() -> list[Stream]:
    joins = [
        Stream(f"join: {name}", partial(_rows, make), ordered=name in VALUES, recorded=True)
        for name, make in recorded.joins().items()
    ]
    return joins + [
        Stream(f"cache: {name}", partial(_keys, make), caching=True, recorded=True)
        for name, make in recorded.caches().items()
    ]


def _rows(make: Callable[[], recorded.Rows], steps: int) -> Arriving:
    side, key, time, within = make()
    key = key[:ROWS]
    return Arriving(JoinTrace(side[:ROWS], key, time[:ROWS], value=key), within)


def _keys(make: Callable[[], np.ndarray], steps: int) -> Arriving:
    return Arriving(LookupTrace(make()))
