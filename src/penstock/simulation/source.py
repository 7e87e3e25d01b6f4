"""Where the arrivals come from: a generated workload, new for each seed, or a trace file."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core.options import read_options, written_parameters
from ..core.policy import JOINING
from ..core.shape import TWO_WAY, Joins
from ..errors import BadInput
from ..models import MODELLED, Model, models_of
from ..workloads import GENERATED, JoinTrace, LookupTrace, read_join, read_lookup
from .words import check_word

LENGTH = 5000  # steps of a generated workload
LONGEST = 10**9
WARMUP = 4  # steps that are not counted, for each unit of memory: section 8 of the HEEB paper

Trace = JoinTrace | LookupTrace


@dataclass(frozen=True)
class Generated:
    """A workload of the papers, `NAME` or `NAME:key=value,...`; it counts in steps.

    >>> Generated("zipf:alpha=1.5,domain=20", length=3).trace("joining", seed=1).key.tolist()
    [0, 8, 1, 0, 1, 1]
    """

    title: str
    length: int = LENGTH
    micro = False

    def __post_init__(self) -> None:
        check_word("workload", self.name, GENERATED)
        _check_length(self.length)

    @property
    def name(self) -> str:
        """The workload without its options."""
        return self.title.partition(":")[0].strip()

    def options(self, problem: str) -> dict[str, Any]:
        """Return what the generator of this problem is told."""
        known = written_parameters(self._generator(problem))
        return read_options(f"workload {self.name!r}", self.title.partition(":")[2], known)

    @property
    def windowed(self) -> bool:
        """Whether its tuples die by themselves."""
        return GENERATED[self.name].windowed

    @property
    def joins(self) -> Joins:
        """Which of its streams meet on which attributes."""
        return GENERATED[self.name].join(1, 0, **self.options(JOINING)).joins

    @property
    def models(self) -> tuple[Model, ...] | None:
        """The true models of its streams; None where nobody knows them."""
        return models_of(self.name) if self.name in MODELLED else None

    def trace(self, problem: str, seed: int) -> Trace:
        """Return the arrivals of one run."""
        return self._generator(problem)(self.length, seed, **self.options(problem))

    def _generator(self, problem: str) -> Callable[..., Trace]:
        workload = GENERATED[self.name]
        return workload.join if problem == JOINING else workload.lookup

    def steps(self, trace: Trace) -> int:
        """Return the length in what the warm-up counts in."""
        return self.length

    def default_warmup(self, memory: int) -> int:
        """Return how many steps are not counted."""
        return WARMUP * memory


@dataclass(frozen=True)
class TraceFile:
    """A file of arrivals, of which the first `length` are replayed; it counts in rows."""

    path: str
    key: str = "key"
    time: str | None = None
    side: str = "side"
    length: int | None = None
    windowed = False
    models = None
    joins = TWO_WAY

    def options(self, problem: str) -> dict[str, Any]:
        """Return nothing: a file is as it is."""
        return {}

    def __post_init__(self) -> None:
        if self.length is not None:
            _check_length(self.length)

    @property
    def title(self) -> str:
        """What to call it."""
        return Path(self.path).name

    @property
    def micro(self) -> bool:
        """Whether its times are microseconds, and not plain numbers."""
        trace = _read(self, JOINING)
        return isinstance(trace, JoinTrace) and trace.micro

    def trace(self, problem: str, seed: int) -> Trace:
        """Return the arrivals, which are the same in every run."""
        return _read(self, problem)

    def steps(self, trace: Trace) -> int:
        """Return the length in what the warm-up counts in."""
        return len(trace)

    def default_warmup(self, memory: int) -> int:
        """Return how many rows are not counted."""
        return 0


Source = Generated | TraceFile


def choose_source(
    workload: str | None,
    trace: str | None,
    *,
    key: str | None = None,
    time: str | None = None,
    side: str | None = None,
    length: int | None = None,
) -> Source:
    """Return the source that a user names by either a workload or a trace."""
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


def _check_length(length: int) -> None:
    if not 1 <= length <= LONGEST:
        raise BadInput(f"length must be from 1 to {LONGEST}, got {length}")


@functools.lru_cache(maxsize=1)
def _read(file: TraceFile, problem: str) -> Trace:
    if problem == JOINING:
        trace: Trace = read_join(file.path, key=file.key, side=file.side, time=file.time)
    else:
        trace = read_lookup(file.path, key=file.key, time=file.time)
    return trace if file.length is None else _shortened(trace, file.length)


def _shortened(trace: Trace, length: int) -> Trace:
    columns = ("side", "key", "time", "end", "value")
    given = {name: getattr(trace, name, None) for name in columns}
    return replace(trace, **{name: c[:length] for name, c in given.items() if c is not None})
