"""Advice as a page: curves to hover over, a slider for the target, the line to paste."""

from html import escape
from typing import Any

from ..advisor import Advice
from ..advisor.sizes import slot_bytes
from ..advisor.words import WHAT, doubts, facts, headline
from .frame import page, table


def as_html(made: Advice) -> str:
    """Return the whole page."""
    what = WHAT[made.streams.problem]
    title = f"Memory for {made.streams.name}"
    said = "\n".join(f'<p class="doubt">{escape(each)}</p>' for each in doubts(made))
    value = round(1000 * made.target)
    body = f"""{said}
<div class="target"><label for="target">Target, {escape(what)}</label>
<input id="target" type="range" min="10" max="1000" step="5" value="{value}">
<output id="target-said" for="target">{made.target:.1%}</output></div>
<p class="card" id="answer" aria-live="polite">{escape(headline(made))}</p>
<pre id="code">{escape(made.code)}</pre>
<h2>{escape(what.capitalize())} by memory</h2>
<div id="legend" class="legend" role="group" aria-label="Policies; press one to hide it"></div>
<figure><div id="chart" class="chart" tabindex="0"></div>
<figcaption><span class="hint">Hover, touch, or use the arrow keys to read values; press a policy to
hide it. </span>Memory grows by factors along the axis. {escape(_bands(made))}</figcaption></figure>
<p id="spoken" class="quiet hint" aria-live="polite"></p>
<h2>What was looked at</h2>
{_facts(made)}
<details><summary>All figures</summary>{_figures(made)}</details>"""
    return page(title, body, _data(made, what, title))


def _bands(made: Advice) -> str:
    if made.sampled["whole"]:
        return "Every row was replayed, so the curves are exact for this data."
    return "Estimated from a sample: the truth lies in the bands 95 times of 100."


def _facts(made: Advice) -> str:
    lines = [
        f'<tr><td>{escape(what)}</td><td class="value">{escape(value)}</td></tr>'
        for what, value in facts(made)
    ]
    return f'<table class="facts">{"".join(lines)}</table>'


def _figures(made: Advice) -> str:
    rows = sorted({int(each) for curve in made.curves for each in curve.rows})
    names = [curve.policy for curve in made.curves]
    lines = [
        [f"{each:,}", *(f"{curve.at(each).share:.1%}" for curve in made.curves)] for each in rows
    ]
    return table(["rows", *names], lines, caption=WHAT[made.streams.problem] + " by memory")


def _data(made: Advice, what: str, title: str) -> dict[str, Any]:
    """Return what the script draws."""
    return {
        "title": f"{what} by memory: {title}",
        "what": what,
        "problem": made.streams.problem,
        "peak": made.streams.peak,
        "most": made.streams.most,
        "row_bytes": _row_bytes(made),
        "call": made.streams.call.replace("{policy!r}", '"{policy}"'),
        "curves": [
            {
                "policy": curve.policy,
                "rows": curve.rows.tolist(),
                "share": [round(each, 6) for each in curve.share.tolist()],
                "error": [round(each, 6) for each in curve.error.tolist()],
            }
            for curve in made.curves
        ],
    }


def _row_bytes(made: Advice) -> float:
    """Return what a row takes under the policy that is advised."""
    return slot_bytes(made.best.policy, made.streams.problem) + made.streams.payload
