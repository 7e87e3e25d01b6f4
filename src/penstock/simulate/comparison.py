"""Several policies over the same arrivals, in several runs; in parallel where that is faster.

The first run is always made in this process. It leaves the compiled kernels on disk for the others,
and shows whether the remaining runs take longer than new processes take to start.

`summarise` makes the JSON object of `penstock simulate --json` of a comparison.
"""

import functools
from collections.abc import Callable, Sequence
from math import isfinite
from statistics import fmean, stdev
from time import perf_counter
from typing import Any, NamedTuple

from ..kernel.gains import ROWS
from ..kernel.options import at_least
from ..kernel.policy import Configured
from .distortion import Distortion, exact_tally, tally
from .optimum import full_matched, full_results
from .player import Played, check, choose, play, suitable
from .pool import Pool, Progress, cores, counting
from .scenario import Scenario
from .traces import JoinTrace, Trace

START_SECONDS = 6.0  # that worker processes take to start


class Measured(NamedTuple):
    """The figures of one policy in one run, beside those of an unlimited memory."""

    played: Played
    full: int  # results of an unlimited memory
    matchable: int = 0  # rows that an unlimited memory matches, where the played ones are known
    distortion: Distortion | None = None  # None: it was not measured

    @property
    def recall(self) -> float:
        """The share of all results that the policy produced."""
        return share(self.played.results, self.full)


def share(results: int, full: int) -> float:
    """Return the recall; where there is nothing to find, nothing was missed."""
    return results / full if full else 1.0


def measure(
    trace: Trace, policy: str, memory: int, *, with_distortion: bool = False, **terms: Any
) -> Measured:
    """Replay a trace under a policy, on the terms of `play`; compare with an unlimited memory."""
    played = play(trace, policy, memory, **terms)
    within, first = terms.get("within"), terms.get("first", 0)
    full = full_results(trace, within, first)
    if not isinstance(trace, JoinTrace):
        return Measured(played, full)
    matchable = 0 if played.matched is None else full_matched(trace, within, first)
    if not with_distortion:
        return Measured(played, full, matchable)
    exact = exact_tally(trace, within=within, first=first)
    distortion = Distortion.between(exact, tally(trace, policy, memory, **terms))
    return Measured(played, full, matchable, distortion)


class Comparison(NamedTuple):
    """A comparison that has been made."""

    scenario: Scenario
    policies: list[Configured]
    runs: list[list[Measured]]  # of each run, the figures of each policy


def compare(
    scenario: Scenario,
    policies: Sequence[str] = (),
    runs: int = 1,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Replay every run under every policy (none given: under all that are suitable).

    `workers` is the number of processes; None: one, or one for each core where that is faster.
    `progress` is called with the number of replays done and the number in all.
    """
    at_least("runs", runs, 1)
    names = list(policies) or suitable(scenario)
    chosen = [choose(name, scenario.problem) for name in names]
    for each in chosen:
        check(each, scenario)
    follow = counting(progress, runs * len(names))
    follow(0)
    started = perf_counter()
    first = measure_run(scenario, names, 0, lambda: follow(1))
    remaining = (perf_counter() - started) * (runs - 1)
    if workers is None:
        workers = cores() if remaining > START_SECONDS else 1
    work = functools.partial(measure_run, scenario, names)
    others: dict[int, list[Measured]] = {}
    with Pool(min(workers, runs - 1)) as pool:
        for place, run in pool.map(work, range(1, runs)):
            others[place] = run
            follow(len(names))
    return Comparison(scenario, chosen, [first, *(others[place] for place in sorted(others))])


def measure_run(
    scenario: Scenario, names: list[str], run: int, follow: Callable[[], None] = lambda: None
) -> list[Measured]:
    """Generate or load the arrivals of one run, and replay them under every policy."""
    trace = scenario.trace(run)
    terms = scenario.terms(trace, run)
    found = []
    for name in names:
        found.append(
            measure(trace, name, scenario.memory, with_distortion=scenario.distortion, **terms)
        )
        follow()
    return found


def summarise(made: Comparison, rows: bool = False) -> dict[str, Any]:
    """Return means over the runs as plain values.

    With `rows`, or if that is the goal, also how many rows were matched.
    """
    scenario = made.scenario
    by_rows = scenario.goal == ROWS
    return {
        "workload": scenario.source.title,
        "problem": scenario.problem,
        "memory": scenario.memory,
        "length": scenario.length_of(made.runs[0][0].played.rows),
        "warmup": scenario.warm_up,
        "runs": len(made.runs),
        **({"drop": scenario.drop} if scenario.drop else {}),
        **({"goal": scenario.goal} if by_rows else {}),
        "policies": [
            _score(chosen, [run[place] for run in made.runs], rows or by_rows)
            for place, chosen in enumerate(made.policies)
        ],
    }


def _score(chosen: Configured, runs: list[Measured], rows: bool) -> dict[str, Any]:
    played = [run.played for run in runs]
    results = [each.results for each in played]
    seconds = sum(each.seconds for each in played)
    score = {
        "policy": chosen.policy.name,
        "params": {name: _plain(value) for name, value in chosen.all_params.items()},
        "results": {"mean": fmean(results), "std": stdev(results) if len(results) > 1 else 0.0},
        "full": {"mean": fmean(run.full for run in runs)},
        "recall": {"mean": fmean(run.recall for run in runs)},
        "tuples_per_second": round(sum(each.rows for each in played) / max(seconds, 1e-9)),
    }
    if rows and played[0].matched is not None:
        score["matched"] = _matched(runs)
    if played[0].explained is not None:
        score["explained"] = played[0].explained  # of the first run
    measured = [run.distortion for run in runs if run.distortion is not None]
    if measured:
        score["distortion"] = {
            "sse": {"mean": fmean(each.sse for each in measured)},
            "kl": {"mean": fmean(each.kl for each in measured)},
        }
    return score


def _matched(runs: list[Measured]) -> dict[str, float]:
    """Return rows that are in a result, how many could be, and the share of these."""
    counts = [(run.played.matched or 0, run.matchable) for run in runs]
    return {
        "mean": fmean(matched for matched, _ in counts),
        "full": fmean(matchable for _, matchable in counts),
        "recall": fmean(share(*count) for count in counts),
    }


def _plain(value: Any) -> Any:
    """Return a parameter's value as JSON can hold it, which has no infinity."""
    return str(value) if isinstance(value, float) and not isfinite(value) else value
