"""What all policies of a comparison have in common: arrivals, problem, memory, window, warm-up."""

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..kernel.band import make_band
from ..kernel.durations import microseconds
from ..kernel.gains import GOALS, PAIRS
from ..kernel.options import at_least, check_word
from ..kernel.policy import CACHING, JOINING
from .tracefiles import read_join, read_lookup
from .traces import JoinTrace, Trace, shortened
from .workloads import LENGTH, Generated, check_length

LAYOUTS = ("unified", "split")
WARMUP = 4  # steps that are not counted, for each unit of memory: section 8 of the HEEB paper
NUMBER = re.compile(r"\s*[+-]?\d+\s*")

Within = int | str  # how far apart the times of a match may be: a number, or as '10 seconds'


@dataclass(frozen=True)
class TraceFile:
    """A file of arrivals, of which the first `length` are replayed; it counts in rows."""

    path: str
    key: str = "key"
    time: str | None = None
    side: str = "side"
    length: int | None = None
    models = None

    def __post_init__(self) -> None:
        if self.length is not None:
            check_length(self.length)

    @property
    def title(self) -> str:
        """The name of the file."""
        return Path(self.path).name

    @property
    def micro(self) -> bool:
        """Whether its times are microseconds, and not plain numbers."""
        trace = _read(self, JOINING)
        return isinstance(trace, JoinTrace) and trace.micro

    def trace(self, problem: str, seed: int) -> Trace:
        """Return the arrivals, which are the same in every run."""
        return _read(self, problem)


TraceSource = Generated | TraceFile


def choose_source(
    workload: str | None,
    trace: str | None,
    *,
    key: str | None = None,
    time: str | None = None,
    side: str | None = None,
    length: int | None = None,
) -> TraceSource:
    """Return the source of arrivals that a user names by either a workload or a trace."""
    if workload is not None and trace is not None:
        raise BadInput("--workload and --trace exclude each other; give one of them")
    columns = {"key": key, "time": time, "side": side}
    given = {name: column for name, column in columns.items() if column is not None}
    if trace is not None:
        return TraceFile(trace, length=length, **given)
    if workload is None:
        raise BadInput("there is nothing to replay; give --workload or --trace")
    if given:
        raise BadInput(
            f"--{next(iter(given))} names a column of a trace and a workload has none; leave it out"
        )
    return Generated(workload, LENGTH if length is None else length)


@functools.lru_cache(maxsize=1)
def _read(file: TraceFile, problem: str) -> Trace:
    if problem == JOINING:
        trace: Trace = read_join(file.path, key=file.key, side=file.side, time=file.time)
    else:
        trace = read_lookup(file.path, key=file.key, time=file.time)
    return trace if file.length is None else shortened(trace, file.length)


