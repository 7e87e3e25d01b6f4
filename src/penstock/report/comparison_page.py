"""A comparison of policies as a page: bars, and the figures beside them."""

from html import escape
from typing import Any

from ..kernel.gains import ROWS
from ..simulate.comparison import best_score, reached
from . import page, table


def as_html(report: dict[str, Any]) -> str:
    """Return the page of a comparison; `report` is that of `summarise` with its rows."""
    what = "results" if report["problem"] == "joining" else "hits"
    scores = report["policies"]
    by_rows = report.get("goal") == ROWS
    matched = any("matched" in each for each in scores)
    best = best_score(report)
    title = f"{report['problem'].capitalize()} {report['workload']}"
    lead = _lead(report, best, what, by_rows)
    runs = "" if report["runs"] == 1 else f", means of {report['runs']} runs"
    about = f"{report['length']:,} long, {report['warmup']:,} of it to warm up{runs}."
    ranked = sorted(scores, key=lambda each: -reached(each, report))
    head = ["policy", "recall", *(["rows matched"] if matched else []), "", what, "tuples/s"]
    rows = [_row(each, matched, reached(each, report)) for each in ranked]
    body = (
        f'<p class="lead">{escape(lead)}</p>\n<p class="quiet">{escape(about)}</p>\n'
        f"{table(head, rows, best=ranked.index(best))}\n"
        f'<p class="quiet">{_key(matched, by_rows)}</p>' + "".join(map(_explained, scores))
    )
    return page(title, body)


def _lead(report: dict[str, Any], best: dict[str, Any], what: str, by_rows: bool) -> str:
    """Say which policy is best and, of a join, what it finds by either measure."""
    full, memory = best["full"]["mean"], f"with a memory of {report['memory']:,} rows"
    found = f"{best['recall']['mean']:.1%} of the {full:,.0f} {what} that an unlimited memory gives"
    if "matched" not in best:
        return f"{best['policy']} finds the most: {found}, {memory}."
    matched = best["matched"]
    rows = f"{matched['recall']:.1%} of the {matched['full']:,.0f} rows that have a partner"
    if by_rows:
        return f"{best['policy']} matches the most rows: {rows}, and {found}, {memory}."
    return f"{best['policy']} finds the most: {found}, {memory}. It matches {rows}."


def _key(matched: bool, by_rows: bool) -> str:
    said = "Recall is the share of what an unlimited memory finds; opt and lfd know the future."
    if matched:
        said += " Rows matched: of the rows that have a partner, the share that found one."
        said += f" The bars show {'rows matched, which was the goal' if by_rows else 'recall'}."
    return said


def _row(score: dict[str, Any], matched: bool, share: float) -> list[str | float]:
    rows = f"{score['matched']['recall']:.2%}" if "matched" in score else ""
    return [
        score["policy"],
        f"{score['recall']['mean']:.2%}",
        *([rows] if matched else []),
        share,
        f"{score['results']['mean']:,.0f}",
        f"{score['tuples_per_second']:,}",
    ]


def _explained(score: dict[str, Any]) -> str:
    """Name the policy in force at the end of `auto`, why, and what its shadow caches found."""
    auto = score.get("explained")
    if auto is None:
        return ""
    beside = ", ".join(f"{name} {share:.1%}" for name, share in auto.get("scores", {}).items())
    beside = f" Its shadow caches: {beside}." if beside else ""
    said = f"auto ended with {auto['in_force']}: {auto['why']}.{beside}"
    return f'\n<p class="quiet">{escape(said)}</p>'
