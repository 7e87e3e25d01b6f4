"""A rule beside the best fixed width: `penstock precision simulate` and `replay`."""

import math
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from rich.table import Table
from rich.text import Text

from ..errors import BadInput
from ..precision.simulator import (
    FixedWidth,
    Recorded,
    Simulated,
    Workload,
    best_fixed,
    replay,
    simulate,
    typical_step,
)
from ..simulate import read_readings

STEPS_ALLOWED = 5  # typical steps: the default δ of an answer for each of its values


@dataclass(frozen=True)
class RuleReport:
    """The cost of a rule, and of the best fixed width."""

    title: str
    sources: int
    workload: Workload
    found: Simulated
    best: FixedWidth
    more: dict[str, Any]  # facts about a recording


def simulated(rule: str, workload: Workload, sources: int, steps: int) -> RuleReport:
    """Simulate a rule on the random walks of the paper."""
    found = simulate(rule, workload, sources=sources, steps=steps)
    best = best_fixed(workload, sources=sources, steps=steps)
    title = f"{sources:,} walk{'s' * (sources != 1)}, {steps:,} steps"
    return RuleReport(title, sources, workload, found, best, {})


def replayed(
    path: str | PathLike[str],
    columns: dict[str, str],
    rule: str,
    period: float | None,
    delta: float | None,
    options: dict[str, Any],
) -> RuleReport:
    """Replay the readings of a file; derive what is not given from the readings."""
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
        values = load.asked if plain.query == "sum" else 1
        delta = STEPS_ALLOWED * typical_step(recorded) * values
    workload = replace(plain, period=period, delta=delta)
    found = replay(rule, workload, recorded)
    best = best_fixed(workload, recorded=recorded)
    more = {
        "file": readings.name,
        "readings": len(readings.time),
        "gaps": readings.gaps,
        "span": span,
    }
    title = f"{readings.name}: {recorded.sources:,} sources, {len(readings.time):,} readings"
    return RuleReport(title, recorded.sources, workload, found, best, more)


def summarise(report: RuleReport) -> dict[str, Any]:
    """Return a report for JSON; an infinite width is null."""
    workload, found, best = report.workload, report.found, report.best
    return report.more | {
        "sources": report.sources,
        "period": workload.period,
        "delta": workload.delta,
        "rho": workload.rho,
        "rule": found.rule,
        "cost_rate": found.cost_rate,
        "p_vr": found.p_vr,
        "p_qr": found.p_qr,
        "mean_width": _finite(found.mean_width),
        "best_fixed": {"width": _finite(best.width), "cost_rate": best.cost_rate},
    }


def _finite(width: float) -> float | None:
    return width if math.isfinite(width) else None


def table(report: RuleReport) -> Table:
    """Return a report for people."""
    workload, found, best = report.workload, report.found, report.best
    caption = (
        f"a {workload.query} every {workload.period:.4g}, within"
        f" {workload.delta:.4g} ± {workload.variation:.0%}, ρ {workload.rho:g}"
    )
    made = Table(title=Text(report.title), title_justify="left", caption=Text(caption))
    made.add_column("rule", overflow="fold")
    for name in ("cost rate", "P_vr", "P_qr", "mean width"):
        made.add_column(name, justify="right", no_wrap=True)
    figures = (found.cost_rate, found.p_vr, found.p_qr, found.mean_width)
    made.add_row(Text(found.rule), *(f"{figure:.4g}" for figure in figures))
    made.add_row("best fixed", f"{best.cost_rate:.4g}", "", "", f"{best.width:.4g}", style="dim")
    if best.cost_rate > 0:
        excess = found.cost_rate / best.cost_rate - 1
        made.add_row("above the best fixed", f"{excess:+.1%}", "", "", "", style="dim")
    return made
