"""Advice as a page: curves to hover over, a slider for the target, the line to paste."""

from html import escape
from typing import Any

from ..advisor import Advice, Curve, words
from ..advisor.words import MEASURES, WHAT
from . import page, table


def as_html(made: Advice) -> str:
    """Return the whole page."""
    what, names = words.what_counts(made), [name for name, _ in made.by_measure()]
    title = f"Memory for {made.streams.name}"
    said = "\n".join(f'<p class="doubt">{escape(each)}</p>' for each in words.doubts(made))
    hint = f'<p class="note">{escape(words.few_keys(made))}</p>\n' if made.few_keys else ""
    value, answer = round(1000 * made.target), f"{words.headline(made)} {words.both(made)}".strip()
    body = f"""{hint}{said}
<div class="target"><label for="target">Target, {escape(what)}</label>
<input id="target" type="range" min="10" max="1000" step="5" value="{value}">
<output id="target-said" for="target">{made.target:.1%}</output></div>
<p class="card" id="answer" aria-live="polite">{escape(answer)}</p>
<pre id="code">{escape(made.code)}</pre>
<h2>{escape(_heading(names, made))} by memory</h2>
<div id="legend" class="legend" role="group" aria-label="Policies; press one to hide it"></div>
<figure>{_charts(names)}
<figcaption><span class="hint">Hover, touch, or use the arrow keys to read values; press a policy to
hide it. </span>Memory grows by factors along the axis. {escape(_bands(made))}</figcaption></figure>
<p id="spoken" class="quiet hint" aria-live="polite"></p>
<h2>What was looked at</h2>
{_facts(made)}
<details><summary>All figures</summary>{_figures(made)}</details>"""
    return page(title, body, _data(made, what, title), ("plots.js", "chart.js"))


def _heading(names: list[str], made: Advice) -> str:
    parts = [MEASURES[name][0] if name else WHAT[made.streams.problem] for name in names]
    return " and ".join(parts).capitalize()


def _charts(names: list[str]) -> str:
    """Return the places of the pictures: of a join two, side by side where there is room."""
    if names == [""]:
        return '<div id="chart" class="chart" tabindex="0"></div>'
    parts = []
    for name, place in zip(names, ("chart", "beside"), strict=True):
        what, of = MEASURES[name]
        head = f"<h3>{escape(what.capitalize())}, in % {escape(of)}</h3>"
        parts.append(f'<div>{head}<div id="{place}" class="chart" tabindex="0"></div></div>')
    return f'<div class="pair">{"".join(parts)}</div>'


def _bands(made: Advice) -> str:
    if made.sampled["whole"]:
        return "Every row was replayed, so the curves are exact for this data."
    return "Estimated from a sample: the truth lies in the bands 95 times of 100."


def _facts(made: Advice) -> str:
    lines = [
        f'<tr><td>{escape(what)}</td><td class="value">{escape(value)}</td></tr>'
        for what, value in words.facts(made)
    ]
    return f'<table class="facts">{"".join(lines)}</table>'


def _figures(made: Advice) -> str:
    return "".join(
        _table(curves, f"{words.measured(made, name)} by memory")
        for name, curves in made.by_measure()
    )


def _table(curves: list[Curve], caption: str) -> str:
    rows = sorted({int(each) for curve in curves for each in curve.rows})
    names = [curve.policy for curve in curves]
    lines = [[f"{each:,}", *(f"{curve.at(each).share:.1%}" for curve in curves)] for each in rows]
    return table(["rows", *names], lines, caption=caption)


def _data(made: Advice, what: str, title: str) -> dict[str, Any]:
    """Return what the script draws."""
    return {
        "title": f"{what} by memory: {title}",
        "what": what,
        "problem": made.streams.problem,
        "peak": made.streams.peak,
        "exact_bytes": made.exact_bytes,
        "most": made.streams.most,
        "beside": "".join(MEASURES[name][0] for name, _ in made.by_measure()[1:]),
        "call": made.call.replace("{policy!r}", '"{policy}"').replace("goal='rows'", 'goal="rows"'),
        "curves": [_drawn(made, curve) for curve in made.curves],
    }


def _drawn(made: Advice, curve: Curve) -> dict[str, Any]:
    """Return what is drawn of a policy, and its memory in bytes: so many, and for each row more."""
    few, many = max(1, made.answer.rows // 2), made.streams.peak
    low, high = (made.bytes_of(curve.policy, rows) for rows in (few, many))
    slope = (high - low) / (many - few) if many > few else low / few
    drawn = {
        "policy": curve.policy,
        "rows": curve.rows.tolist(),
        "fixed_bytes": round(low - slope * few),
        "row_bytes": round(slope, 3),
        **_points(curve),
    }
    return drawn if curve.beside is None else drawn | {"beside": _points(curve.beside)}


def _points(curve: Curve) -> dict[str, list[float]]:
    return {
        "share": [round(each, 6) for each in curve.share.tolist()],
        "error": [round(each, 6) for each in curve.error.tolist()],
    }
