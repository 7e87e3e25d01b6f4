"""Several policies over the same arrivals, in several runs; in parallel where that is faster.

The first run compiles the kernels. Compiled code lets other threads run, so that the other runs
keep all cores busy.

`summarise` makes the JSON object of `penstock simulate --json` of a comparison.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from math import isfinite
from statistics import fmean, stdev
from typing import Any, NamedTuple

from ..kernel.gains import ROWS
from ..kernel.options import at_least
from ..kernel.policy import Configured
from ..profile.stream_profile import Progress
from .distortion import Distortion, exact_tally, tally
from .optimum import full_matched, full_results
from .player import HINDSIGHT, Played, check, choose, play, suitable, unlimited
from .scenario import Scenario
from .traces import JoinTrace, Trace


class Measurement(NamedTuple):
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
) -> Measurement:
    """Replay a trace under a policy, on the terms of `play`; compare with an unlimited memory."""
    played = play(trace, policy, memory, **terms)
    within, first = terms.get("within"), terms.get("first", 0)
    if isinstance(trace, JoinTrace) and terms.get("near") is not None:
        most = unlimited(trace, within, first, terms["near"])
        return Measurement(played, most.results, most.matched or 0)
    full = full_results(trace, within, first)
    if not isinstance(trace, JoinTrace):
        return Measurement(played, full)
    matchable = 0 if played.matched is None else full_matched(trace, within, first)
    if not with_distortion:
        return Measurement(played, full, matchable)
    exact = exact_tally(trace, within=within, first=first)
    distortion = Distortion.between(exact, tally(trace, policy, memory, **terms))
    return Measurement(played, full, matchable, distortion)


class Comparison(NamedTuple):
    """A comparison that has been made."""

    scenario: Scenario
    policies: list[Configured]
    runs: list[list[Measurement]]  # of each run, the figures of each policy


def compare(
    scenario: Scenario,
    policies: Sequence[str] = (),
    runs: int = 1,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Replay every run under every policy (none given: under all that are suitable).

    `workers` is the number of threads; None: one for each core.
    `progress` is called with the number of replays done and the number in all.
    """
    at_least("runs", runs, 1)
    names = list(policies) or suitable(scenario)
    chosen = [choose(name, scenario.problem) for name in names]
    for each in chosen:
        check(each, scenario)
    follow = counting(progress, runs * len(names))
    follow(0)
    found = [measure_run(scenario, names, 0, lambda: follow(1))]
    with ThreadPoolExecutor(cores() if workers is None else workers) as pool:
        for run in pool.map(measure_run, repeat(scenario), repeat(names), range(1, runs)):
            found.append(run)
            follow(len(names))
    return Comparison(scenario, chosen, found)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def counting(progress: Progress | None, total: int) -> Callable[[int], None]:
    """Return a function that reports so many more steps of a total."""
    done = 0

    def step(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total)

    return step


def measure_run(
    scenario: Scenario, names: list[str], run: int, follow: Callable[[], None] = lambda: None
) -> list[Measurement]:
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
        **({} if scenario.near is None else {"near": scenario.near}),
        "policies": [
            _score(chosen, [run[place] for run in made.runs], rows or by_rows)
            for place, chosen in enumerate(made.policies)
        ],
    }


def reached(score: dict[str, Any], report: dict[str, Any]) -> float:
    """Return the share that a policy has reached of the goal of a comparison."""
    by_rows = report.get("goal") == ROWS
    return float(score["matched"]["recall"] if by_rows else score["recall"]["mean"])


def best_score(report: dict[str, Any]) -> dict[str, Any]:
    """Return the score of the best policy; with hindsight only if there is no other."""
    hindsight = [policy.name for policy in HINDSIGHT]
    scores: list[dict[str, Any]] = report["policies"]
    online = [each for each in scores if each["policy"] not in hindsight]
    return max(online or scores, key=lambda each: reached(each, report))


def _score(chosen: Configured, runs: list[Measurement], rows: bool) -> dict[str, Any]:
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


def _matched(runs: list[Measurement]) -> dict[str, float]:
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
