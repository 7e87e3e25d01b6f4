"""The generated workloads, by name: how to make one, and what is known of its streams."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import BadInput
from ..kernel.options import check_word, read_options, written_parameters
from ..kernel.policy import JOINING
from ..models import Model
from .drifting import DEVIATIONS, drift_as, named_models, walk, walk_models
from .skewed import gdj, locality, zipf
from .traces import JoinTrace, LookupTrace, Trace

LENGTH = 5000  # steps
LONGEST = 10**9


@dataclass(frozen=True)
class Generator:
    """A generator of the tuples of a join; one of its streams also serves as cache references."""

    name: str
    join: Callable[..., JoinTrace]  # called as (length, seed), or with more options
    stream: int  # the one that is the references of a cache
    models: Callable[[], tuple[Model, Model]] | None = None  # of R and S; None: they are not known
    caching: tuple[str, ...] = ()  # the options that make sense for references
    apart: Callable[..., JoinTrace] | None = None  # instead of `join`, to take references from

    def references(self, length: int, seed: int, **options: Any) -> LookupTrace:
        """Return one of the streams that `join` makes with the same seed, as references.

        >>> tower = GENERATED["tower"]
        >>> bool((tower.references(9, 1).key == tower.join(9, 1).key[1::2]).all())
        True
        """
        trace = (self.apart or self.join)(length, seed, **options)
        key = trace.key[trace.side == self.stream]
        return LookupTrace(key, self.name, value=key)

    def parameters(self, problem: str) -> dict[str, inspect.Parameter]:
        """Return the options that can be given as text."""
        known = written_parameters(self.join)
        return known if problem == JOINING else {name: known[name] for name in self.caching}


def _drifting(name: str) -> Generator:
    models = functools.partial(named_models, name)
    return Generator(name, functools.partial(drift_as, name), stream=1, models=models)


_SKEWED = ("domain", "alpha", "pareto")
GENERATED: dict[str, Generator] = {
    workload.name: workload
    for workload in (
        *map(_drifting, DEVIATIONS),
        Generator("walk", walk, stream=1, models=walk_models),
        Generator("zipf", zipf, stream=0, caching=_SKEWED),
        Generator("gdj", gdj, stream=0, caching=_SKEWED),
        Generator(
            "locality",
            locality,
            stream=0,
            caching=("b", "h", "fall", "domain", "alpha"),
            apart=functools.partial(locality, dealt=False),
        ),
    )
}


@dataclass(frozen=True)
class Generated:
    """A workload as a user writes it, `NAME` or `NAME:key=value,...`; it counts in steps.

    >>> Generated("zipf:alpha=1.5,domain=20", length=3).trace("joining", seed=1).key.tolist()
    [0, 8, 1, 0, 1, 1]
    """

    title: str
    length: int = LENGTH
    micro = False

    def __post_init__(self) -> None:
        check_word("workload", self.name, GENERATED)
        check_length(self.length)

    @property
    def name(self) -> str:
        """The workload without its options."""
        return self.title.partition(":")[0].strip()

    @property
    def workload(self) -> Generator:
        """The generator of that name."""
        return GENERATED[self.name]

    def options(self, problem: str) -> dict[str, Any]:
        """Return the options of the generator, refusing those that it does not have."""
        tail = self.title.partition(":")[2]
        return read_options(f"workload {self.name!r}", tail, self.workload.parameters(problem))

    @property
    def models(self) -> tuple[Model, Model] | None:
        """The true models of its streams; None where they are not known."""
        return None if self.workload.models is None else self.workload.models()

    def trace(self, problem: str, seed: int) -> Trace:
        """Return the arrivals of one run."""
        return _generate(self, problem, seed)


@functools.lru_cache(maxsize=2)  # neighbours in a grid differ in policy and memory only
def _generate(source: Generated, problem: str, seed: int) -> Trace:
    workload = source.workload
    make: Callable[..., Trace] = workload.join if problem == JOINING else workload.references
    return make(source.length, seed, **source.options(problem))


def check_length(length: int) -> None:
    """Refuse a length that is too small, or too large to be meant."""
    if not 1 <= length <= LONGEST:
        raise BadInput(f"length must be from 1 to {LONGEST}, got {length}")
