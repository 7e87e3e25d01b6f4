"""A profile as a page: why keys come back, in pictures and in figures."""

from html import escape
from itertools import groupby

from ..profile.stream_profile import Profile
from ..profile.summary import rows, verdict
from .frame import page
from .profile_plots import all_plots, as_svg

CAPTIONS = {
    "popularity": "A straight line means a Zipf law: few keys make up most of the stream.",
    "distance": "Where the stream lies above its random order, keys come back because they came a"
    " moment ago, not because they are popular.",
    "hits": "What a cache of so many rows would find, when the last used are kept. The line at the"
    " top is an unlimited cache.",
    "locality": "The more of the past the locality model knows, the less is left to popularity."
    " Where the curve is flat, a longer memory explains nothing more.",
}
BAND = " It was estimated: the truth lies in the band 95 times of 100."


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
