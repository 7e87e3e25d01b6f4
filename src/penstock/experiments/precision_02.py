"""Figures 2 and 3: cost and refreshes by the width of an interval, in theory and measured."""

from typing import Any

import numpy as np

from .. import grid
from .frame import Experiment, Found, judge, span
from .lab import Lab, Rows
from .recordings import cache_walk
from .style import lines

SHOWN = {"cost": "cost rate Ω", "p_vr": "P_vr, value leaves", "p_qr": "P_qr, query asks"}
GRID = {"period": (1, 2), "delta": (10, 20), "rho": (1, 4)}  # of section 4.2
ALPHAS = (1, 0.1)


def run(lab: Lab) -> Found:
    """Measure fixed widths, and what the adaptive rule costs above the best of them."""
    steps = lab.pick(1_000_000, 50_000)
    widths = np.geomspace(2, 16, lab.pick(25, 6)).round(3).tolist()
    walk = {"period": 2, "delta": 20, "seed": 1, "steps": steps}
    fixed = [walk | {"rule": f"static:width={width}", "fixed": width} for width in widths]
    rules = ["best", *(f"adaptive:alpha={alpha}" for alpha in ALPHAS)]
    cells = fixed + grid.product(seed=1, steps=steps, **GRID, rule=rules)
    rows = lab.sweep(cache_walk, cells)
    measured, rest = Rows(rows[: len(fixed)]), Rows(rows[len(fixed) :])
    theory = np.geomspace(2, 16, 60)

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        p_vr, p_qr = 1 / theory**2, theory / 200
        curves: dict[str, Any] = dict(zip(SHOWN, (p_vr + 2 * p_qr, p_vr, p_qr)))
        plain = {SHOWN[of]: (theory, values) for of, values in curves.items()}
        lines(
            left,
            plain,
            "width W",
            "per step",
            "Figure 2: K₁ = 1, K₂ = 1/200",
            labels=str,
            plain=True,
        )
        for line in left.get_lines():
            line.set_marker("")
        left.legend()
        found = {SHOWN[of]: measured.curve("fixed", of) for of in SHOWN}
        lines(right, found, "width W", "per step", "Figure 3: measured", labels=str, plain=True)

    return Found(
        [{k: row[k] for k in ("fixed", *SHOWN)} for row in measured] + _table(rest),
        draw,
        _verdicts(measured, rest),
        ["Widths are whole intervals; the paper's W = 3.11 is how far one reaches to each side."],
        (8.4, 3.8),
    )


def _table(rest: Rows) -> list[dict[str, Any]]:
    return [{k: row[k] for k in (*GRID, "rule", "cost", "width")} for row in rest]


def _verdicts(measured: Rows, rest: Rows) -> list:
    widths, cost = measured.curve("fixed", "cost")
    gap = np.abs(
        np.log(np.array(measured.curve("fixed", "p_vr")[1]) / measured.curve("fixed", "p_qr")[1])
    )
    crossing, cheapest = widths[int(gap.argmin())], widths[int(np.argmin(cost))]
    slopes = {
        of: float(np.polyfit(np.log(widths), np.log(measured.curve("fixed", of)[1]), 1)[0])
        for of in ("p_vr", "p_qr")
    }
    excess = {}
    for row in rest:
        at = {name: row[name] for name in GRID}
        best = rest.where(**at, rule="best")[0]["cost"]
        excess[row["rule"], *at.values()] = row["cost"] / best - 1
    adaptive = {
        alpha: [e for k, e in excess.items() if k[0] == f"adaptive:alpha={alpha}"]
        for alpha in ALPHAS
    }
    named = {
        f"T_q {k[1]}, δ {k[2]}, ρ {k[3]}": e <= 0.05
        for k, e in excess.items()
        if k[0] == "adaptive:alpha=1"
    }
    here, careful = (excess[f"adaptive:alpha={alpha}", 2, 20, 1] for alpha in ALPHAS)
    return [
        judge(
            "P_qr is proportional to W (its power within 0.1 of 1)",
            [abs(slopes["p_qr"] - 1) < 0.1],
            f"power {slopes['p_qr']:.2f}",
        ),
        judge(
            "P_vr is proportional to 1 / W² (its power within 0.1 of -2)",
            [abs(slopes["p_vr"] + 2) < 0.1],
            f"power {slopes['p_vr']:.2f}: refreshes by queries centre the interval anew",
        ),
        judge(
            "for ρ = 1 the least cost is where both refreshes are equally likely (within 15 %)",
            [abs(crossing / cheapest - 1) <= 0.15],
            f"they cross near W = {crossing:.1f}, the least cost is near {cheapest:.1f}",
        ),
        judge(
            "the adaptive algorithm is within 1 % of the optimum at T_q = 2, δ = 20, ρ = 1",
            [here <= 0.01],
            f"{here:.1%} above with α = 1, {careful:.1%} with α = 0.1",
        ),
        judge(
            "within 5 % of optimal for all T_q, δ and ρ of section 4.2",
            named,
            f"above the best fixed width by {span(adaptive[1], '.1%')} with α = 1, by "
            f"{span(adaptive[0.1], '.1%')} with α = 0.1",
        ),
    ]


PRECISION_2 = Experiment(
    "precision-2-3", "precision", "figures 2 and 3", "cost by width, and the optimum", run
)
