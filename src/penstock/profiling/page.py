"""A profile as one HTML page that needs nothing else: no script, no link, pictures inside."""

import os
from html import escape
from itertools import groupby
from pathlib import Path

from ..errors import BadInput
from .plots import all_plots, as_svg
from .profile import Profile
from .words import rows, verdict

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1d1d1f; background: #fff;
       max-width: 1100px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 0; overflow-wrap: anywhere; }
p.verdict { font-size: 1.15rem; margin: .3rem 0 1.5rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr));
         gap: 1rem 1.5rem; }
figure { margin: 0; }
figure svg { width: 100%; height: auto; }
figcaption, td.meaning { color: #5f6368; font-size: .9rem; }
.tables { overflow-x: auto; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; padding: 1rem .5rem .2rem 0; border-bottom: 1px solid #d3dbe4; }
td { padding: .2rem .5rem .2rem 0; vertical-align: top; }
td.value { text-align: right; white-space: nowrap; padding-right: 1.5rem;
           font-variant-numeric: tabular-nums; }
"""

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


def where_to_write(path: Path) -> Path:
    """Return the file, refusing before the work what would fail after it."""
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise BadInput(f"--html must be a file in a folder that can be written to, got {path}")
    return path


def write(made: Profile, path: Path) -> None:
    """Write the page."""
    path.write_text(as_html(made), encoding="utf-8")


def as_html(made: Profile) -> str:
    """Return the whole page."""
    name = escape(made.name)
    pictures = "\n".join(
        f'<figure role="img" aria-label="{_caption(key, made)}">{as_svg(key, figure)}'
        f"<figcaption>{_caption(key, made)}</figcaption></figure>"
        for key, figure in all_plots(made).items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Profile of {name}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>Profile of {name}</h1>\n<p class="verdict">{escape(_sentence(verdict(made)))}</p>\n'
        f'<div class="plots">\n{pictures}\n</div>\n'
        f'<div class="tables"><table>\n{_tables(made)}\n</table></div>\n</body>\n</html>\n'
    )


def _caption(key: str, made: Profile) -> str:
    sampled = made.sampling is not None and key in ("distance", "hits")
    return escape(CAPTIONS[key] + (BAND if sampled else ""))


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."


def _tables(made: Profile) -> str:
    lines = []
    for part, group in groupby(rows(made), key=lambda row: row.part):
        lines.append(f'<tr><th colspan="3">{escape(part)}</th></tr>')
        lines += [
            f'<tr><td>{escape(row.what)}</td><td class="value">{escape(row.value)}</td>'
            f'<td class="meaning">{escape(row.meaning)}</td></tr>'
            for row in group
        ]
    return "\n".join(lines)
