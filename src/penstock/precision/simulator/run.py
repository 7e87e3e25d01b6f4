"""Run the simulator: on random walks, or on recorded readings."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import BadInput
from ..checks import count
from ..rule import Tuned
from ..rules import tune
from .kernel import NO_ROWS, Log, Rows, Walk, compile_run, make_log
from .state import ASKED, VALUES, WIDTHS, State, make_state
from .workload import Outcome, Workload

WARMUP = 10  # the first tenth is not counted


@dataclass(frozen=True)
class Recorded:
    """Readings of several sources, in the order of time."""

    time: np.ndarray  # float64[n]
    source: np.ndarray  # int64[n]: 0, 1, ...
    value: np.ndarray  # float64[n]

    def __post_init__(self) -> None:
        if len(self.time) == 0:
            raise BadInput("a recorded series must have at least one reading, got none")
        if not len(self.time) == len(self.source) == len(self.value):
            raise BadInput(
                "a recorded series must have a time, a source and a value in each row, got"
                f" {len(self.time)}, {len(self.source)} and {len(self.value)} of them"
            )
        back = np.diff(self.time) < 0
        if back.any():
            row = int(np.argmax(back)) + 1
            raise BadInput(f"recorded times must not go back, got {self.time[row]} at {row}")
        if np.min(self.source) < 0:
            raise BadInput(f"sources must be numbered from 0, got {np.min(self.source)}")
        if not np.isfinite(self.value).all():
            row = int(np.argmin(np.isfinite(self.value)))
            raise BadInput(f"every reading must be a finite number, got {self.value[row]} at {row}")

    @property
    def sources(self) -> int:
        """How many there are."""
        return int(self.source.max()) + 1


def simulate(
    rule: str,
    workload: Workload,
    *,
    sources: int = 1,
    steps: int = 1_000_000,
    walk: Walk | None = None,
    log: int = 0,
) -> Outcome:
    """Run a rule on random walks: each source takes a step in each unit of time.

    The first tenth of the steps is not counted. `log` keeps so many refreshes.

    >>> found = simulate("static:width=6", Workload(period=2, delta=20), steps=100_000)
    >>> round(found.cost_rate, 2), round(found.p_vr, 2), found.mean_width
    (0.23, 0.08, 6.0)
    """
    sources, steps = count("sources", sources, 1), count("steps", steps, WARMUP)
    tuned, load = tune(rule, workload.costs), workload.load(sources)
    state = make_state(tuned, workload.caches, np.zeros(sources), load, workload.seed)
    run, pages = compile_run(tuned.rule), make_log(log)
    fixed = tuned.par, state, load, walk or Walk(), False, NO_ROWS
    first = steps // WARMUP
    run(*fixed, 0, first * sources, first + 1.0, pages)
    _count_from(state, float(first))
    start = time.perf_counter()
    run(*fixed, first * sources, steps * sources, steps + 1.0, pages)
    seconds = time.perf_counter() - start
    return _outcome(tuned, workload, state, float(first), float(steps), pages, seconds)


def replay(rule: str, workload: Workload, recorded: Recorded, *, log: int = 0) -> Outcome:
    """Run a rule on recorded readings, whose first tenth is not counted.

    Before its first reading a source has the value of that reading.

    >>> times = np.arange(1.0, 1001.0)
    >>> wave = Recorded(times, np.zeros(1000, np.int64), np.sin(times / 50))
    >>> found = replay("static:width=0.5", Workload(period=1, delta=1, variation=0), wave)
    >>> found.p_qr, round(found.p_vr, 3)
    (0.0, 0.04)
    """
    tuned, load = tune(rule, workload.costs), workload.load(recorded.sources)
    initial = np.zeros(recorded.sources)
    present, first_rows = np.unique(recorded.source, return_index=True)
    initial[present] = recorded.value[first_rows]
    begin = float(recorded.time[0])
    state = make_state(tuned, workload.caches, initial, load, workload.seed, begin)
    rows, run, pages = len(recorded.time), compile_run(tuned.rule), make_log(log)
    columns = Rows(
        np.ascontiguousarray(recorded.time, np.float64),
        np.ascontiguousarray(recorded.source, np.int64),
        np.ascontiguousarray(recorded.value, np.float64),
    )
    fixed = tuned.par, state, load, Walk(), True, columns
    first = rows // WARMUP
    run(*fixed, 0, first, -np.inf, pages)
    since = float(recorded.time[first])
    _count_from(state, since)
    start = time.perf_counter()
    run(*fixed, first, rows, -np.inf, pages)
    seconds = time.perf_counter() - start
    return _outcome(tuned, workload, state, since, float(recorded.time[-1]), pages, seconds)


def _count_from(state: State, now: float) -> None:
    """Forget what was counted."""
    state.tally[:] = 0
    state.since[:] = now


def _outcome(
    tuned: Tuned,
    workload: Workload,
    state: State,
    since: float,
    until: float,
    log: Log,
    seconds: float,
) -> Outcome:
    span = max(until - since, np.finfo(float).tiny)
    rest = until - state.since
    widths = np.where(rest > 0, state.memory[:, :, 0] * np.where(rest > 0, rest, 1), 0)
    total: Any = state.tally.sum(axis=0)
    p_vr, p_qr = total[VALUES] / span, total[ASKED] / span
    costs = workload.costs
    return Outcome(
        rule=tuned.text,
        cost_rate=float(costs.value * p_vr + costs.query * p_qr),
        p_vr=float(p_vr),
        p_qr=float(p_qr),
        mean_width=float((total[WIDTHS] + widths.sum()) / span / state.low.size),
        span=span,
        refreshes=log.row[: log.used[0]],
        seconds=seconds,
    )
