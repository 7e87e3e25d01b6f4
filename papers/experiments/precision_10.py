"""Figures 10 to 13: beside exact caching [WJH97], with room for all sources and for 20 of them."""

from typing import Any

from papers import grid

from .frame import Experiment, Found, judge, span
from .lab import Lab
from .precision_04 import note
from .precision_07 import RULE
from .recordings import averaged, cache_recording, hosts_or_walks
from .style import legend_below, lines

SETTINGS = {10: (1, 50), 11: (4, 50), 12: (1, 20), 13: (4, 20)}  # figure: ρ, κ
EXACT, MEET, NEVER = "exact caching, best x", "τ_∞ = τ_0", "τ_∞ = ∞, δ_avg = 0"
CURVES = {
    EXACT: ("exact:x=best", 0),
    MEET: (RULE + ",tau_inf=1", 0),
    NEVER: (RULE, 0),
    "τ_∞ = ∞, δ_avg = 100 K": (RULE, 100),
    "τ_∞ = ∞, δ_avg = 500 K": (RULE, 500),
}


FORMULA = (
    "Why the first claim cannot hold as printed: take r reads and w writes of a value in a unit of"
    " time, in no order, at ρ = 1: a read that misses costs 2, a write that is sent 1. With τ_∞ ="
    " τ_0 a copy is there or not; a read that misses brings it in, and the next write removes it."
    " Such a pair comes once in 1/r + 1/w, so the cost is 3 r w / (r + w). Exact caching keeps the"
    " copy of a value that is read more than half as often as it is written, and pays w, or keeps"
    " none, and pays 2 r: min(2 r, w). At w = 2 r both are 2 r; at w = r it is 1.5 r against r."
)


def run(lab: Lab) -> Found:
    """Replay the hosts with every rule."""
    periods = lab.pick((0.5, 1, 2, 5), (1, 5))
    same = {"data": hosts_or_walks(), "seconds": lab.pick(7200, 400), "variation": 0.5}
    cells = [
        cell | {"rule": rule, "delta": delta, "name": name}
        for rho, capacity in SETTINGS.values()
        for cell in grid.product(**same, rho=rho, capacity=capacity, period=periods)
        for name, (rule, delta) in CURVES.items()
    ]
    rows, why = averaged(lab, cache_recording, cells), _why(lab, periods)
    cost = {(r["rho"], r["capacity"], r["name"], r["period"]): r["cost"] for r in rows}

    def draw(figure: Any) -> None:
        panels = figure.subplots(2, 2)
        for panel, (number, at) in zip(panels.flat, SETTINGS.items(), strict=True):
            curves = {n: (periods, [cost[*at, n, p] for p in periods]) for n in CURVES}
            title = f"Figure {number}: ρ = {at[0]}, κ = {at[1]}"
            lines(
                panel,
                curves,
                "T_q, seconds",
                "cost rate Ω",
                title,
                legend=False,
                labels=str,
                plain=True,
            )
            panel.set_ylim(bottom=0)
        legend_below(figure, panels.flat[0], columns=3)

    def ratio(name: str, capacity: int | None = None) -> dict[str, float]:
        return {
            f"ρ {r}, κ {k}, T_q {p}": cost[r, k, name, p] / cost[r, k, EXACT, p]
            for r, k in SETTINGS.values()
            for p in periods
            if capacity in (None, k)
        }

    def of_exact(ratios: dict[str, float]) -> str:
        return f"{span(ratios.values())} of exact caching's cost"

    meet, plain, loose = (
        ratio(MEET),
        ratio(NEVER, 50),
        ratio("τ_∞ = ∞, δ_avg = 500 K", 50),
    )
    tight = ratio("τ_∞ = ∞, δ_avg = 500 K", 20)
    verdicts = [
        judge(
            "with τ_∞ = τ_0 the algorithm almost precisely matches exact caching (within 5 %)",
            {at: abs(each - 1) <= 0.05 for at, each in meet.items()},
            of_exact(meet),
            why,
        ),
        judge(
            "with τ_∞ = ∞ it is significantly better for imprecise queries (δ_avg 500 K, by 10 %)",
            {at: each <= 0.9 for at, each in loose.items()},
            of_exact(loose),
        ),
        judge(
            "at the expense of a slight degradation for exact queries (at most 15 %)",
            {at: each <= 1.15 for at, each in plain.items()},
            of_exact(plain),
            "widths that grew while a value moved are halved by one useless fetch after the other",
        ),
        judge(
            "with a small cache imprecise queries do not benefit much (by less than 20 %)",
            {at: each >= 0.8 for at, each in tight.items()},
            of_exact(tight),
        ),
    ]
    top = {
        f"ρ {rho}, δ_avg {delta} K": _top(lab, same, rho, delta)
        for rho in (1, 4)
        for delta in (0, 100)
    }
    verdicts.append(
        judge(
            "for MAX queries it is substantially better than exact caching (by 10 %, T_q = 1)",
            {at: each <= 0.9 for at, each in top.items()},
            of_exact(top),
        )
    )
    keep = ("rho", "capacity", "period", "name", "cost")
    return Found(
        [{k: row[k] for k in keep} for row in rows], draw, verdicts, [note(), FORMULA], (8.4, 6.6)
    )


def _top(lab: Lab, same: grid.Given, rho: float, delta: float) -> float:
    """Return the cost of MAX queries with τ_∞ = ∞ over that of exact caching."""
    rules = [CURVES[NEVER][0], CURVES[EXACT][0]]
    at = {"rho": rho, "capacity": 50, "period": 1, "delta": delta, "query": "max"}
    ours, exact = averaged(lab, cache_recording, grid.product(**same, **at, rule=rules)).column(
        "cost"
    )
    return float(ours / exact)


def _why(lab: Lab, periods: tuple[float, ...]) -> str:
    """Say how the match depends on the data: of values that always move, and that rest at times."""
    spans = {}
    for data in ("walks", "pauses"):
        rules = [CURVES[EXACT][0], CURVES[MEET][0]]
        cells = grid.product(
            data=data,
            seconds=lab.pick(7200, 400),
            delta=0,
            rho=[1, 4],
            period=periods,
            rule=rules,
        )
        cost = averaged(lab, cache_recording, cells).column("cost")
        spans[data] = span(ours / exact for exact, ours in zip(cost[::2], cost[1::2], strict=True))
    return (
        "a copy that a read brings in is paid for again at the next change, after which there is "
        f"none: {spans['walks']} on random walks, which change every second, {spans['pauses']} on "
        "walks that rest at times"
    )


PRECISION_10 = Experiment(
    "precision-10-13", "precision", "figures 10 to 13", "beside exact caching", run
)
