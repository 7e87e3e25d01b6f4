"""A comparison of policies as a page: bars, and the figures beside them."""

from html import escape
from typing import Any

from .frame import page

HINDSIGHT = ("opt", "lfd")


def as_html(report: dict[str, Any]) -> str:
    """Return the page of what `penstock simulate --json` prints."""
    what = "results" if report["problem"] == "joining" else "hits"
    scores = report["policies"]
    mortals = [each for each in scores if each["policy"] not in HINDSIGHT] or scores
    best = max(mortals, key=lambda each: each["recall"]["mean"])
    title = f"{report['problem'].capitalize()} {report['workload']}"
    full = scores[0]["full"]["mean"]
    lead = (
        f"{_name(best)} finds the most: {best['recall']['mean']:.1%} of the {full:,.0f} {what} that"
        f" an unlimited memory gives, with a memory of {report['memory']:,} rows."
    )
    runs = "" if report["runs"] == 1 else f", means of {report['runs']} runs"
    about = f"{report['length']:,} long, {report['warmup']:,} of it to warm up{runs}."
    ranked = sorted(scores, key=lambda each: -each["recall"]["mean"])
    rows = "\n".join(_row(each, each is best) for each in ranked)
    body = (
        f'<p class="lead">{escape(lead)}</p>\n<p class="quiet">{escape(about)}</p>\n'
        '<div class="tables"><table><thead><tr><th scope="col">policy</th>'
        '<th scope="col" class="value">recall</th><th scope="col"></th>'
        f'<th scope="col" class="value">{what}</th>'
        '<th scope="col" class="value">tuples/s</th></tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>\n"
        '<p class="quiet">Recall is the share of what an unlimited memory finds;'
        " opt and lfd know the future.</p>" + "".join(map(_explained, scores))
    )
    return page(title, body)


def _row(score: dict[str, Any], best: bool) -> str:
    recall = score["recall"]["mean"]
    width = 100 * min(1.0, recall)
    return (
        ('<tr class="best">' if best else "<tr>")
        + f"<td>{escape(_name(score))}</td>"
        + f'<td class="value">{recall:.2%}</td>'
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