@dataclass(frozen=True)
class Scenario:
    """A problem to be solved with a given memory. The seed of run r is `seed` + r."""

    source: TraceSource
    problem: str
    memory: int
    within: Within | None = None
    layout: str = "unified"
    warmup: int | None = None  # steps of a workload, rows of a trace; None: as the source has it
    seed: int = 0
    drop: float = 0.0  # the share of arrivals that are dropped before they are looked at
    distortion: bool = False  # whether to measure how far off the spread of results over keys is
    goal: str = PAIRS  # what a join gets the most of: pairs, or rows that match
    near: float | None = None  # how far apart matching values may lie; None: keys must be equal

    def __post_init__(self) -> None:
        check_word("problem", self.problem, (JOINING, CACHING))
        check_word("layout", self.layout, LAYOUTS)
        check_word("goal", self.goal, GOALS)
        for name, lowest in (("memory", 1), ("warmup", 0), ("seed", 0)):
            if getattr(self, name) is not None:
                at_least(name, getattr(self, name), lowest)
        if self.within is not None:
            check_within(self.within)
        if not 0 <= self.drop < 1:
            raise BadInput(f"drop must be from 0 to below 1, got {self.drop}")
        if make_band(self.near) is not None and self.distortion:
            raise BadInput(
                "distortion is measured by key, and --near has none; leave out one of them"
            )
        if self.problem == CACHING:
            self._refuse_options_of_joins()
        if isinstance(self.source, Generated):  # before anything is generated
            self.source.options(self.problem)  # refuses those that the generator does not have
            self._check_warmup(self.source.length)
            _ = self.window  # a span of time is refused

    def _refuse_options_of_joins(self) -> None:
        refuse_join_options(self.within, self.goal)
        if self.layout != "unified":
            raise BadInput(f"a cache has one memory, got layout {self.layout!r}; leave it out")
        if self.near is not None:
            raise BadInput("a cache finds equal keys alone; leave out --near")
        if self.drop or self.distortion:
            raise BadInput("a cache has no join results to sample; leave out --drop, --distortion")

    @property
    def warm_up(self) -> int:
        """How many steps, or rows of a trace, are not counted."""
        if self.warmup is not None:
            return self.warmup
        return WARMUP * self.memory if isinstance(self.source, Generated) else 0

    @property
    def window(self) -> int | None:
        """`within` in the unit of the times."""
        if self.within is None:
            return None
        return read_within(self.within, self.source.micro, self.source.title)

    def trace(self, run: int) -> Trace:
        """Return the arrivals of a run."""
        trace = self.source.trace(self.problem, self.seed + run)
        self._check_warmup(self.length_of(len(trace)))
        return trace

    def length_of(self, rows: int) -> int:
        """Return the length of so many rows, in steps of a workload or rows of a trace."""
        return self.source.length if isinstance(self.source, Generated) else rows

    def first_row(self, trace: Trace) -> int:
        """Return the first row whose results count."""
        return self.warm_up * (len(trace) // self.length_of(len(trace)))

    def terms(self, trace: Trace, run: int) -> dict[str, Any]:
        """Return the terms on which `play` replays the trace of a run."""
        return {
            "within": self.window,
            "layout": self.layout,
            "drop": self.drop,
            "first": self.first_row(trace),
            "seed": self.seed + run,
            "models": self.source.models,
            "goal": self.goal,
            "near": None if self.near is None else near_of(trace, self.near),
        }

    def _check_warmup(self, length: int) -> None:
        if self.warm_up >= length:
            by_default = " (4 x memory)" if self.warmup is None else ""
            raise BadInput(
                f"warmup must be below the length of {length}, got {self.warm_up}{by_default}; "
                "give a longer --length or a shorter --warmup"
            )


def near_of(trace: Trace, near: float) -> int | float:
    """Return how near values of a trace must be: an int where all are whole, as `Join` takes it.

    >>> near_of(Generated("tower", 5).trace("joining", seed=0), 2.0)
    2
    """
    if trace.value is None or trace.value.ndim != 1:
        raise BadInput(f"near compares numbers, and the key of {trace.name} is not one; give --key")
    return int(near) if trace.value.dtype.kind in "iu" and near == int(near) else near


def refuse_join_options(within: object, goal: str) -> None:
    """Refuse a window and a goal for a cache: only joins have them."""
    if within is not None:
        raise BadInput(f"a cache has no window, got within {within}; leave it out")
    if goal != PAIRS:
        raise BadInput("a cache has hits, and no rows to match; leave out goal=")


def check_within(within: Within) -> int:
    """Return a window as a number, of microseconds if it has a unit; refuse any other, or below 0.

    >>> check_within("5"), check_within("5s")
    (5, 5000000)
    """
    if _is_number(within):
        if int(within) < 0:
            raise BadInput(f"within must be at least 0, got {within}")
        return int(within)
    if any(map(str.isalpha, str(within))):
        return microseconds(str(within), "within")
    raise BadInput(
        f"within must be a whole number, or have a unit as in '10 seconds', got {within!r}"
    )


def read_within(within: Within, micro: bool, title: str) -> int:
    """Return the window in the unit of the times of `title`, which are microseconds if `micro`."""
    if _is_number(within) and micro:
        raise BadInput(
            f"within must have a unit, as the times of {title} do, got {within}; "
            f"write --within '{within} seconds', or another unit"
        )
    if not _is_number(within) and not micro:
        raise BadInput(
            f"within must be a plain number, as the times of {title} are, got {within!r}; "
            "give it in their unit"
        )
    return check_within(within)


def _is_number(within: Within) -> bool:
    return NUMBER.fullmatch(str(within)) is not None
