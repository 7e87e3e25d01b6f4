"""Section 4.5: variations that the paper calls unsuccessful."""

from typing import Any

from papers import grid

from .frame import Experiment, Found, Ratio, beside, judge
from .lab import Lab, Rows
from .recordings import cache_recording, cache_walk, hosts_or_walks
from .style import name_axes

PLAIN = "adaptive:alpha=1"
UNCENTRED = "uncentred:alpha=1"
GROWING = ("growing:alpha=1,power=0.5", "growing:alpha=1,power=0.3333")
DRIFTING = "growing:alpha=1,drift=yes"
VOTING = ("majority:alpha=1,r=3", "majority:alpha=1,r=5")
RULES = (PLAIN, UNCENTRED, *GROWING, DRIFTING, *VOTING)
BIASED = 0.9  # the probability of a step upwards where values are "much more likely to go up"
WALKS = {0.5: "unbiased walk", BIASED: "biased walk"}
HOSTS = "hosts"


def run(lab: Lab) -> Found:
    """Run every variation on walks with and without a bias."""
    same = {"period": 2, "delta": 20, "rho": 1, "steps": lab.pick(1_000_000, 50_000)}
    seeds = range(lab.pick(5, 2))
    walks = lab.sweep(cache_walk, grid.product(**same, seed=seeds, up=list(WALKS), rule=RULES))
    rows = Rows(row | {"on": WALKS[row["up"]]} for row in walks)
    if hosts_or_walks() == HOSTS:
        asked = {"period": 1, "delta": 100, "variation": 0.5, "rho": 1}
        terms = {"data": HOSTS, "seconds": lab.pick(7200, 400), **asked}
        recorded = lab.sweep(cache_recording, grid.product(**terms, seed=seeds, rule=RULES))
        rows += [row | {"on": HOSTS} for row in recorded]
    for row in rows:
        row["run"] = row["seed"]
    table = rows.means("cost", "on", "rule")
    names = list(dict.fromkeys(table.column("on")))
    level, biased = [name for name in names if name != WALKS[BIASED]], WALKS[BIASED]

    def against(*rules: str, on: list[str]) -> dict[str, Ratio]:
        """Return how many times the plain rule's cost each rule costs, on each kind of value."""
        return {
            f"{rule}, {name}": beside(rows.where(on=name), "cost", {"rule": rule}, {"rule": PLAIN})
            for name in on
            for rule in rules
        }

    def draw(figure: Any) -> None:
        for axes, name in zip(figure.subplots(1, len(names)), names, strict=True):
            labels = [rule.replace(":alpha=1", "").replace(",", "\n") for rule in RULES]
            cost = [table.where(on=name, rule=rule)[0]["cost"] for rule in RULES]
            axes.barh(labels[::-1], cost[::-1], color="#2f6fb7")
            axes.grid(axis="y", visible=False)
            name_axes(axes, "cost rate Ω", "", name)

    def said(ratios: dict[str, Ratio]) -> str:
        return ", ".join(f"{rule} {each}" for rule, each in ratios.items())

    worse, better = against(UNCENTRED, on=level), against(UNCENTRED, on=[biased])
    growing, drifting = against(*GROWING, on=level), against(*RULES[1:5], on=[biased])
    votes = against(*VOTING, on=names)
    moving = drifting[f"{DRIFTING}, {biased}"]
    verdicts = [
        judge(
            "uncentred intervals cost more, on an unbiased walk and on the network's data",
            {rule: each.above() for rule, each in worse.items()},
            said(worse) + " of the centred ones' cost",
        ),
        judge(
            "on a biased walk they cost slightly less",
            {rule: each.below() for rule, each in better.items()},
            said(better) + " of the centred ones' cost",
        ),
        judge(
            "intervals that grow as t^1/2 or t^1/3 cost more than constant ones, on both",
            {rule: each.above() for rule, each in growing.items()},
            said(growing) + " of their cost",
        ),
        judge(
            "on a biased walk intervals that move with time are the best",
            [moving.below(min(1.0, *(e.mean for e in drifting.values() if e is not moving)))],
            said(drifting) + " of the constant ones' cost",
        ),
        judge(
            "votes of the last r refreshes never cost less",
            {rule: not each.below() for rule, each in votes.items()},
            said(votes) + " of the cost with r = 1",
        ),
    ]
    note = (
        "Random walks of section 4.2, T_q = 2, δ = 20, ρ = 1; on the biased one nine of ten steps"
        " go up. The paper names neither the bias nor r. All rules have α = 1. Hosts: traffic as in"
        " figures 4 to 15, sums of ten, T_q = 1, δ from 50 to 150 K, ρ = 1."
    )
    return Found(list(table), draw, verdicts, [note], (11.5, 3.8))


PRECISION_45 = Experiment(
    "precision-4.5", "precision", "section 4.5", "variations of the algorithm", run
)
