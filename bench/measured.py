"""What a benchmark measured as a page: a table for each of its parts."""

from html import escape
from typing import NamedTuple


class Measured(NamedTuple):
    """A table of figures: the first column names who, the others hold what was measured."""

    title: str
    head: list[str]
    rows: list[list[str]]


def as_html(title: str, about: str, parts: list[Measured]) -> str:
    """Return the whole page.

    >>> fast = Measured("fast", ["who", "rows/s"], [["we", "7"]])
    >>> '<td>we</td><td class="value">7</td>' in as_html("Joins", "one minute each", [fast])
    True
    """
    from penstock.report import page, table  # here: `bench.turns` runs with earlier versions too

    tables = "\n".join(table(part.head, part.rows, caption=part.title) for part in parts)
    return page(title, f'<p class="quiet">{escape(about)}</p>\n{tables}')
