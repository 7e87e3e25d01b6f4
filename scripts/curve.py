"""Draw docs/images/recall-by-memory.png, the README's picture: recall by memory.

Two streams of 40,000 rows each, whose keys are skewed and come in bursts; all are replayed.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from penstock.advisor import Advice, advise_join
from penstock.simulate.skewed import zipf

TARGET = Path(__file__).resolve().parent.parent / "docs" / "images" / "recall-by-memory.png"
STEPS, WITHIN = 40_000, 4_000
SHOWN = {"prob": "#1f6fc4", "lru": "#15803d", "clock": "#9333ea", "fifo": "#c2410c"}
INK, GREY = "#1d1d1f", "#5f6368"


def main() -> None:
    trace = zipf(STEPS, 1, alpha=1.0, domain=2000)
    made = advise_join(
        trace.side, trace.key, trace.time, WITHIN, target=0.95, tried=tuple(SHOWN), work=10**9
    )
    draw(made).savefig(TARGET, dpi=130)
    print(TARGET, made.answer)


def draw(made: Advice) -> Figure:
    figure = Figure(figsize=(7.2, 4), layout="constrained")
    axes = figure.subplots()
    peak = made.streams.peak
    for curve in made.curves:
        axes.semilogx(curve.rows / peak, curve.share, color=SHOWN[curve.policy], linewidth=2)
    answer = made.answer
    part = f"{100 * answer.rows / peak:.0f} % of the memory ({answer.policy})"
    axes.plot([answer.rows / peak], [made.target], "o", color=INK, zorder=5)
    axes.annotate(
        f"95 % of the results with {part}",
        (answer.rows / peak, made.target),
        xytext=(-12, -2),
        textcoords="offset points",
        ha="right",
        size=9,
        color=INK,
    )
    axes.legend([curve.policy for curve in made.curves], frameon=False, loc="lower right")
    axes.set_xlabel("memory, as a part of what an exact join holds", color=GREY)
    axes.set_ylabel("recall: part of all results found", color=GREY)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:.3g} %"))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    axes.set_ylim(0, 1.04)
    axes.set_xlim(float(np.min(made.best.rows)) / peak, 1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    return figure


if __name__ == "__main__":
    main()
