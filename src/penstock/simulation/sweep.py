"""Several policies, several runs: the runs in parallel where that pays.

The first run is always made in this process. It leaves the compiled kernels on disk for the others,
and tells whether what remains is worth the seconds that new processes take to start.
"""

import functools
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from ..errors import BadInput
from ..grid import Pool, cores
from ..workloads import JoinTrace
from .contender import Contender, check, contender, everybody
from .distortion import Distortion, distortion
from .full import full_matched, full_results
from .run import Played, play
from .scenario import Scenario
from .source import Trace
from .tallies import exact_tally, tally

START_SECONDS = 6.0  # what a pool costs before it does anything

Progress = Callable[[int, int], None]  # told how many of how many are done


class Run(NamedTuple):
    """One run: the same arrivals for every policy."""

    steps: int  # its length in what the warm-up counts in
    full: int  # results of an unlimited memory
    matchable: int  # rows that it matches, of a join
    played: list[Played]  # one per policy
    distortion: list[Distortion]  # likewise, or none where nobody asks


class Sweep(NamedTuple):
    """A comparison that has been made."""

    scenario: Scenario
    contenders: list[Contender]
    runs: list[Run]


def sweep(
    scenario: Scenario,
    policies: Sequence[str] = (),
    runs: int = 1,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Replay every run under every policy (none given: under all that make sense).

    `workers` is the number of processes; None: as many as pay. `progress` is called with the number
    of replays done and the number in all.
    """
    if runs < 1:
        raise BadInput(f"runs must be at least 1, got {runs}")
    names = list(policies) or everybody(scenario)
    contenders = [contender(name, scenario.problem) for name in names]
    for who in contenders:
        check(who, scenario)
    total, done = runs * len(names), 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total)

    tell(0)
    started = perf_counter()
    first = make_run(scenario, names, 0, lambda: tell(1))
    remaining = (perf_counter() - started) * (runs - 1)
    if workers is None:
        workers = cores() if remaining > START_SECONDS else 1
    work = functools.partial(make_run, scenario, names)
    others: dict[int, Run] = {}
    with Pool(min(workers, runs - 1)) as pool:
        for place, run in pool.map(work, range(1, runs)):
            others[place] = run
            tell(len(names))
    return Sweep(scenario, contenders, [first, *(others[place] for place in sorted(others))])


def make_run(
    scenario: Scenario, names: list[str], number: int, tell: Callable[[], None] = lambda: None
) -> Run:
    """Make one run: generate or load the arrivals, and replay them under every policy."""
    trace = scenario.trace(number)
    first = scenario.first_row(trace)
    full = full_results(trace, scenario.window, first)
    matchable = full_matched(trace, scenario.window, first) if isinstance(trace, JoinTrace) else 0
    terms: dict[str, Any] = {
        "within": scenario.window,
        "layout": scenario.layout,
        "drop": scenario.drop,
        "first": first,
        "seed": scenario.seed + number,
        "models": scenario.source.models,
        "goal": scenario.goal,
    }
    played, distortions = [], []
    for name in names:
        played.append(play(trace, name, scenario.memory, **terms))
        if scenario.distortion:
            distortions.append(_distortion(trace, name, scenario.memory, terms))
        tell()
    return Run(scenario.source.steps(trace), full, matchable, played, distortions)


def _distortion(trace: Trace, name: str, memory: int, terms: dict[str, Any]) -> Distortion:
    """Replay the trace once more, listing results, which would spoil the measured speed."""
    assert isinstance(trace, JoinTrace), "only joins have results to tally"
    exact = exact_tally(trace, within=terms["within"], first=terms["first"])
    return distortion(exact, tally(trace, name, memory, **terms))
