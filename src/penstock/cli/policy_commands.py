"""Commands about policies: `penstock simulate`, `policies` and `warm`.

Policies compared on a trace, what they are, and their kernels compiled ahead.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .output import AsJson, SeedOption, WithinOption, flag, following, option, show_made

if TYPE_CHECKING:  # both take long to import
    from rich.table import Table

    from ..simulate.comparison import Comparison

WHAT = {"joining": "results", "caching": "hits"}
BAR = 20  # characters


def simulate(
    memory: Annotated[int, option("How many tuples can be held.", "K")],
    workload: Annotated[
        str | None,
        option("Generated arrivals.", "tower|roof|floor|walk|zipf|gdj|locality[:key=value,...]"),
    ] = None,
    trace: Annotated[str | None, option("A CSV or Parquet file of arrivals.", "FILE")] = None,
    key: Annotated[str | None, option("Its key column, or several: a,b. [key]", "COL")] = None,
    time: Annotated[str | None, option("Its time column. [time, or the row number]", "COL")] = None,
    side: Annotated[str | None, option("The column that names the stream. [side]", "COL")] = None,
    problem: Annotated[str, option("What the memory is for.", "joining|caching")] = "joining",
    policy: Annotated[
        list[str] | None,
        option(
            "A policy, or opt or lfd: the best with hindsight. Repeatable. [all policies]",
            "NAME[:key=value,...]",
        ),
    ] = None,
    within: WithinOption = None,
    near: Annotated[
        float | None, option("Match values at most this far apart, not equal keys.", "EPS")
    ] = None,
    layout: Annotated[
        str, option("One memory, or one for each side.", "unified|split")
    ] = "unified",
    goal: Annotated[
        str, option("Get the most results, or rows that match.", "pairs|rows")
    ] = "pairs",
    runs: Annotated[int, option("Runs, each with its own seed.", "N")] = 1,
    length: Annotated[int | None, option("Steps, or rows of a trace. [5000, or all]", "N")] = None,
    warmup: Annotated[
        int | None, option("Steps or rows not counted. [4 x memory; 0 of a trace]", "N")
    ] = None,
    seed: SeedOption = 0,
    drop: Annotated[float, option("The share of arrivals dropped as they come.", "P")] = 0.0,
    distortion: Annotated[
        bool, flag("--distortion", "Tell how unevenly results are lost: SSE and KL.")
    ] = False,
    html: Annotated[Path | None, option("Write a page with bars.", "PATH")] = None,
    as_json: AsJson = False,
) -> None:
    """Replay a workload or a trace under several policies, and compare them."""
    from ..report import comparison_page, where_to_write
    from ..simulate.comparison import compare, summarise
    from ..simulate.scenario import Scenario, choose_source

    page = None if html is None else where_to_write(html)
    source = choose_source(workload, trace, key=key, time=time, side=side, length=length)
    scenario = Scenario(
        source, problem, memory, within, layout, warmup, seed, drop, distortion, goal, near
    )
    with following("simulating") as progress:
        made = compare(scenario, policy or (), runs, progress=progress)
    if page is not None:
        page.write_text(comparison_page.as_html(summarise(made, rows=True)), encoding="utf-8")
    show_made(summarise(made) if as_json else _table(made))


def _table(made: "Comparison") -> "Table":
    """Return the table of a comparison, in the order asked for, the best policy marked."""
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    from ..simulate.comparison import best_score, reached, summarise
    from ..simulate.player import HINDSIGHT
    from ..terminal import figures_table, short

    report = summarise(made, rows=True)
    best = reached(best_score(report), report)
    joins = report["problem"] == "joining"
    measures = ("sse", "kl") if made.scenario.distortion else ()
    bar = BAR // 2 if measures or joins else BAR
    matched = ["rows\nmatched"] if joins else []
    heads = ["policy", WHAT[report["problem"]], "recall", *matched, "", "tuples/s"]
    table = figures_table(_title(report), [*heads, *map(str.upper, measures)], _caption(report))
    table.columns[heads.index("")].width = bar
    for chosen, score in zip(made.policies, report["policies"], strict=True):
        share = reached(score, report)
        style = "bold green" if share == best else ""
        if chosen.policy in HINDSIGHT:
            style = "dim"
        colour = style or "cyan"
        table.add_row(
            Text(str(chosen)),
            _results(score["results"], report["runs"]),
            f"{score['recall']['mean']:.2%}",
            *([f"{score['matched']['recall']:.2%}" if "matched" in score else ""] if joins else []),
            ProgressBar(1, min(share, 1), bar, complete_style=colour, finished_style=colour),
            short(score["tuples_per_second"]),
            *(f"{score['distortion'][measure]['mean']:.4f}" for measure in measures),
            style=style,
        )
    return table


def _title(report: dict[str, Any]) -> str:
    runs = "" if report["runs"] == 1 else f", {report['runs']} runs"
    warmup = f" ({report['warmup']:,} to warm up)" if report["warmup"] else ""
    drop = f", {report['drop']:.0%} dropped" if "drop" in report else ""
    near = f", near {report['near']:g}" if "near" in report else ""
    goal = ", for rows" if report.get("goal") == "rows" else ""
    return (
        f"{report['problem']} {report['workload']}{near}{goal}: memory {report['memory']:,}, "
        f"length {report['length']:,}{warmup}{drop}{runs}"
    )


def _caption(report: dict[str, Any]) -> str:
    full = report["policies"][0]["full"]["mean"]
    explained = [each["explained"] for each in report["policies"] if "explained" in each]
    auto = "".join(f"; auto ended with {each['in_force']}: {each['why']}" for each in explained)
    rows = next((each["matched"]["full"] for each in report["policies"] if "matched" in each), None)
    matched = "" if rows is None else f", {rows:,.0f} rows matched"
    return f"with unlimited memory: {full:,.0f} {WHAT[report['problem']]}{matched}{auto}"


def _results(results: dict[str, float], runs: int) -> str:
    if runs == 1:
        return f"{results['mean']:,.0f}"
    return f"{results['mean']:,.1f} ± {results['std']:,.1f}"


def policies(as_json: AsJson = False) -> None:
    """List the policies, what they are for, and their parameters."""
    from ..simulate.player import list_policies

    rows = list_policies()
    show_made({"policies": rows} if as_json else _policies_table(rows))


def _policies_table(rows: list[dict[str, Any]]) -> "Table":
    """Return the table of all policies."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="policies", title_justify="left")
    for column in ("name", "what it evicts", "for", "parameters"):
        table.add_column(column)
    for row in rows:
        params = "\n".join(f"{name}={value}" for name, value in row["params"].items())
        table.add_row(Text(row["policy"]), row["summary"], "\n".join(row["problems"]), Text(params))
    return table


