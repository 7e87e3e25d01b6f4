"""Figure 15: REAL, a cache in front of a relation, asked for the temperatures of Melbourne."""

from typing import Any

from ..simulation import simulate_cell
from .frame import Experiment, Found, judge
from .lab import Lab, data_folder
from .style import lines

FILE = "temps/melbourne_daily_max_temperatures.csv"
RIVALS = ("rand", "lfu", "lru")


def run(lab: Lab) -> Found:
    """Replay the ten years under every policy."""
    memories = lab.pick((10, 25, 50, 75, 100, 125, 150, 175, 200, 250, 300), (10, 100, 200))
    file = {"trace": str(data_folder() / FILE), "key": "Temperature", "problem": "caching"}
    cells = [
        file | {"memory": memory, "policy": policy}
        for memory in memories
        for policy in ("lfd", f"heeb:model=ar1,fit=before,alpha={memory}", *RIVALS)
    ]
    table = lab.sweep(simulate_cell, cells)
    for row in table:
        row["policy"] = row["policy"].partition(":")[0]
        for name in (*file, "seconds", "rows"):
            row.pop(name, None)
    hits = {(row["policy"], row["memory"]): row["results"] for row in table}
    gain = {p: {m: hits["heeb", m] / hits[p, m] - 1 for m in memories} for p in RIVALS}
    gap = {m: hits["rand", m] / hits["lfd", m] for m in memories}

    def draw(figure: Any) -> None:
        order = ("lfd", "heeb", "lru", "lfu", "rand")
        curves = {p: table.curve("memory", "results", policy=p) for p in order}
        lines(figure.subplots(), curves, "memory, tuples", "hits in 3,650 days")

    best = {p: max(each.values()) for p, each in gain.items()}
    verdicts = [
        judge(
            "HEEB leads the pack: more hits than LRU, LFU and RAND at every size",
            {f"{p} at {m}": each > 0 for p, by in gain.items() for m, each in by.items()},
            ", ".join(
                f"{p.upper()} {min(gain[p].values()):+.1%} to {best[p]:+.1%}" for p in RIVALS
            ),
        ),
        judge(
            "it beats LRU and LFU by as much as 20 % for certain sizes",
            {p: best[p] >= 0.18 for p in ("lru", "lfu")},
            f"at most {best['lru']:.0%} more than LRU, {best['lfu']:.0%} more than LFU",
        ),
        judge(
            "all heuristics perform reasonably well: the gap between RAND and LFD is small",
            {f"memory {m}": share > 0.7 for m, share in gap.items()},
            f"RAND has {min(gap.values()):.0%} to {max(gap.values()):.0%} of LFD's hits",
        ),
    ]
    return Found(list(table), draw, verdicts)


HEEB_15 = Experiment(
    "heeb-15", "HEEB", "figure 15", "caching real temperatures", run, needs=(FILE,)
)
