"""Figures 13 and 14: histogram HEEB beside computed HEEB, with little and with much noise."""

from typing import Any

from papers import grid

from .drifting import simulate_drift
from .frame import Experiment, Found, judge
from .lab import Lab
from .style import lines

POLICIES = {"heeb": "heeb", "hist": "hist:buckets=10", "rand": "rand"}
NOISES = {1: "Figure 13: low variance, σ = 1", 8: "Figure 14: high variance, σ = 8"}


def run(lab: Lab) -> Found:
    """Simulate, average and judge."""
    memories = lab.pick((1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50), (2, 10, 30))
    cells = grid.product(
        sd=list(NOISES),
        length=lab.pick(5000, 2000),
        warmup=200,
        run=range(lab.pick(50, 2)),
        memory=memories,
        policy=list(POLICIES.values()),
    )
    rows = lab.sweep(simulate_drift, cells)
    for row in rows:
        row["policy"] = row["policy"].partition(":")[0]
    table = rows.means(["results", "recall"], "sd", "policy", "memory")
    mean = {(row["sd"], row["policy"], row["memory"]): row["results"] for row in table}
    share = {sd: {m: mean[sd, "hist", m] / mean[sd, "heeb", m] for m in memories} for sd in NOISES}
    lead = {
        (sd, p): {m: mean[sd, p, m] / mean[sd, "rand", m] for m in memories}
        for sd in NOISES
        for p in ("heeb", "hist")
    }

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, 2)
        for axes, (sd, title) in zip(panels, NOISES.items(), strict=True):
            curves = {p: table.curve("memory", "results", sd=sd, policy=p) for p in POLICIES}
            lines(axes, curves, "memory, tuples", "results, mean", title)

    def span(shares: dict[int, float]) -> str:
        return f"{min(shares.values()):.1%} to {max(shares.values()):.1%}"

    verdicts = [
        judge(
            "low variance: HIST is almost as good as computed HEEB (95 % or more)",
            {f"memory {m}": each >= 0.95 for m, each in share[1].items()},
            f"{span(share[1])} of it",
        ),
        judge(
            "low variance: HIST is much better than RAND, until memory holds everything",
            {f"memory {m}": lead[1, "hist"][m] > 1.1 for m in memories if m <= 10},
            f"{lead[1, 'hist'][memories[0]]:.1f} times at {memories[0]}, "
            f"{lead[1, 'hist'][10]:.2f} at 10",
        ),
        judge(
            "high variance: HIST is no worse than roughly 90 % of computed HEEB",
            {f"memory {m}": each >= 0.9 for m, each in share[8].items()},
            f"{span(share[8])} of it",
        ),
        judge(
            "high variance: HIST is better than RAND",
            {f"memory {m}": each > 1 for m, each in lead[8, "hist"].items()},
            f"{min(lead[8, 'hist'].values()):.2f} to {max(lead[8, 'hist'].values()):.2f} times",
        ),
        judge(
            "computed HEEB is not beaten by HIST (up to 1 %)",
            {
                f"σ {sd}, memory {m}": each <= 1.01
                for sd, shares in share.items()
                for m, each in shares.items()
            },
            f"HIST / HEEB at most {max(max(s.values()) for s in share.values()):.3f}",
        ),
        judge(
            "the advantages over RAND are smaller with high noise (the largest of all sizes)",
            {p: max(lead[1, p].values()) > max(lead[8, p].values()) for p in ("heeb", "hist")},
            ", ".join(
                f"{p.upper()} {max(lead[1, p].values()):.2f} and {max(lead[8, p].values()):.2f}"
                for p in ("heeb", "hist")
            ),
        ),
    ]
    note = "Both streams have the same noise, R is one step behind; the paper names only σ."
    return Found(table, draw, verdicts, [note], (8.4, 3.8))


HEEB_13 = Experiment("heeb-13-14", "HEEB", "figures 13 and 14", "histogram HEEB", run)
