"""Figure 6: the cost by the adaptivity α, for twelve settings of queries and costs."""

from typing import Any

from papers import grid

from .frame import Experiment, Found, judge
from .lab import Lab
from .precision_04 import note
from .recordings import averaged, cache_recording, hosts_or_walks
from .style import lines, logarithmic

RANGES = {0.5: "50 to 150 K", 1.0: "0 to 100 K"}  # by the variation of δ


def run(lab: Lab) -> Found:
    """Replay the hosts with every α."""
    alphas = lab.pick((0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8), (0.1, 1, 4))
    axes = {"data": hosts_or_walks(), "seconds": lab.pick(7200, 600)}
    cells = [
        cell
        | {
            "delta": 100 if variation == 0.5 else 50,
            "variation": variation,
            "alpha": alpha,
            "rule": f"adaptive:alpha={alpha}",
        }
        for variation in RANGES
        for cell in grid.product(**axes, rho=[1, 4], period=lab.pick([0.5, 1, 6], [1]))
        for alpha in alphas
    ]
    table = averaged(lab, cache_recording, cells)
    settings = list(dict.fromkeys((r["rho"], r["period"], r["variation"]) for r in table))

    def curve(rho: float, period: float, variation: float) -> tuple[list[Any], list[float]]:
        return table.curve("alpha", "cost", rho=rho, period=period, variation=variation)

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, 2)
        for panel, rho in zip(panels, (1, 4), strict=True):
            curves = {
                f"T_q {period:g}, δ {RANGES[variation]}": curve(rho, period, variation)
                for r, period, variation in settings
                if r == rho
            }
            lines(
                panel,
                curves,
                "adaptivity α",
                "cost rate Ω",
                f"ρ = {rho}",
                legend=False,
                labels=str,
                plain=True,
            )
            logarithmic(panel, alphas)
            panel.set_ylim(bottom=0)
        handles = panels[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=3)

    above = {}
    for at in settings:
        alpha, cost = curve(*at)
        above[at] = cost[alpha.index(1)] / min(cost) - 1
    verdict = judge(
        "α = 1 is a good overall setting (within 10 % of the best α)",
        {f"ρ {r}, T_q {p:g}, δ {RANGES[v]}": each <= 0.1 for (r, p, v), each in above.items()},
        f"{min(above.values()):.1%} to {max(above.values()):.1%} above the best α of each setting",
    )
    keep = ("rho", "period", "delta", "variation", "alpha", "cost")
    return Found(
        [{k: row[k] for k in keep} for row in table], draw, [verdict], [note()], (8.4, 4.4)
    )


PRECISION_6 = Experiment("precision-6", "precision", "figure 6", "adaptivity", run)
