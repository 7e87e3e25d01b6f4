"""The simulator of the paper: rules on random walks and on recordings, and the best fixed width."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from ..numeric import check_count, check_number, minimum
from . import simulator_kernel as compiled
from .rule import WIDTH, Costs
from .rules import tune

KINDS = ("sum", "avg", "max")
ASKED = 10  # the number of values of a query in the paper
WARMUP = 10  # the first tenth is not counted
PART = 1 << 16  # rows of a walk that are generated at a time
COARSE = 24  # widths that are tried first, evenly spread over the logarithm
FINE = 1e-3  # how exactly the best width is found between two of them
SEARCHED = 2_000_000  # source-steps of a walk that the search takes for each width

UpdateColumns = tuple[np.ndarray, np.ndarray, np.ndarray]  # time, source, value
# A part of a run that is counted by itself: rows, the time before which queries are asked after the
# last row, and the end.
Stage = tuple[Iterable[UpdateColumns], float, float]
NO_ROWS: UpdateColumns = (np.zeros(0), np.zeros(0, np.int64), np.zeros(0))


@dataclass(frozen=True)
class Workload:
    """The paper's queries: every `period`, about `asked` random sources, within a random δ.

    delta, variation: δ is uniform over delta × (1 - variation) to delta × (1 + variation).
    rho: the cost factor; C_qr is 2 and C_vr is rho.
    asked: by default 10, or all sources if there are fewer.
    capacity: the number of intervals that a cache holds, by default all.

    >>> Workload(period=2, delta=20).costs
    Costs(value=1.0, query=2.0)
    """

    period: float
    delta: float
    variation: float = 1.0
    rho: float = 1.0
    query: str = "sum"
    asked: int | None = None
    capacity: int | None = None
    caches: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("period", self.period, 0, above=True)
        check_number("delta", self.delta, 0)
        if not 0 <= check_number("delta-variation", self.variation, 0) <= 1:
            raise BadInput(f"delta-variation must be from 0 to 1, got {self.variation}")
        check_number("rho", self.rho, 0, above=True)
        if self.query not in KINDS:
            raise BadInput(f"query must be one of {', '.join(KINDS)}, got {self.query!r}")
        check_count("caches", self.caches, 1)
        check_count("seed", self.seed, 0)

    @property
    def costs(self) -> Costs:
        """The costs of refreshes."""
        return Costs(float(self.rho), 2.0)

    def load(self, sources: int) -> compiled.Load:
        """Return the numbers that the kernel needs."""
        asked = min(ASKED, sources) if self.asked is None else check_count("asked", self.asked, 1)
        capacity = sources if self.capacity is None else check_count("capacity", self.capacity, 0)
        if asked > sources:
            raise BadInput(f"asked must be at most the number of sources, {sources}, got {asked}")
        scale = self.delta * (asked if self.query == "avg" else 1)
        low, high = float(scale * (1 - self.variation)), float(scale * (1 + self.variation))
        extreme = self.query == "max"
        return compiled.Load(float(self.period), low, high, asked, min(capacity, sources), extreme)


class WalkSteps(NamedTuple):
    """The steps of random walks: up or down by a uniform amount."""

    small: float = 0.5  # the smallest step
    large: float = 1.5
    up: float = 0.5  # the probability of a step upwards


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
        """The number of sources."""
        return int(self.source.max()) + 1


@dataclass(frozen=True)
class Simulated:
    """What a rule cost."""

    rule: str
    cost_rate: float  # Ω: per unit of time, all sources and caches together
    p_vr: float  # value-initiated refreshes per unit of time
    p_qr: float  # query-initiated ones
    mean_width: float  # of the original widths, over sources, caches and time
    span: float  # units of time that were counted
    refreshes: np.ndarray  # records of simulator_kernel.REFRESH, the first `log` ones


def simulate(
    rule: str,
    workload: Workload,
    *,
    sources: int = 1,
    steps: int = 1_000_000,
    walk: WalkSteps | None = None,
    log: int = 0,
) -> Simulated:
    """Run a rule on random walks: each source takes a step in each unit of time.

    The first tenth of the steps is not counted. `log` is the number of refreshes to keep.

    >>> found = simulate("static:width=6", Workload(period=2, delta=20), steps=100_000)
    >>> round(found.cost_rate, 2), round(found.p_vr, 2), found.mean_width
    (0.23, 0.08, 6.0)
    """
    sources, steps = check_count("sources", sources, 1), check_count("steps", steps, WARMUP)
    rng, position = compiled.random_stream(workload.seed, 0), np.zeros(sources)

    def walks(first: int, last: int) -> Iterator[UpdateColumns]:
        """Return the steps from `first` to before `last`, some at a time."""
        size = max(1, PART // sources)
        for begin in range(first, last, size):
            times = np.arange(begin + 1.0, min(begin + size, last) + 1.0)
            value = np.empty(len(times) * sources)
            compiled.walk_on(rng, walk or WalkSteps(), position, value)
            yield np.repeat(times, sources), np.tile(np.arange(sources), len(times)), value

    first = steps // WARMUP
    stages: list[Stage] = [
        (walks(0, first), first + 1.0, float(first)),
        (walks(first, steps), steps + 1.0, float(steps)),
    ]
    return _run(rule, workload, np.zeros(sources), 0.0, stages, log)


def replay(rule: str, workload: Workload, recorded: Recorded, *, log: int = 0) -> Simulated:
    """Run a rule on recorded readings, whose first tenth is not counted.

    Before its first reading a source has the value of that reading.

    >>> times = np.arange(1.0, 1001.0)
    >>> wave = Recorded(times, np.zeros(1000, np.int64), np.sin(times / 50))
    >>> found = replay("static:width=0.5", Workload(period=1, delta=1, variation=0), wave)
    >>> found.p_qr, round(found.p_vr, 3)
    (0.0, 0.04)
    """
    time = np.ascontiguousarray(recorded.time, np.float64)
    source = np.ascontiguousarray(recorded.source, np.int64)
    value = np.ascontiguousarray(recorded.value, np.float64)
    initial = np.zeros(recorded.sources)
    present, first_rows = np.unique(source, return_index=True)
    initial[present] = value[first_rows]
    first = len(time) // WARMUP
    stages: list[Stage] = [
        ([(time[:first], source[:first], value[:first])], -math.inf, float(time[first])),
        ([(time[first:], source[first:], value[first:])], -math.inf, float(time[-1])),
    ]
    return _run(rule, workload, initial, float(time[0]), stages, log)


def _run(
    rule: str, workload: Workload, start: np.ndarray, begin: float, stages: list[Stage], log: int
) -> Simulated:
    """Run the stages from these first values, and return what the last one cost."""
    tuned, load = tune(rule, workload.costs), workload.load(len(start))
    world = compiled.make_world(tuned, workload.caches, start, load, workload.seed, begin, log)
    run, since, end = compiled.compile_run(tuned.rule), begin, begin
    for parts, until, stage_end in stages:
        since, end = end, stage_end
        world.tally[:] = 0
        world.since[:] = since
        for rows in parts:
            run(tuned.par, world, load, *rows, -math.inf)
        run(tuned.par, world, load, *NO_ROWS, until)
    span = max(end - since, np.finfo(float).tiny)
    rest = np.maximum(end - world.since, 0)
    with np.errstate(invalid="ignore"):  # 0 × an infinite width
        widths = np.where(rest > 0, world.memory[:, :, WIDTH] * rest, 0)
    total = world.tally.sum(axis=0)
    p_vr, p_qr = float(total[compiled.VALUES] / span), float(total[compiled.ASKS] / span)
    return Simulated(
        rule=tuned.text,
        cost_rate=workload.costs.value * p_vr + workload.costs.query * p_qr,
        p_vr=p_vr,
        p_qr=p_qr,
        mean_width=float((total[compiled.WIDTHS] + widths.sum()) / span / world.low.size),
        span=span,
        refreshes=world.log[: world.logged[0]],
    )


class FixedWidth(NamedTuple):
    """A width, and its cost per unit of time."""

    width: float  # 0: every change is sent; infinity: none is
    cost_rate: float


def best_fixed(
    workload: Workload,
    *,
    sources: int = 1,
    steps: int = 1_000_000,
    walk: WalkSteps | None = None,
    recorded: Recorded | None = None,
) -> FixedWidth:
    """Return the fixed width, the same for all sources, that would have cost least.

    The search sees the same walk, or the same recording, and the same queries as a rule would. It
    tries widths of all sizes, 0 and infinity, then narrows down on the best.

    >>> found = best_fixed(Workload(period=2, delta=20), steps=100_000)
    >>> 5.5 < found.width < 6.5
    True
    """
    if recorded is not None:
        sources = recorded.sources

    def cost(width: float, steps: int = steps) -> float:
        rule = f"static:width={float(width)!r}"
        if recorded is not None:
            return replay(rule, workload, recorded).cost_rate
        return simulate(rule, workload, sources=sources, steps=steps, walk=walk).cost_rate

    def sampled(width: float) -> float:
        return cost(width, min(steps, max(SEARCHED // sources, 20_000)))

    load = workload.load(sources)
    step = (walk or WalkSteps()).large if recorded is None else typical_step(recorded)
    low, high = min(load.high / load.asked or step, step) / 50, max(4 * load.high, 40 * step, 1e-12)
    tried = {float(w): sampled(w) for w in (0.0, math.inf, *np.geomspace(low, high, COARSE))}
    best = min(tried, key=lambda width: tried[width])
    if 0 < best < math.inf:
        middle, apart = math.log(best), math.log(high / low) / (COARSE - 1)
        finer = minimum(lambda x: sampled(math.exp(x)), middle - apart, middle + apart, FINE)
        best = min(best, math.exp(finer), key=sampled)
    return FixedWidth(best, cost(best))


def typical_step(recorded: Recorded) -> float:
    """Return the average change from one reading of a source to the next."""
    order = np.argsort(recorded.source, kind="stable")
    change = np.abs(np.diff(recorded.value[order]))[np.diff(recorded.source[order]) == 0]
    change = change[change > 0]
    return float(change.mean()) if len(change) else 1.0
