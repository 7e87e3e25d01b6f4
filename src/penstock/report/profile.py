"""The HTML page of a profile: plots, and the table of all figures."""

from html import escape
from itertools import groupby

from ..profile.stream_profile import Profile
from ..profile.summary import rows, verdict
from .frame import page
from .profile_plots import all_plots, as_svg

CAPTIONS = {
    "popularity": "A straight line indicates a Zipf law: few keys have most of the rows.",
    "distance": "Where the stream lies above its random order, keys are repeated because they"
    " occurred recently, not because they are popular.",
    "hits": "The hit ratio of a cache of this many rows that evicts the least recently used row."
    " The horizontal line is an unlimited cache.",
    "locality": "The more preceding rows the locality model looks back on, the smaller is the share"
    " of rows drawn by popularity. Where the curve is flat, more rows explain nothing more.",
}
BAND = " The curve is estimated; in 95 of 100 cases the true value lies within the band."


def as_html(made: Profile) -> str:
    """Return the whole page."""
    pictures = "\n".join(
        f'<figure role="img" aria-label="{_caption(key, made)}">{as_svg(key, figure)}'
        f"<figcaption>{_caption(key, made)}</figcaption></figure>"
        for key, figure in all_plots(made).items()
    )
    body = (
        f'<p class="lead">{escape(_sentence(verdict(made)))}</p>\n'
        f'<div class="plots">\n{pictures}\n</div>\n'
        f'<div class="tables"><table>\n{_tables(made)}\n</table></div>'
    )
    return page(f"Profile of {made.name}", body)


def _caption(key: str, made: Profile) -> str:
    sampled = made.sampling is not None and key in ("distance", "hits")
    return escape(CAPTIONS[key] + (BAND if sampled else ""))


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."


def _tables(made: Profile) -> str:
    lines = []
    for part, group in groupby(rows(made), key=lambda row: row.part):
        lines.append(f'<tr><th colspan="3" scope="rowgroup">{escape(part)}</th></tr>')
        lines += [
            f'<tr><td>{escape(row.what)}</td><td class="value">{escape(row.value)}</td>'
            f'<td class="meaning">{escape(row.meaning)}</td></tr>'
            for row in group
        ]
    return "\n".join(lines)
