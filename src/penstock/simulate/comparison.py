"""Several policies over the same arrivals, in several runs; in parallel where that is faster.

The first run is always made in this process. It leaves the compiled kernels on disk for the others,
and shows whether the remaining runs take longer than new processes take to start.

`summarise` makes the JSON object of `penstock simulate --json` of a comparison.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import fields
from math import isfinite
from statistics import fmean, stdev
from time import perf_counter
from typing import Any, NamedTuple

from ..errors import BadInput
from ..kernel.gains import ROWS
from ..kernel.options import check_word
from ..kernel.policy import JOINING, Configured
from .distortion import Distortion, exact_tally, tally
from .grid import Given, Pool, Progress, cores, counting
from .optimum import full_matched, full_results
from .player import Played, check, choose, play, suitable
from .scenario import Scenario, choose_source
from .traces import JoinTrace, Trace

START_SECONDS = 6.0  # that worker processes take to start
SOURCE = ("workload", "trace", "key", "time", "side", "length")  # what a cell says of its arrivals
SCENARIO = tuple(field.name for field in fields(Scenario) if field.name != "source")


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

    def as_dict(self) -> Given:
        """Return the figures as plain values."""
        played = self.played
        found = {
            "results": played.results,
            "full": self.full,
            "recall": self.recall,
            "rows": played.rows,
            "seconds": played.seconds,
        }
        if played.matched is not None:
            found |= {"matched": played.matched, "matchable": self.matchable}
        return found if self.distortion is None else found | self.distortion._asdict()


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
    if runs < 1:
        raise BadInput(f"runs must be at least 1, got {runs}")
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


def simulate_cell(given: Given) -> Given:
    """Simulate one cell of a grid: one policy in one run.

    A cell names its policy and memory, its arrivals, and perhaps more fields of a `Scenario`:

        {"workload": "tower", "policy": "heeb", "memory": 10, "run": 3}
        {"trace": "calls.csv", "key": "caller", "policy": "lru", "memory": 9, "problem": "caching"}

    >>> found = simulate_cell({"workload": "zipf", "policy": "prob", "memory": 20, "length": 200})
    >>> list(found)
    ['results', 'full', 'recall', 'rows', 'seconds', 'matched', 'matchable']
    """
    for name in given:
        check_word("a cell's entry", name, (*SOURCE, *SCENARIO, "policy", "run"))
    for name in ("policy", "memory"):
        if name not in given:
            raise BadInput(f"a cell must name its {name}, got {given}; add {name!r}")
    columns = {name: given[name] for name in SOURCE[2:] if name in given}
    source = choose_source(given.get("workload"), given.get("trace"), **columns)
    options = {name: given[name] for name in SCENARIO if name in given}
    scenario = Scenario(source, **{"problem": JOINING} | options)
    return measure_run(scenario, [given["policy"]], given.get("run", 0))[0].as_dict()


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
