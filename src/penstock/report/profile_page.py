"""The HTML page of a profile: plots, drawn by `plots.js`, and the table of all figures."""

from html import escape
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..profile.bursts import Bursts
from ..profile.stream_profile import Profile, spread
from ..profile.summary import rows, verdict
from . import page

FINE = 200  # points of a curve
STREAM, OTHER, GREY = 0, 1, 7  # colours of the page
CAPTIONS = {
    "popularity": "A straight line indicates a Zipf law: few keys have most of the rows.",
    "distance": "Where the stream lies above its random order, keys are repeated because they"
    " occurred recently, not because they are popular.",
    "hits": "The hit ratio of a cache of this many rows that evicts the least recently used row."
    " The horizontal line is an unlimited cache.",
    "rate": "How many rows arrive, over the whole stream. The horizontal line is the mean.",
    "locality": "The more preceding rows the locality model looks back on, the smaller is the share"
    " of rows drawn by popularity. Where the curve is flat, more rows explain nothing more.",
}
BAND = " The curve is estimated; in 95 of 100 cases the true value lies within the band."


def as_html(made: Profile) -> str:
    """Return the whole page."""
    plots = _plots(made)
    pictures = "\n".join(
        f"<figure><h3>{escape(plot['title'])}</h3>"
        f'<div id="{plot["id"]}" class="chart" role="img" aria-label="{escape(plot["title"])}">'
        f"</div><figcaption>{_caption(plot['id'], made)}</figcaption></figure>"
        for plot in plots
    )
    body = (
        f'<p class="lead">{escape(_sentence(verdict(made)))}</p>\n'
        f'<div class="plots">\n{pictures}\n</div>\n'
        f'<div class="tables"><table>\n{_tables(made)}\n</table></div>'
    )
    return page(f"Profile of {made.name}", body, {"plots": plots})


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


def _plots(made: Profile) -> list[dict[str, Any]]:
    """Return what the script draws, in the order of the page."""
    plots = [_popularity(made), _distance(made), _hit_ratio(made), _b_by_h(made)]
    return plots if made.bursts is None else [*plots, _rate(made.bursts)]


def _plot(name: str, title: str, across: str, up: str, **more: Any) -> dict[str, Any]:
    """Return a plot; by default of shares, over numbers on a logarithmic scale."""
    axes = {"x_log": True, "y_log": False, "y_range": [0, 1.02], "percent": True}
    return {"id": name, "title": title, "across": across, "up": up, **axes, **more}


def _curve(
    name: str, colour: int, x: ArrayLike, y: ArrayLike, error: ArrayLike | None = None,
    kind: str = "line",
) -> dict[str, Any]:  # fmt: skip
    """Return a curve; kind: line, dashed, dots, or both line and dots."""
    points = {"x": np.asarray(x).tolist(), "y": np.asarray(y).tolist()}
    band = {} if error is None else {"error": np.asarray(error).tolist()}
    return {"name": name, "colour": colour, "kind": kind, **points, **band}


def _popularity(made: Profile) -> dict[str, Any]:
    """Plot shares by rank, both on logarithmic scales, and the fitted law."""
    ranks = spread(made.keys, FINE)
    share, law = made.popularity.share(ranks), made.popularity.law(ranks)
    exponent, error = made.popularity.exponent
    fitted = f"Zipf, z = {exponent:.2f}" + ("" if error is None else f" ± {error:.2g}")
    sampled = made.sampling is not None and made.sampling.keys_error > 0
    low = float(share.min() / 2)  # a steep law would compress the points
    return _plot(
        "popularity", "Popularity", "rank of the key", "share of the stream",
        y_log=True,
        x_range=[1, made.keys],
        y_range=[low, 1.2 * float(max(share.max(), law.max()))],
        curves=[
            _curve("estimated" if sampled else "counted", STREAM, ranks, share, kind="dots"),
            _curve(fitted, OTHER, ranks, law),
        ],
    )  # fmt: skip


def _distance(made: Profile) -> dict[str, Any]:
    """Plot the share of the rows whose key is repeated within k rows."""
    k = spread(made.length - 1, FINE)
    seen, permuted = made.distances, made.permuted
    return _plot(
        "distance", "How soon keys are repeated", "within this many rows", "share of all rows",
        x_range=[1, max(made.length - 1, 1)],
        curves=[
            _curve("the stream", STREAM, k, seen.within(k), seen.error(k)),
            _curve("in random order", OTHER, k, permuted.within(k), kind="dashed"),
        ],
    )  # fmt: skip


def _hit_ratio(made: Profile) -> dict[str, Any]:
    """Plot the hit ratio of an LRU cache of every size."""
    size, most = spread(made.keys, FINE), made.reuse.size_for(0.9)
    ratio = made.reuse.hit_ratio(size)
    return _plot(
        "hits", "Hit ratio of an LRU cache", "rows in the cache", "share of all rows",
        x_range=[1, made.keys],
        curves=[
            _curve("", STREAM, size, ratio, made.reuse.error(size)),
            _curve("", OTHER, [most], [made.reuse.hit_ratio(most)], kind="dots"),
        ],
        level=float(ratio[-1]),
        mark={
            "at": most,
            "said": f"90 % of all possible hits with {most:,} rows",
            "high": bool(ratio[0] <= 0.2),  # away from the curve
        },
    )  # fmt: skip


def _b_by_h(made: Profile) -> dict[str, Any]:
    """Plot the share of rows drawn by popularity against how far the model looks back."""
    seen = made.horizon
    squares = [each.b for each in seen.squares]
    said = f"h = {seen.advice} is enough" if seen.settled else "b may fall further"
    return _plot(
        "locality", "Share of rows explained by popularity alone",
        "h: preceding rows in the model", "b: drawn by popularity",
        x_log=False,
        percent=False,
        x_range=[0, int(seen.h[-1])],
        y_range=[min(0.0, *squares), max(1.05, *squares)],
        curves=[
            _curve("least squares on ranks", GREY, seen.h, squares, kind="dashed"),
            _curve("likelihood", STREAM, seen.h, seen.b(), kind="both"),
        ],
        mark={"at": int(seen.advice), "said": said, "high": False},
    )  # fmt: skip


def _rate(seen: Bursts) -> dict[str, Any]:
    """Plot the arrival rate over time."""
    unit, across = ("second", "seconds") if seen.seconds else ("unit of time", "time")
    at = (np.arange(len(seen.course)) + 0.5) * seen.step
    return _plot(
        "rate", "Arrival rate over time", f"{across} since the first row", f"rows per {unit}",
        x_log=False,
        percent=False,
        x_range=[0, max(seen.span, float(at[-1]))],
        y_range=[0, 1.05 * max(seen.course)],
        curves=[_curve("", STREAM, at, seen.course)],
        level=seen.rate,
    )  # fmt: skip
