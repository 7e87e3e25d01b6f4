"""Section 4.5: variations that the paper calls unsuccessful."""

from typing import Any

from papers import grid

from .frame import Experiment, Found, judge
from .lab import Lab
from .recordings import cache_walk
from .style import name_axes

PLAIN = "adaptive:alpha=1"
UNCENTRED = "uncentred:alpha=1"
GROWING = ("growing:alpha=1,power=0.5", "growing:alpha=1,power=0.3333")
DRIFTING = "growing:alpha=1,drift=yes"
VOTING = ("majority:alpha=1,r=3", "majority:alpha=1,r=5")
RULES = (PLAIN, UNCENTRED, *GROWING, DRIFTING, *VOTING)
BIASED = 0.9  # the probability of a step upwards where values are "much more likely to go up"
WALKS = {0.5: "unbiased walk", BIASED: "biased walk"}


def run(lab: Lab) -> Found:
    """Run every variation on walks with and without a bias."""
    same = {"period": 2, "delta": 20, "rho": 1, "steps": lab.pick(1_000_000, 50_000)}
    seeds = range(lab.pick(3, 1))
    cells = grid.product(**same, seed=seeds, up=list(WALKS), rule=RULES)
    table = lab.sweep(cache_walk, cells).means("cost", "up", "rule")
    cost = {(row["up"], row["rule"]): row["cost"] for row in table}

    def beside(up: float, *rules: str) -> dict[str, float]:
        return {rule: cost[up, rule] / cost[up, PLAIN] for rule in rules}

    def draw(figure: Any) -> None:
        for axes, (up, title) in zip(figure.subplots(1, 2), WALKS.items(), strict=True):
            names = [rule.replace(":alpha=1", "").replace(",", "\n") for rule in RULES]
            axes.barh(names[::-1], [cost[up, rule] for rule in RULES[::-1]], color="#2f6fb7")
            axes.grid(axis="y", visible=False)
            name_axes(axes, "cost rate Ω", "", title)

    def said(ratios: dict[str, float]) -> str:
        return ", ".join(f"{rule} {each:.3f}" for rule, each in ratios.items())

    worse, better = beside(0.5, UNCENTRED), beside(BIASED, UNCENTRED)
    growing, drifting = beside(0.5, *GROWING), beside(BIASED, *RULES[1:5])
    votes = beside(0.5, *VOTING)
    verdicts = [
        judge(
            "uncentred intervals cost more on an unbiased walk",
            {rule: each > 1 for rule, each in worse.items()},
            said(worse) + " of the centred ones' cost",
        ),
        judge(
            "on a biased walk they cost slightly less",
            {rule: each < 1 for rule, each in better.items()},
            said(better) + " of the centred ones' cost",
        ),
        judge(
            "intervals that grow as t^1/2 or t^1/3 cost more than constant ones",
            {rule: each > 1 for rule, each in growing.items()},
            said(growing) + " of their cost",
        ),
        judge(
            "on a biased walk intervals that move with time are the best",
            [drifting[DRIFTING] == min(*drifting.values(), 1.0)],
            said(drifting) + " of the constant ones' cost",
        ),
        judge(
            "votes of the last r refreshes never cost less (up to 1 %)",
            {rule: each > 0.99 for rule, each in votes.items()},
            said(votes) + " of the cost with r = 1",
        ),
    ]
    note = (
        "Random walks of section 4.2, T_q = 2, δ = 20, ρ = 1; on the biased one nine of ten steps"
        " go up. The paper names neither the bias nor r. All rules have α = 1."
    )
    return Found(list(table), draw, verdicts, [note], (9.0, 3.8))


PRECISION_45 = Experiment(
    "precision-4.5", "precision", "section 4.5", "variations of the algorithm", run
)
