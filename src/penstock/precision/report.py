"""What simulations and replays found, as JSON and as tables."""

import math
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from rich.table import Table
from rich.text import Text

from ..errors import BadInput
from ..simulate import read_readings
from .simulator import Fixed, Outcome, Recorded, Workload, best_fixed, replay, simulate
from .simulator.best import typical_step

STEPS_ALLOWED = 5  # typical steps: what an answer may be wide for each value, unless it is said


@dataclass(frozen=True)
class Report:
    """A rule beside the best fixed width."""

    title: str
    sources: int
    workload: Workload
    outcome: Outcome
    best: Fixed
    more: dict[str, Any]  # what else is to be said of a recording


def simulated(rule: str, workload: Workload, sources: int, steps: int) -> Report:
    """Simulate a rule on the random walks of the paper."""
    outcome = simulate(rule, workload, sources=sources, steps=steps)
    best = best_fixed(workload, sources=sources, steps=steps)
    return Report(f"{sources:,} walks, {steps:,} steps", sources, workload, outcome, best, {})


def replayed(
    path: str | PathLike[str],
    columns: dict[str, str],
    rule: str,
    period: float | None,
    delta: float | None,
    options: dict[str, Any],
) -> Report:
    """Replay the readings of a file; say what is not given by what the file is like."""
    plain = Workload(1.0 if period is None else period, delta or 0.0, **options)
    readings = read_readings(path, **columns)
    recorded = Recorded(readings.time, readings.source, readings.value)
    span = float(readings.time[-1] - readings.time[0])
    if span <= 0:
        raise BadInput(f"the readings of {path} must span some time, got all of them at once")
    load = plain.load(recorded.sources)
    if period is None:
        period = span * recorded.sources / len(readings.time)
    if delta is None:
        scale = 1 if plain.query == "max" or plain.query == "avg" else load.asked
        delta = STEPS_ALLOWED * typical_step(recorded) * scale
    workload = replace(plain, period=period, delta=delta)
    outcome = replay(rule, workload, recorded)
    best = best_fixed(workload, recorded=recorded)
    more = {
        "file": readings.name,
        "readings": len(readings.time),
        "gaps": readings.gaps,
        "span": span,
    }
    title = f"{readings.name}: {recorded.sources:,} sources, {len(readings.time):,} readings"
    return Report(title, recorded.sources, workload, outcome, best, more)


def summarise(report: Report) -> dict[str, Any]:
    """Return a report for JSON; what is infinite is null."""
    workload, outcome = report.workload, report.outcome
    return report.more | {
        "sources": report.sources,
        "period": workload.period,
        "delta": workload.delta,
        "rho": workload.rho,
        "rule": outcome.rule,
        "cost_rate": outcome.cost_rate,
        "p_vr": outcome.p_vr,
        "p_qr": outcome.p_qr,
        "mean_width": _finite(outcome.mean_width),
        "best_fixed": {
            "width": _finite(report.best.width),
            "cost_rate": report.best.cost_rate,
        },
    }


def table(report: Report) -> Table:
    """Return a report for people."""
    workload, outcome, best = report.workload, report.outcome, report.best
    made = Table(title=Text(report.title), title_justify="left", caption=_caption(workload))
    made.add_column("rule", overflow="fold")
    for name in ("cost rate", "P_vr", "P_qr", "mean width"):
        made.add_column(name, justify="right", no_wrap=True)
    figures = (outcome.cost_rate, outcome.p_vr, outcome.p_qr, outcome.mean_width)
    made.add_row(Text(outcome.rule), *(f"{figure:.4g}" for figure in figures))
    made.add_row("best fixed", f"{best.cost_rate:.4g}", "", "", f"{best.width:.4g}", style="dim")
    if best.cost_rate > 0:
        excess = outcome.cost_rate / best.cost_rate - 1
        made.add_row("above the best fixed", f"{excess:+.1%}", "", "", "", style="dim")
    return made


def _caption(workload: Workload) -> Text:
    return Text(
        f"a {workload.query} every {workload.period:.4g}, within"
        f" {workload.delta:.4g} ± {workload.variation:.0%}, ρ {workload.rho:g}"
    )


def _finite(width: float) -> float | None:
    return width if math.isfinite(width) else None