def warm(
    policy: Annotated[
        list[str] | None,
        option("A policy. Repeatable. [auto, and all that it tries]", "NAME[:key=value,...]"),
    ] = None,
    problem: Annotated[
        str | None, option("What the memory is for. [both]", "joining|caching")
    ] = None,
    goal: Annotated[str, option("The goal of joins.", "pairs|rows")] = "pairs",
    as_json: AsJson = False,
) -> None:
    """Compile kernels ahead, into PENSTOCK_CACHE_DIR or the user's cache folder.

    With Spark installed also all that its joins of two streams need. A kernel is kept once per
    machine, by what it is made of; what is there already is not compiled again. In a Dockerfile:
    ENV PENSTOCK_CACHE_DIR=/opt/penstock, then RUN penstock warm.
    """
    import time
    from importlib.util import find_spec

    from ..engine import warm as warming
    from ..errors import BadInput
    from ..kernel import jit
    from ..policies import choose

    folder = jit.cache_folder()
    if folder is None:
        raise BadInput(
            "there is no folder to keep kernels in; set PENSTOCK_CACHE_DIR to one that only you "
            "can write"
        )
    if problem not in (None, "joining", "caching"):
        raise BadInput(f"problem must be 'joining' or 'caching', got {problem!r}")
    names = policy or ["auto"]
    asked = [
        (name, each)
        for name in names
        for each in ("joining", "caching")
        if problem in (None, each) and (problem is not None or each in choose(name).policy.problems)
    ]
    for name, each in asked:
        choose(name, each)
    before, began = {path.name for path in folder.glob("*.nbc")}, time.perf_counter()
    with following("compiling") as progress:
        for number, (name, each) in enumerate(asked):
            progress(number, len(asked))
            warming.prepare_all(name, each, goal)
            if each == "joining" and find_spec("pyspark") is not None:
                from ..spark.runtime.rehearsal import rehearse_all

                rehearse_all(name, goal)
    made = {path.name for path in folder.glob("*.nbc")} - before
    used, seconds = len(jit.used_kernels()), round(time.perf_counter() - began, 1)
    report = {
        "folder": str(folder.parent),
        "policies": names,
        "compiled": len(made),
        "used": used,
        "seconds": seconds,
    }
    said = (
        f"{len(made)} kernels compiled in {seconds} s, {used - len(made)} were there; "
        f"kept in {folder.parent}"
    )
    show_made(report if as_json else said)
