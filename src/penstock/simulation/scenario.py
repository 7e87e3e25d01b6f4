"""What every policy of a comparison has in common: arrivals, problem, memory, window, warm-up."""

from dataclasses import dataclass

from ..core.gains import GOALS, PAIRS
from ..core.policy import CACHING, JOINING
from ..core.shape import TWO_WAY, Joins
from ..errors import BadInput
from ..workloads import JoinTrace
from .source import Generated, Source, Trace
from .window import Within, check_within, read_within
from .words import check_word

LAYOUTS = ("unified", "split")


@dataclass(frozen=True)
class Scenario:
    """A problem to be solved with a given memory. The seed of run r is `seed` + r."""

    source: Source
    problem: str
    memory: int
    within: Within | None = None  # a number, or a span of time as in '10 seconds'
    layout: str = "unified"
    warmup: int | None = None  # steps of a workload, rows of a trace; None: as the source has it
    seed: int = 0
    drop: float = 0.0  # the chance of an arrival to be dropped before anybody looks at it
    distortion: bool = False  # whether to tell how far off the spread of the results over keys is
    goal: str = PAIRS  # what a join gets the most of: pairs, or rows that match

    def __post_init__(self) -> None:
        check_word("problem", self.problem, (JOINING, CACHING))
        check_word("layout", self.layout, LAYOUTS)
        check_word("goal", self.goal, GOALS)
        _at_least("memory", self.memory, 1)
        _at_least("warmup", self.warmup, 0)
        _at_least("seed", self.seed, 0)
        if self.within is not None:
            check_within(self.within)
        if not 0 <= self.drop < 1:
            raise BadInput(f"drop must be from 0 to below 1, got {self.drop}")
        self.source.options(self.problem)  # refuses what the generator does not know
        if self.problem == CACHING:
            self._refuse_what_joins_have()
        if isinstance(self.source, Generated):  # before anything is generated
            self._check_warmup(self.source.length)
            _ = self.window  # a span of time is refused

    def _refuse_what_joins_have(self) -> None:
        if self.within is not None:
            raise BadInput(f"a cache has no window, got within {self.within}; leave it out")
        if self.layout != "unified":
            raise BadInput(f"a cache has one memory, got layout {self.layout!r}; leave it out")
        if self.goal != PAIRS:
            raise BadInput("a cache has hits, and no rows to match; leave out --goal")
        if self.drop or self.distortion:
            raise BadInput("a cache has no join results to sample; leave out --drop, --distortion")

    @property
    def warm_up(self) -> int:
        """How many steps, or rows of a trace, are not counted."""
        if self.warmup is None:
            return self.source.default_warmup(self.memory)
        return self.warmup

    @property
    def window(self) -> int | None:
        """`within` in the unit of the times."""
        if self.within is None:
            return None
        return read_within(self.within, self.source.micro, self.source.title)

    @property
    def windowed(self) -> bool:
        """Whether tuples die of age."""
        return self.within is not None or self.source.windowed

    @property
    def joins(self) -> Joins:
        """Which streams meet on which attributes."""
        return self.source.joins if self.problem == JOINING else TWO_WAY

    def trace(self, run: int) -> Trace:
        """Return the arrivals of a run."""
        trace = self.source.trace(self.problem, self.seed + run)
        self._check_warmup(self.source.steps(trace))
        return trace

    def first_row(self, trace: Trace) -> int:
        """Return the first row whose results count."""
        steps = isinstance(self.source, Generated) and isinstance(trace, JoinTrace)
        return self.warm_up * (trace.streams if steps else 1)  # type: ignore[union-attr]

    def _check_warmup(self, length: int) -> None:
        if self.warm_up >= length:
            by_default = " (4 x memory)" if self.warmup is None else ""
            raise BadInput(
                f"warmup must be below the length of {length}, got {self.warm_up}{by_default}; "
                "give a longer --length or a shorter --warmup"
            )


def _at_least(name: str, value: int | None, lowest: int) -> None:
    if value is not None and value < lowest:
        raise BadInput(f"{name} must be at least {lowest}, got {value}")
