"""Pages for people: self-contained HTML, on a screen, a phone and on paper.

Here is the frame of every page. `advice_page`, `comparison_page` and `profile_page` are those of
`penstock advise`, `simulate` and `profile`; `plots.js` draws curves, `chart.js` has what moves on
the page of an advice, and `page.css` is the look of all of them. `live` is the page of running
queries, served by `server`, and of their `history`; `attention` says what needs a person,
`exposition` is for Prometheus.
"""

import json
import os
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import BadInput

__all__ = ["embedded", "page", "table", "where_to_write"]


def where_to_write(path: Path) -> Path:
    """Return the file, refusing before the work what would fail after it."""
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise BadInput(f"--html must be a file in a folder that can be written to, got {path}")
    return path


def page(
    title: str,
    body: str,
    data: dict[str, Any] | None = None,
    scripts: Sequence[str] = ("plots.js",),
    style: str = "",
) -> str:
    """Return a whole page; with `data` it has the scripts that draw curves from them.

    style: rules of this page beside those of `page.css`.

    >>> "<script" in page("a & b", "<p>none</p>"), "<title>a &amp; b" in page("a & b", "")
    (False, True)
    """
    drawn = ""
    if data is not None:
        drawn = f'<script id="data" type="application/json">{embedded(data)}</script>\n' + "".join(
            f"<script>\n{_resource(name)}</script>\n" for name in scripts
        )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_resource('page.css')}{style}</style>\n</head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n{body}\n{drawn}</body>\n</html>\n"
    )


def embedded(data: dict[str, Any]) -> str:
    """Return data as JSON that cannot end the script it stands in.

    >>> embedded({"name": "</script>"})
    '{"name": "\\\\u003c/script>"}'
    """
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")


def table(
    head: list[str], rows: Sequence[Sequence[str | float]], caption: str = "", best: int = -1
) -> str:
    """Return a table; all columns but the first hold numbers, and row `best` stands out.

    A cell that is no text but a share is drawn as a bar.
    """
    names = "".join(
        f'<th scope="col"{_value(place)}>{escape(name)}</th>' for place, name in enumerate(head)
    )
    lines = [
        ('<tr class="best">' if number == best else "<tr>")
        + "".join(_cell(place, cell) for place, cell in enumerate(row))
        + "</tr>"
        for number, row in enumerate(rows)
    ]
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "\n".join(lines)
    return (
        f'<div class="tables"><table>{said}<thead><tr>{names}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(place: int, cell: str | float) -> str:
    if isinstance(cell, str):
        return f"<td{_value(place)}>{escape(cell)}</td>"
    width = 100 * min(1.0, cell)
    return f'<td class="bars"><span class="bar" style="width:{width:.2f}%"></span></td>'


def _value(place: int) -> str:
    return ' class="value"' if place else ""


@cache
def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
