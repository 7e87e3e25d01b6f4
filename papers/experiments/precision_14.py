"""Figures 14 and 15: stale copies, beside divergence caching [HSW94]."""

from typing import Any

from papers import grid

from .frame import Experiment, Found, judge, span
from .lab import Lab
from .precision_04 import note
from .recordings import averaged, cache_updates, hosts_or_walks
from .style import lines

PERIODS = {1: "Figure 14: T_q = 1", 5: "Figure 15: T_q = 5"}
RIVAL, OURS = "divergence:k=23", "adaptive:alpha=1,tau_0=1,stale=true"
LOOSE = 20  # updates that a sum of ten values may lag behind
UPDATES = "An update is a second in which this level changes; sums of ten hosts are asked for."
NAMES = {RIVAL: "divergence caching", OURS: "adaptive precision"}


def run(lab: Lab) -> Found:
    """Count what the updates of the hosts cost."""
    deltas = lab.pick((0, 2, 5, 10, 20, 35, 50, 75, 100), (0, 10, 50))
    same = {"data": hosts_or_walks(), "seconds": lab.pick(7200, 600), "variation": 1.0}
    cells = [
        cell
        | {
            "rule": OURS + ",tau_inf=1" if rule == OURS and not cell["delta"] else rule,
            "name": NAMES[rule],
        }
        for cell in grid.product(**same, period=list(PERIODS), delta=deltas)
        for rule in NAMES
    ]
    table = averaged(lab, cache_updates, cells)
    cost = {(r["period"], r["name"], r["delta"]): r["cost"] for r in table}

    def draw(figure: Any) -> None:
        for axes, (period, title) in zip(figure.subplots(1, 2), PERIODS.items(), strict=True):
            curves = {
                n: table.curve("delta", "cost", period=period, name=n) for n in NAMES.values()
            }
            lines(
                axes, curves, "δ_avg, updates unseen", "cost rate Ω", title, labels=str, plain=True
            )
            axes.set_ylim(bottom=0)

    ratio = {
        (p, d): cost[p, NAMES[OURS], d] / max(1e-12, cost[p, NAMES[RIVAL], d])
        for p in PERIODS
        for d in deltas
    }
    loose = {at: each for at, each in ratio.items() if at[1] >= LOOSE}
    verdicts = [
        judge(
            "a modest improvement over divergence caching (at least level, to 1 %)",
            {f"T_q {p}, δ_avg {d}": each <= 1.01 for (p, d), each in ratio.items()},
            "cost / divergence caching's: "
            + "; ".join(f"T_q {p}: {span(ratio[p, d] for d in deltas)}" for p in PERIODS),
            why="where hardly any update may go unseen the width swings about τ_0: every copy "
            "fetched is paid for again at the next update, and given up",
        ),
    ]
    said = (
        f"Where {LOOSE} updates or more may go unseen in a sum of ten, it costs"
        f" {span(loose.values())} of divergence caching's."
    )
    keep = ("period", "delta", "name", "cost")
    return Found(
        [{k: row[k] for k in keep} for row in table],
        draw,
        verdicts,
        [note(), UPDATES, said],
        (8.4, 3.6),
    )


PRECISION_14 = Experiment(
    "precision-14-15", "precision", "figures 14 and 15", "beside divergence caching", run
)
