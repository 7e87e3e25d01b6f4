"""Figures 14 and 15: stale copies, beside divergence caching [HSW94]."""

from typing import Any

from .. import grid
from .frame import Experiment, Found, judge, span
from .lab import Lab
from .recordings import cache_updates
from .style import lines

PERIODS = {1: "Figure 14: T_q = 1", 5: "Figure 15: T_q = 5"}
RIVAL, OURS = "divergence:k=23", "adaptive:alpha=1,tau_0=1,stale=true"
NAMES = {RIVAL: "divergence caching", OURS: "adaptive precision"}


def run(lab: Lab) -> Found:
    """Count the cost of one source that is updated once a second."""
    deltas = lab.pick((0, 1, 2, 4, 6, 8, 10, 15, 20), (0, 4, 10))
    cells = [
        cell
        | {
            "rule": OURS + ",tau_inf=1" if rule == OURS and not cell["delta"] else rule,
            "name": NAMES[rule],
        }
        for cell in grid.product(
            seconds=lab.pick(200_000, 10_000), period=list(PERIODS), delta=deltas, variation=1.0
        )
        for rule in NAMES
    ]
    table = lab.sweep(cache_updates, cells)
    cost = {(r["period"], r["name"], r["delta"]): r["cost"] for r in table}

    def draw(figure: Any) -> None:
        for axes, (period, title) in zip(figure.subplots(1, 2), PERIODS.items(), strict=True):
            curves = {
                n: table.curve("delta", "cost", period=period, name=n) for n in NAMES.values()
            }
            lines(axes, curves, "δ_avg, updates", "cost rate Ω", title, labels=str, plain=True)
            axes.set_ylim(bottom=0)

    ratio = {
        (p, d): cost[p, NAMES[OURS], d] / max(1e-12, cost[p, NAMES[RIVAL], d])
        for p in PERIODS
        for d in deltas
    }
    verdict = judge(
        "a modest improvement over divergence caching (at least level, to 1 %)",
        {f"T_q {p}, δ_avg {d}": each <= 1.01 for (p, d), each in ratio.items()},
        "cost / divergence caching's: "
        + "; ".join(f"T_q {p}: {span(ratio[p, d] for d in deltas)}" for p in PERIODS),
    )
    keep = ("period", "delta", "name", "cost")
    note = "The value is updated once a second; the paper does not tell its data here."
    return Found([{k: row[k] for k in keep} for row in table], draw, [verdict], [note], (8.4, 3.6))


PRECISION_14 = Experiment(
    "precision-14-15", "precision", "figures 14 and 15", "beside divergence caching", run
)
