"""A comparison in figures: the JSON object of `penstock simulate --json`, and tables to read."""

from math import isfinite
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from ..core.gains import ROWS
from ..core.policy import CACHING, JOINING, Chosen
from .catalogue import HINDSIGHT
from .comparison import Comparison, Measured, share

if TYPE_CHECKING:  # rich is imported where a table is made
    from rich.table import Table

BAR = 20  # characters
WHAT = {JOINING: "results", CACHING: "hits"}


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
        "length": made.length,
        "warmup": scenario.warm_up,
        "runs": len(made.runs),
        **({"drop": scenario.drop} if scenario.drop else {}),
        **({"goal": scenario.goal} if by_rows else {}),
        "policies": [
            _score(chosen, [run[place] for run in made.runs], rows or by_rows)
            for place, chosen in enumerate(made.policies)
        ],
    }


def _score(chosen: Chosen, runs: list[Measured], rows: bool) -> dict[str, Any]:
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


def comparison_table(made: Comparison) -> "Table":
    """Return the table of a comparison, in the order asked for, the best policy marked."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    report = summarise(made, rows=True)
    scores = report["policies"]
    hindsight = [policy.name for policy in HINDSIGHT]
    online = [each for each in scores if each["policy"] not in hindsight] or scores
    by_rows = report.get("goal") == ROWS
    best = max(_reached(each, by_rows) for each in online)
    joins = report["problem"] == JOINING
    measures = ("sse", "kl") if made.scenario.distortion else ()
    bar = BAR // 2 if measures else BAR
    table = Table(title=Text(_title(report)), title_justify="left", caption=Text(_caption(report)))
    table.add_column("policy", overflow="fold")
    for name in (WHAT[report["problem"]], "recall", *(["rows matched"] if joins else [])):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", width=bar)
    for name in ("tuples/s", *map(str.upper, measures)):
        table.add_column(name, justify="right", no_wrap=True)
    for chosen, score in zip(made.policies, scores, strict=True):
        reached = _reached(score, by_rows)
        style = "bold green" if reached == best else ""
        if chosen.policy in HINDSIGHT:
            style = "dim"
        colour = style or "cyan"
        table.add_row(
            Text(str(chosen)),
            _results(score["results"], report["runs"]),
            f"{score['recall']['mean']:.2%}",
            *([f"{score['matched']['recall']:.2%}" if "matched" in score else ""] if joins else []),
            ProgressBar(1, min(reached, 1), bar, complete_style=colour, finished_style=colour),
            _short(score["tuples_per_second"]),
            *(f"{score['distortion'][measure]['mean']:.4f}" for measure in measures),
            style=style,
        )
    return table


def _reached(score: dict[str, Any], by_rows: bool) -> float:
    """Return the share of its goal that a policy has reached."""
    return score["matched"]["recall"] if by_rows else score["recall"]["mean"]


def _title(report: dict[str, Any]) -> str:
    runs = "" if report["runs"] == 1 else f", {report['runs']} runs"
    warmup = f" ({report['warmup']:,} to warm up)" if report["warmup"] else ""
    drop = f", {report['drop']:.0%} dropped" if "drop" in report else ""
    goal = ", for rows" if report.get("goal") == ROWS else ""
    return (
        f"{report['problem']} {report['workload']}{goal}: memory {report['memory']:,}, "
        f"length {report['length']:,}{warmup}{drop}{runs}"
    )


def _caption(report: dict[str, Any]) -> str:
    full = report["policies"][0]["full"]["mean"]
    explained = [each["explained"] for each in report["policies"] if "explained" in each]
    auto = "".join(f"; auto ended with {each['in_force']}: {each['why']}" for each in explained)
    return f"with unlimited memory: {full:,.0f} {WHAT[report['problem']]}{auto}"


def _results(results: dict[str, float], runs: int) -> str:
    if runs == 1:
        return f"{results['mean']:,.0f}"
    return f"{results['mean']:,.1f} ± {results['std']:,.1f}"


def _short(number: float) -> str:
    """Return a speed in few figures.

    >>> _short(24_534_351), _short(701_801), _short(950)
    ('24.5 M', '702 k', '950')
    """
    if number >= 1e6:
        return f"{number / 1e6:.1f} M"
    return f"{number / 1e3:.0f} k" if number >= 1e3 else str(number)


def policies_table(rows: list[dict[str, Any]]) -> "Table":
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
