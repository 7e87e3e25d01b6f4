"""The papers' experiments as a page: every figure, and a verdict on every claim."""

import base64
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from penstock.report import page

LOOKS = {"holds": "good", "holds in part": "partly", "does not hold here": "bad"}
STYLE = """\
figure > img { display: block; max-width: 100%; height: auto; background: #fff;
               border-radius: 8px; }
a { color: var(--c0); }
ul.claims { list-style: none; padding: 0; margin: .6rem 0; }
ul.claims li { margin: .5rem 0; overflow-wrap: anywhere; }
.verdict { font-size: .85rem; font-weight: 600; border: 1px solid currentcolor;
           border-radius: 999px; padding: .05rem .6rem; white-space: nowrap; }
.good { color: var(--c2); }
.partly { color: var(--c6); }
table.overview { width: auto; }
table.overview th, table.overview td { padding-right: 1.2rem; white-space: normal; }
"""
Record = dict[str, Any]  # what an experiment leaves: `output.py` writes it


def as_html(
    records: list[Record], papers: Mapping[str, str], intro: Iterable[str], folder: Path
) -> str:
    """Return the whole page; figures are read from NAME.png in the folder.

    papers: the citation of each, by the name that records have.
    intro: what is to be said first, a paragraph each.
    """
    shown = {name: [each for each in records if each["paper"] == name] for name in papers}
    parts = [*(f"<p>{escape(each)}</p>" for each in intro), _overview(shown)]
    for name, mine in shown.items():
        if mine:
            parts.append(f'<h2 id="{escape(name)}">{escape(name)}</h2>')
            parts.append(f'<p class="quiet">{escape(papers[name])}.</p>')
            parts += [_experiment(each, folder) for each in mine]
    return page("The papers' experiments, repeated", "\n".join(parts), style=STYLE)


def _overview(shown: Mapping[str, list[Record]]) -> str:
    head = "".join(f'<th scope="col" class="value">{escape(each)}</th>' for each in LOOKS)
    rows = []
    for name, mine in shown.items():
        counts = Counter(verdict["verdict"] for each in mine for verdict in each["verdicts"])
        cells = "".join(f'<td class="value">{counts[each]}</td>' for each in LOOKS)
        link = f'<a href="#{escape(name)}">{escape(name)}</a>' if mine else escape(name)
        rows.append(f"<tr><td>{link}</td>{cells}</tr>")
    body = "\n".join(rows)
    return (
        '<div class="tables"><table class="overview"><caption>Claims by paper</caption>'
        f'<thead><tr><th scope="col">paper</th>{head}</tr></thead>\n<tbody>{body}</tbody>'
        "</table></div>"
    )


def _experiment(record: Record, folder: Path) -> str:
    figure = record["figure"]
    title = escape(f"{figure[0].upper()}{figure[1:]}: {record['what']}")
    picture = base64.b64encode((folder / f"{record['name']}.png").read_bytes()).decode()
    claims = "\n".join(_claim(**each) for each in record["verdicts"])
    small = ["This is the small version of --quick."] if record["quick"] else []
    notes = " ".join([*record["notes"], *small])
    return (
        f'<section id="{escape(record["name"])}"><h3>{title}</h3>\n'
        f'<figure><img src="data:image/png;base64,{picture}" alt="{title}"></figure>\n'
        f'<ul class="claims">{claims}</ul>\n<p class="quiet">{escape(notes)} '
        f"<code>python -m papers reproduce {escape(record['name'])}</code></p></section>"
    )


def _claim(claim: str, verdict: str, ours: str) -> str:
    return (
        f'<li><span class="verdict {LOOKS[verdict]}">{escape(verdict)}</span> {escape(claim)}'
        f'<br><span class="quiet">{escape(ours)}</span></li>'
    )
