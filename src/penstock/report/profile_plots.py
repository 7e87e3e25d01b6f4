"""Plots of a profile: popularity, distances, LRU hit ratio, b by h."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from ..extras import need
from ..profile.stream_profile import Profile, spread

INK, GREY, LIGHT = "#1d1d1f", "#5f6368", "#d3dbe4"
STREAM, OTHER = "#1f6fc4", "#d1651a"
SIZE = (5.6, 3.7)  # inches
FINE = 200  # points of a curve


def popularity(made: Profile) -> Any:
    """Plot shares by rank, both on logarithmic scales, and the fitted law."""
    figure, axes = _axes("Popularity", "rank of the key", "share of the stream")
    ranks = spread(made.keys, FINE)
    exponent, error = made.popularity.exponent
    law = f"Zipf, z = {exponent:.2f}" + ("" if error is None else f" ± {error:.2g}")
    share = made.popularity.share(ranks)
    sampled = made.sampling is not None and made.sampling.keys_error > 0
    said = "estimated" if sampled else "counted"
    axes.loglog(ranks, share, "o", color=STREAM, markersize=3.5, label=said)
    axes.loglog(ranks, made.popularity.law(ranks), color=OTHER, label=law)
    axes.set_ylim(bottom=share.min() / 2)  # a steep law would compress the points
    _write_ticks(axes.xaxis, made.keys < 10)
    low, high = axes.yaxis.get_view_interval()
    _write_ticks(axes.yaxis, high < 10 * low, lambda y: f"{100 * y:.6g}%")
    axes.legend(frameon=False)
    return figure


def distance(made: Profile) -> Any:
    """Plot the share of the rows whose key is repeated within k rows."""
    figure, axes = _axes("How soon keys are repeated", "within this many rows", "share of all rows")
    k = spread(made.length - 1, FINE)
    axes.semilogx(k, made.distances.within(k), color=STREAM, label="the stream")
    _band(axes, k, made.distances.within(k), made.distances.error(k))
    axes.semilogx(k, made.permuted.within(k), "--", color=OTHER, label="in random order")
    _percent(axes)
    _write_ticks(axes.xaxis, made.length < 10)
    axes.legend(frameon=False)
    return figure


def hit_ratio(made: Profile) -> Any:
    """Plot the hit ratio of an LRU cache of every size."""
    figure, axes = _axes("Hit ratio of an LRU cache", "rows in the cache", "share of all rows")
    size = spread(made.keys, FINE)
    ratio = made.reuse.hit_ratio(size)
    most = made.reuse.size_for(0.9)
    axes.semilogx(size, ratio, color=STREAM)
    _band(axes, size, ratio, made.reuse.error(size))
    axes.axhline(ratio[-1], color=LIGHT, linewidth=1, zorder=0)
    axes.plot([most], [made.reuse.hit_ratio(most)], "o", color=OTHER)
    said = f"90 % of all possible hits with {most:,} rows"
    up = 0.03 if ratio[0] > 0.2 else 0.6  # away from the curve
    _mark(axes, most, said, most < np.sqrt(made.keys), up)
    _percent(axes)
    _write_ticks(axes.xaxis, made.keys < 10)
    return figure


def b_by_h(made: Profile) -> Any:
    """Plot the share of rows drawn by popularity against how far the model looks back."""
    title = "Share of rows explained by popularity alone"
    figure, axes = _axes(title, "h: preceding rows in the model", "b: drawn by popularity")
    seen = made.horizon
    squares = [each.b for each in seen.squares]
    axes.plot(seen.h, squares, "--", color=GREY, linewidth=1, label="least squares on ranks")
    axes.plot(seen.h, seen.b(), "o-", color=STREAM, markersize=4, label="likelihood")
    said = f"h = {seen.advice} is enough" if seen.settled else "b may fall further"
    _mark(axes, seen.advice, said, seen.advice < seen.h[-1] / 2)
    axes.set_ylim(min(0.0, *squares), max(1.05, *squares))
    axes.set_xlim(left=0)
    axes.legend(frameon=False)
    return figure


def all_plots(made: Profile) -> dict[str, Any]:
    """Return every plot by a short name."""
    return {
        "popularity": popularity(made),
        "distance": distance(made),
        "hits": hit_ratio(made),
        "locality": b_by_h(made),
    }


def as_svg(name: str, figure: Any) -> str:
    """Return a plot for a page; `name` makes its element ids differ from those of other plots."""
    from matplotlib import rc_context

    text = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with rc_context({"svg.hashsalt": name}):
        figure.savefig(text, format="svg", metadata=nothing)
    whole = text.getvalue()
    return whole[whole.index("<svg") :]


def _axes(title: str, across: str, up: str) -> tuple[Any, Any]:
    figure = need("matplotlib.figure", "a plot").Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, loc="left", size=12, weight="bold", color=INK)
    axes.set_xlabel(across, color=GREY)
    axes.set_ylabel(up, color=GREY)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(which="both", colors=GREY)
    axes.grid(alpha=0.25)
    return figure, axes


def _mark(axes: Any, x: float, said: str, early: bool, up: float = 0.03) -> None:
    """Draw a vertical line at x with a text beside it, on the side that has more room."""
    axes.axvline(x, color=OTHER, linewidth=1, linestyle=":")
    axes.annotate(
        said,
        (x, up),
        xycoords=("data", "axes fraction"),
        xytext=(5 if early else -5, 0),
        textcoords="offset points",
        ha="left" if early else "right",
        color=OTHER,
        size=9,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
    )


def _plain_number(x: float) -> str:
    return f"{x:,.0f}" if x < 1e6 else f"{x / 1e6:,.0f} M"


def _write_ticks(
    axis: Any, one_power: bool, written: Callable[[float], str] = _plain_number
) -> None:
    """Write 1,000 for 10^3; write numbers between the powers only if there is one power."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    plain = FuncFormatter(lambda x, _: written(x))
    axis.set_major_formatter(plain)
    axis.set_minor_formatter(plain if one_power else NullFormatter())


def _band(axes: Any, x: Any, y: Any, error: Any) -> None:
    """Draw the errors of an estimated curve."""
    if error.any():
        low, high = np.clip((y - error, y + error), 0, 1)
        axes.fill_between(x, low, high, color=STREAM, alpha=0.2, linewidth=0)


def _percent(axes: Any) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_ylim(0, 1.02)
