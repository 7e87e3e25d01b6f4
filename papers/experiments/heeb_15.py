"""Figure 15: REAL, a cache in front of a relation, asked for the temperatures of Melbourne."""

from typing import Any

from papers.grid import simulate_cell

from .frame import Experiment, Found, Verdict, judge, spaced, span
from .lab import Lab, data_folder
from .style import lines

FILE = "temps/melbourne_daily_max_temperatures.csv"
RIVALS = ("rand", "lfu", "lru")
OWN = "heeb by itself"  # Penstock's, which finds the model and α while it runs
SEASONS = (
    "the model returns to its mean of 20 °C within days, so with α as large as the memory HEEB "
    "hoards values near 20 °C; the seasons, which it knows nothing of, keep away from there"
)
Gains = dict[str, dict[int, float]]  # by rival and memory


def run(lab: Lab) -> Found:
    """Replay the ten years under every policy."""
    memories = lab.pick((10, 25, 50, 75, 100, 125, 150, 175, 200, 250, 300), (10, 100, 200))
    file = {"trace": str(data_folder() / FILE), "key": "Temperature", "problem": "caching"}
    cells = [
        file | {"memory": memory, "policy": policy}
        for memory in memories
        for policy in ("lfd", f"heeb:model=ar1,fit=before,alpha={memory}", "heeb", *RIVALS)
    ]
    table = lab.sweep(simulate_cell, cells)
    for row in table:
        row["policy"] = OWN if row["policy"] == "heeb" else row["policy"].partition(":")[0]
        for name in (*file, "seconds", "rows"):
            row.pop(name, None)
    hits = {(row["policy"], row["memory"]): row["results"] for row in table}
    paper, own = (
        {p: {m: hits[name, m] / hits[p, m] - 1 for m in memories} for p in RIVALS}
        for name in ("heeb", OWN)
    )
    gap = {m: hits["rand", m] / hits["lfd", m] for m in memories}

    def draw(figure: Any) -> None:
        order = ("lfd", OWN, "heeb", "lru", "lfu", "rand")
        curves = {p: table.curve("memory", "results", policy=p) for p in order}
        axes = figure.subplots()
        lines(axes, curves, "memory, tuples", "hits in 3,650 days", legend=False, labels=_label)
        axes.lines[order.index(OWN)].set_linestyle("--")
        axes.legend()

    verdicts = [
        _leads("HEEB leads the pack: more hits than LRU, LFU and RAND at every size", paper),
        _by_a_fifth("it beats LRU and LFU by as much as 20 % for certain sizes", paper),
        judge(
            "all heuristics perform reasonably well: the gap between RAND and LFD is small",
            {f"memory {m}": share > 0.7 for m, share in gap.items()},
            f"RAND has {span(gap.values(), '.0%')} of LFD's hits",
        ),
    ]
    note = (
        "The model is the paper's: least squares find X = 0.72 X + 5.59 with a noise of 4.23 °C. "
        "α is the size of the memory, as in the paper. HEEB by itself, Penstock's default, is told "
        "nothing beforehand and finds α too; beside it: "
        + ", ".join(f"{p.upper()} {spaced(span(by.values(), '+.1%'))}" for p, by in own.items())
        + "."
    )
    return Found(list(table), draw, verdicts, [note])


def _leads(claim: str, gain: Gains) -> Verdict:
    parts = {f"{p} at {m}": each > 0 for p, by in gain.items() for m, each in by.items()}
    spans = (f"{p.upper()} {span(by.values(), '+.1%')}" for p, by in gain.items())
    return judge(claim, parts, ", ".join(spans), why=SEASONS)


def _by_a_fifth(claim: str, gain: Gains) -> Verdict:
    best = {p: max(gain[p].values()) for p in ("lru", "lfu")}
    return judge(
        claim,
        {p: each >= 0.18 for p, each in best.items()},
        f"at most {best['lru']:.0%} more than LRU, {best['lfu']:.0%} more than LFU",
    )


def _label(name: str) -> str:
    return {"heeb": "HEEB, α = memory", OWN: "HEEB by itself"}.get(name, name.upper())


HEEB_15 = Experiment(
    "heeb-15", "HEEB", "figure 15", "caching real temperatures", run, needs=(FILE,)
)
