"""`penstock precision simulate` and `replay`: a width rule beside the best fixed width."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import AsJson, FileArgument, SeedOption, option, show_made
from .program import Commands

if TYPE_CHECKING:  # both take long to import
    from rich.table import Table

    from ..precision.simulator import FixedWidth, Simulated, Workload

precision = typer.Typer(
    cls=Commands, help="Bounded answers from cached intervals.", no_args_is_help=True
)

RuleOption = Annotated[str, option("How widths are chosen.", "NAME[:key=value,...]")]
Rho = Annotated[float, option("The cost factor 2 C_vr / C_qr; C_qr is 2.", "R")]
Variation = Annotated[float, option("δ varies by this share of its average, 0 to 1.", "D")]
AskedFor = Annotated[str, option("What queries ask for.", "sum|avg|max", "--query")]
Asked = Annotated[int | None, option("Sources of a query. [10, or all]", "N")]
Capacity = Annotated[int | None, option("Intervals that a cache holds. [all]", "K")]
STEPS_ALLOWED = 5  # typical steps: the default δ of an answer for each of its values


@precision.command("simulate")
def simulate_precision(
    period: Annotated[float, option("Time from query to query: T_q.", "T")],
    delta: Annotated[float, option("How wide an answer may be, on average.")],
    sources: Annotated[int, option("Random walks.", "N")] = 1,
    delta_variation: Variation = 1.0,
    rho: Rho = 1.0,
    rule: RuleOption = "settling",
    query: AskedFor = "sum",
    asked: Asked = None,
    capacity: Capacity = None,
    caches: Annotated[int, option("Caches, each with its queries.", "N")] = 1,
    steps: Annotated[int, option("Steps of each walk.", "N")] = 1_000_000,
    seed: SeedOption = 0,
    as_json: AsJson = False,
) -> None:
    """Run a width rule on random walks, and compare it with the best fixed width."""
    from ..precision import Workload, best_fixed, simulate

    workload = Workload(period, delta, delta_variation, rho, query, asked, capacity, caches, seed)
    found = simulate(rule, workload, sources=sources, steps=steps)
    best = best_fixed(workload, sources=sources, steps=steps)
    if as_json:
        show_made(_summarise({"sources": sources}, workload, found, best))
    else:
        title = f"{sources:,} walk{'s' * (sources != 1)}, {steps:,} steps"
        show_made(_table(title, workload, found, best))


@precision.command("replay")
def replay_precision(
    file: FileArgument,
    key: Annotated[str, option("The column that names the source.")] = "key",
    value: Annotated[str, option("The column of its readings.")] = "value",
    time: Annotated[str, option("The column of their times.")] = "time",
    period: Annotated[
        float | None, option("Time from query to query. [as from reading to reading]", "T")
    ] = None,
    delta: Annotated[float | None, option("How wide an answer may be. [5 changes a value]")] = None,
    delta_variation: Variation = 1.0,
    rho: Rho = 1.0,
    rule: RuleOption = "settling",
    query: AskedFor = "sum",
    asked: Asked = None,
    capacity: Capacity = None,
    seed: SeedOption = 0,
    as_json: AsJson = False,
) -> None:
    """Run a width rule on recorded readings, and compare it with the best fixed width."""
    from ..errors import BadInput
    from ..precision.simulator import Recorded, Workload, best_fixed, replay, typical_step
    from ..simulate.tracefiles import read_readings

    workload = Workload(
        1.0 if period is None else period, delta or 0.0, delta_variation, rho, query, asked,
        capacity, seed=seed,
    )  # fmt: skip
    read = read_readings(file, key=key, value=value, time=time)
    recorded, rows = Recorded(read.time, read.source, read.value), len(read.time)
    sources, span = recorded.sources, float(read.time[-1] - read.time[0])
    if span <= 0:
        raise BadInput(f"the readings of {file} must span some time, got all of them at once")
    values = workload.load(sources).asked if query == "sum" else 1
    if period is None:
        workload = replace(workload, period=span * sources / rows)
    if delta is None:
        workload = replace(workload, delta=STEPS_ALLOWED * typical_step(recorded) * values)
    found, best = replay(rule, workload, recorded), best_fixed(workload, recorded=recorded)
    if as_json:
        facts = {"file": read.name, "readings": rows, "gaps": read.gaps, "span": span}
        show_made(_summarise(facts | {"sources": sources}, workload, found, best))
    else:
        title = f"{read.name}: {sources:,} sources, {rows:,} readings"
        show_made(_table(title, workload, found, best))


def _summarise(
    facts: dict[str, Any], workload: "Workload", found: "Simulated", best: "FixedWidth"
) -> dict[str, Any]:
    """Return a report for JSON; an infinite width is null."""
    return facts | {
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


def _table(title: str, workload: "Workload", found: "Simulated", best: "FixedWidth") -> "Table":
    """Return a report for people."""
    from rich.text import Text

    from ..terminal import figures_table

    caption = (
        f"a {workload.query} every {workload.period:.4g}, within"
        f" {workload.delta:.4g} ± {workload.variation:.0%}, ρ {workload.rho:g}"
    )
    made = figures_table(title, ("rule", "cost rate", "P_vr", "P_qr", "mean width"), caption)
    figures = (found.cost_rate, found.p_vr, found.p_qr, found.mean_width)
    made.add_row(Text(found.rule), *(f"{figure:.4g}" for figure in figures))
    made.add_row("best fixed", f"{best.cost_rate:.4g}", "", "", f"{best.width:.4g}", style="dim")
    if best.cost_rate > 0:
        excess = found.cost_rate / best.cost_rate - 1
        made.add_row("above the best fixed", f"{excess:+.1%}", "", "", "", style="dim")
    return made
