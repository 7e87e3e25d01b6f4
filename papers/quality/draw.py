"""One figure: each policy on each stream, as a share of what the best one got there."""

from pathlib import Path
from typing import Any

import numpy as np

from ..experiments.frame import Found
from ..experiments.output import draw
from ..experiments.style import GREY, INK
from .summary import Quality, plain

LOWEST = 0.5  # all that is below looks alike
DARK = 0.8  # from here on letters are white
PANELS = {False: "joins", True: "caches"}


def write(found: Quality, path: Path) -> None:
    """Draw the figure into a file."""
    panels = [caching for caching in PANELS if found.streams(caching)]
    longest = max((len(found.streams(caching)) for caching in panels), default=1)

    def panel_by_panel(figure: Any) -> None:
        every = figure.subplots(1, max(1, len(panels)), squeeze=False)[0]
        for axes, caching in zip(every, panels):
            image = _panel(axes, found, caching)
            figure.colorbar(image, ax=axes, shrink=0.6, label="of the best one's results")

    draw(Found([], panel_by_panel, [], size=(14.0, 2.2 + 0.3 * longest)), path)


def _panel(axes: Any, found: Quality, caching: bool) -> Any:
    streams = found.streams(caching)
    order = [each.configuration for each in found.standings("whole", caching)]
    names = [name for name in order if ", " not in name]  # one memory for both sides
    values = means(found, caching, streams, names)
    image = axes.imshow(values, vmin=LOWEST, vmax=1.0, cmap="YlGnBu", aspect="auto")
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(streams)), [plain(stream) for stream in streams])
    axes.grid(visible=False)
    axes.set_facecolor("white")
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            style = {"ha": "center", "va": "center", "size": 7}
            colour = "white" if value > DARK else INK
            axes.text(column, row, f"{100 * value:.0f}", color=colour, **style)
    axes.set_title(f"{PANELS[caching]}: % of the best policy's results", loc="left")
    axes.tick_params(colors=GREY, length=0)
    return image


def means(found: Quality, caching: bool, streams: list[str], names: list[str]) -> np.ndarray:
    """Return float64[streams, names]: the mean over the sizes; NaN where nothing is known."""
    sums, counts = np.zeros((2, len(streams), len(names)))
    for each, value in found.relative("whole", caching):
        if each.configuration in names:
            at = streams.index(each.stream), names.index(each.configuration)
            sums[at] += value
            counts[at] += 1
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
