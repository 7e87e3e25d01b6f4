"""`penstock precision ...`: bounded answers from cached intervals."""

from typing import Annotated

import typer

from .output import AsJson, show_made

precision = typer.Typer(help="Bounded answers from cached intervals.", no_args_is_help=True)

Rule = Annotated[str, typer.Option(help="How widths are chosen.", metavar="NAME[:key=value,...]")]
Rho = Annotated[float, typer.Option(help="The cost factor 2 C_vr / C_qr; C_qr is 2.", metavar="R")]
Variation = Annotated[
    float, typer.Option(help="δ varies by this share of its average, 0 to 1.", metavar="D")
]
AskedFor = Annotated[
    str, typer.Option("--query", help="What queries ask for.", metavar="sum|avg|max")
]
Asked = Annotated[int | None, typer.Option(help="Sources of a query. [10, or all]", metavar="N")]
Capacity = Annotated[
    int | None, typer.Option(help="Intervals that a cache holds. [all]", metavar="K")
]
Seed = Annotated[int, typer.Option(help="Of all randomness.", metavar="S")]


@precision.command("simulate")
def simulate_precision(
    period: Annotated[float, typer.Option(help="Time from query to query: T_q.", metavar="T")],
    delta: Annotated[float, typer.Option(help="How wide an answer may be, on average.")],
    sources: Annotated[int, typer.Option(help="Random walks.", metavar="N")] = 1,
    delta_variation: Variation = 1.0,
    rho: Rho = 1.0,
    rule: Rule = "settling",
    query: AskedFor = "sum",
    asked: Asked = None,
    capacity: Capacity = None,
    caches: Annotated[int, typer.Option(help="Caches, each with its queries.", metavar="N")] = 1,
    steps: Annotated[int, typer.Option(help="Steps of each walk.", metavar="N")] = 1_000_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Run a width rule on random walks, and compare it with the best fixed width."""
    from ..precision import Workload
    from . import rule_report

    workload = Workload(period, delta, delta_variation, rho, query, asked, capacity, caches, seed)
    made = rule_report.simulated(rule, workload, sources, steps)
    show_made(rule_report.summarise(made) if as_json else rule_report.table(made))


@precision.command("replay")
def replay_precision(
    file: Annotated[str, typer.Argument(help="A CSV or Parquet file.", metavar="FILE")],
    key: Annotated[str, typer.Option(help="The column that names the source.")] = "key",
    value: Annotated[str, typer.Option(help="The column of its readings.")] = "value",
    time: Annotated[str, typer.Option(help="The column of their times.")] = "time",
    period: Annotated[
        float | None,
        typer.Option(help="Time from query to query. [as from reading to reading]", metavar="T"),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="How wide an answer may be. [5 changes a value]")
    ] = None,
    delta_variation: Variation = 1.0,
    rho: Rho = 1.0,
    rule: Rule = "settling",
    query: AskedFor = "sum",
    asked: Asked = None,
    capacity: Capacity = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Run a width rule on recorded readings, and compare it with the best fixed width."""
    from . import rule_report

    columns = {"key": key, "value": value, "time": time}
    options = {"variation": delta_variation, "rho": rho, "query": query, "asked": asked}
    options |= {"capacity": capacity, "seed": seed}
    made = rule_report.replayed(file, columns, rule, period, delta, options)
    show_made(rule_report.summarise(made) if as_json else rule_report.table(made))
