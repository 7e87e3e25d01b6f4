"""A comparison of policies as a page: bars, and the figures beside them."""

from html import escape
from typing import Any

from ..core.gains import ROWS
from .frame import page

HINDSIGHT = ("opt", "lfd")


def as_html(report: dict[str, Any]) -> str:
    """Return the page of a comparison; `report` is that of `summarise` with its rows."""
    what = "results" if report["problem"] == "joining" else "hits"
    scores = report["policies"]
    online = [each for each in scores if each["policy"] not in HINDSIGHT] or scores
    by_rows = report.get("goal") == ROWS
    matched = any("matched" in each for each in scores)
    best = max(online, key=lambda each: _reached(each, by_rows))
    title = f"{report['problem'].capitalize()} {report['workload']}"
    lead = _lead(report, best, what, by_rows)
    runs = "" if report["runs"] == 1 else f", means of {report['runs']} runs"
    about = f"{report['length']:,} long, {report['warmup']:,} of it to warm up{runs}."
    ranked = sorted(scores, key=lambda each: -_reached(each, by_rows))
    rows = "\n".join(_row(each, each is best, matched, by_rows) for each in ranked)
    second = '<th scope="col" class="value">rows matched</th>' if matched else ""
    body = (
        f'<p class="lead">{escape(lead)}</p>\n<p class="quiet">{escape(about)}</p>\n'
        '<div class="tables"><table><thead><tr><th scope="col">policy</th>'
        f'<th scope="col" class="value">recall</th>{second}<th scope="col"></th>'
        f'<th scope="col" class="value">{what}</th>'
        '<th scope="col" class="value">tuples/s</th></tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>\n"
        f'<p class="quiet">{_key(matched, by_rows)}</p>' + "".join(map(_explained, scores))
    )
    return page(title, body)


def _lead(report: dict[str, Any], best: dict[str, Any], what: str, by_rows: bool) -> str:
    """Say which policy is best and, of a join, what it finds by either measure."""
    full, memory = best["full"]["mean"], f"with a memory of {report['memory']:,} rows"
    found = f"{best['recall']['mean']:.1%} of the {full:,.0f} {what} that an unlimited memory gives"
    if "matched" not in best:
        return f"{_name(best)} finds the most: {found}, {memory}."
    matched = best["matched"]
    rows = f"{matched['recall']:.1%} of the {matched['full']:,.0f} rows that have a partner"
    if by_rows:
        return f"{_name(best)} matches the most rows: {rows}, and {found}, {memory}."
    return f"{_name(best)} finds the most: {found}, {memory}. It matches {rows}."


def _key(matched: bool, by_rows: bool) -> str:
    told = "Recall is the share of what an unlimited memory finds; opt and lfd know the future."
    if matched:
        told += " Rows matched: of the rows that have a partner, the share that found one."
        told += f" The bars show {'rows matched, which was the goal' if by_rows else 'recall'}."
    return told


def _reached(score: dict[str, Any], by_rows: bool) -> float:
    """Return the share that a policy has reached of its goal."""
    return float(score["matched"]["recall"] if by_rows else score["recall"]["mean"])


def _row(score: dict[str, Any], best: bool, matched: bool, by_rows: bool) -> str:
    recall = score["recall"]["mean"]
    width = 100 * min(1.0, _reached(score, by_rows))
    rows = f"{score['matched']['recall']:.2%}" if "matched" in score else ""
    return (
        ('<tr class="best">' if best else "<tr>")
        + f"<td>{escape(_name(score))}</td>"
        + f'<td class="value">{recall:.2%}</td>'
        + (f'<td class="value">{rows}</td>' if matched else "")
        + f'<td class="bars"><span class="bar" style="width:{width:.2f}%"></span></td>'
        + f'<td class="value">{score["results"]["mean"]:,.0f}</td>'
        + f'<td class="value">{score["tuples_per_second"]:,}</td></tr>'
    )


def _explained(score: dict[str, Any]) -> str:
    """Tell who ruled in the end where `auto` did, why, and what the others would have found."""
    told = score.get("explained")
    if told is None:
        return ""
    beside = ", ".join(f"{name} {share:.1%}" for name, share in told.get("scores", {}).items())
    beside = f" Beside it, in miniature: {beside}." if beside else ""
    return (
        f'\n<p class="quiet">auto ended with {escape(told["in_force"])}: {escape(told["why"])}.'
        f"{escape(beside)}</p>"
    )


def _name(score: dict[str, Any]) -> str:
    return str(score["policy"])
