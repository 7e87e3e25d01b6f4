"""Figures 7 to 9: the upper threshold τ_∞, by the precision that queries ask for."""

from typing import Any

from papers import grid

from .frame import Experiment, Found, judge
from .lab import Lab
from .precision_04 import note
from .recordings import averaged, cache_recording, hosts_or_walks
from .style import legend_below, lines

PERIODS = {0.5: "Figure 7: T_q = 0.5", 1: "Figure 8: T_q = 1", 2: "Figure 9: T_q = 2"}
RULE = "adaptive:alpha=1,tau_0=1,width=1"
RULE_WITHOUT = "adaptive:alpha=1,tau_0=0,width=1"
THRESHOLDS = {"τ_∞ = τ_0": ",tau_inf=1", "τ_∞ = 10 K": ",tau_inf=10", "τ_∞ = ∞": ""}
LOWER = (0.01, 0.1, 1, 5)  # K: lower thresholds that exact queries are asked with
SPREADS = {100: 0.019, 10: 0.055, 5: 0.01}  # of Δδ: what the paper finds, by δ_avg


def run(lab: Lab) -> Found:
    """Replay the hosts with every threshold."""
    deltas = lab.pick((0, 5, 10, 20, 50, 100, 200, 350, 500), (0, 50, 500))
    same = {"data": hosts_or_walks(), "seconds": lab.pick(7200, 600), "rho": 1}
    rules = [RULE + tail for tail in THRESHOLDS.values()]
    axes = {"variation": 0.5, "delta": deltas, "rule": rules}
    sums = grid.product(**same, query="sum", period=list(PERIODS), **axes)
    tops = grid.product(**same, query="max", period=1, **axes)
    spreads = grid.product(
        **same, query="sum", period=1, variation=[0, 1], delta=list(SPREADS), rule=RULE
    )
    rows = averaged(lab, cache_recording, sums + tops + spreads)
    lower = averaged(
        lab,
        cache_recording,
        grid.product(
            **same, query="sum", period=1, variation=0.5, delta=10, rule=[RULE, RULE_WITHOUT]
        ),
    ).column("cost")
    degraded = lower[0] / lower[1] - 1
    small = averaged(
        lab,
        cache_recording,
        grid.product(
            **same,
            query="sum",
            period=1,
            variation=0.5,
            delta=0,
            rule=[
                f"adaptive:alpha=1,tau_0={tau},width=1" + (f",tau_inf={tau}" if meet else "")
                for meet in (True, False)
                for tau in LOWER
            ],
        ),
    ).column("cost")
    exact = {"τ_∞ = τ_0": small[: len(LOWER)], "τ_∞ = ∞": small[len(LOWER) :]}
    table, maxima = rows[: len(sums)], rows[len(sums) : len(sums) + len(tops)]
    names = dict(zip(rules, THRESHOLDS, strict=True))
    cost = {(r["period"], names[r["rule"]], r["delta"]): r["cost"] for r in table}
    top = {(names[r["rule"]], r["delta"]): r["cost"] for r in maxima}
    spread = {(r["variation"], r["delta"]): r["cost"] for r in rows[len(sums) + len(tops) :]}

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, 3)
        for panel, (period, title) in zip(panels, PERIODS.items(), strict=True):
            curves = {n: (deltas, [cost[period, n, d] for d in deltas]) for n in THRESHOLDS}
            lines(
                panel,
                curves,
                "δ_avg, K",
                "cost rate Ω",
                title,
                legend=False,
                labels=str,
                plain=True,
            )
            panel.set_ylim(bottom=0)
        legend_below(figure, panels[0])

    meet, never = "τ_∞ = τ_0", "τ_∞ = ∞"
    flat = {
        p: max(cost[p, meet, d] for d in deltas) / min(cost[p, meet, d] for d in deltas) - 1
        for p in PERIODS
    }
    loose = deltas[-1]
    moved = {d: abs(spread[1, d] / spread[0, d] - 1) for d in SPREADS}
    verdicts = [
        judge(
            "exact queries (δ_avg = 0) cost least with τ_∞ = τ_0",
            {
                f"T_q {p}": cost[p, meet, 0] <= min(cost[p, n, 0] for n in THRESHOLDS)
                for p in PERIODS
            },
            "τ_∞ = ∞ costs "
            + ", ".join(f"{cost[p, never, 0] / cost[p, meet, 0] - 1:+.0%}" for p in PERIODS)
            + " (T_q 0.5, 1, 2)",
        ),
        judge(
            "with τ_∞ = τ_0 the cost does not depend on δ_avg (within 2 %)",
            {f"T_q {p}": each <= 0.02 for p, each in flat.items()},
            ", ".join(f"{each:.1%}" for each in flat.values()),
        ),
        judge(
            f"for imprecise queries τ_∞ = ∞ is best (δ_avg = {loose} K)",
            {
                f"T_q {p}": cost[p, never, loose] <= min(cost[p, n, loose] for n in THRESHOLDS)
                for p in PERIODS
            },
            "τ_∞ = ∞ / τ_∞ = τ_0: "
            + ", ".join(f"{cost[p, never, loose] / cost[p, meet, loose]:.2f}" for p in PERIODS),
        ),
        judge(
            "for MAX queries τ_∞ = ∞ is best for all δ_avg, 0 included (up to 1 %)",
            {
                f"δ_avg {d} K": top[never, d] <= 1.01 * min(top[n, d] for n in THRESHOLDS)
                for d in deltas
            },
            "τ_∞ = ∞ / τ_∞ = τ_0: "
            + ", ".join(f"{top[never, d] / top[meet, d]:.2f} at {d} K" for d in (0, loose)),
        ),
        judge(
            "τ_0 = 1 K costs queries with δ from 5 to 15 K less than 1 % (T_q = 1, ρ = 1)",
            [degraded < 0.01],
            f"{degraded:+.2%} beside τ_0 = 0",
        ),
        judge(
            "exact queries (δ_avg = 0) cost much the same with any τ_0 above 0 (within 5 %)",
            {how: max(cost) <= 1.05 * min(cost) for how, cost in exact.items()},
            "; ".join(
                f"{how}: " + ", ".join(f"{each:.2f}" for each in cost)
                for how, cost in exact.items()
            )
            + " with "
            + ", ".join(f"{tau:g}" for tau in LOWER)
            + " K",
        ),
        judge(
            "how much δ varies matters little: 1.9, 5.5, 1 % at 100, 10, 5 K (here: within 10 %)",
            {f"δ_avg {d} K": each <= 0.1 for d, each in moved.items()},
            ", ".join(f"{each:.1%} at {d} K" for d, each in moved.items()),
        ),
    ]
    keep = ("query", "period", "delta", "variation", "rule", "cost")
    return Found([{k: row[k] for k in keep} for row in rows], draw, verdicts, [note()], (9.6, 3.6))


PRECISION_7 = Experiment("precision-7-9", "precision", "figures 7 to 9", "upper threshold", run)
