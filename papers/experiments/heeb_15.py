"""Figure 15: REAL, a cache in front of a relation, asked for the temperatures of Melbourne."""

from typing import Any

import numpy as np

from papers import grid
from papers.grid import simulate_cell
from papers.printed.surface import PRINTED_SURFACE, surface
from penstock.kernel.policy import Configured
from penstock.models import Ar1
from penstock.simulate.player import play
from penstock.simulate.tracefiles import read_lookup
from penstock.simulate.traces import with_ordered_keys

from .frame import Experiment, Found, Verdict, judge, spaced, span
from .lab import Lab, data_folder
from .style import lines

FILE = "temps/melbourne_daily_max_temperatures.csv"
RIVALS = ("rand", "lfu", "lru")
OWN = "heeb by itself"  # Penstock's, which finds the model and α while it runs
COARSE = "heeb, 25 points"  # the paper's surface
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
    given = {"trace": file["trace"], "key": file["key"]}
    table += lab.sweep(cache_surface, grid.product(**given, memory=memories, policy=COARSE))
    for row in table:
        row["policy"] = OWN if row["policy"] == "heeb" else row["policy"].partition(":")[0]
        for name in (*file, "seconds", "rows"):
            row.pop(name, None)
    hits = {(row["policy"], row["memory"]): row["results"] for row in table}
    paper, own = (
        {p: {m: hits[name, m] / hits[p, m] - 1 for m in memories} for p in RIVALS}
        for name in ("heeb", OWN)
    )
    slope, constant, noise = fitted()
    rough = {m: hits[COARSE, m] / hits["heeb", m] for m in memories}
    gap = {m: hits["rand", m] / hits["lfd", m] for m in memories}

    def draw(figure: Any) -> None:
        order = ("lfd", OWN, "heeb", COARSE, "lru", "lfu", "rand")
        curves = {p: table.curve("memory", "results", policy=p) for p in order}
        axes = figure.subplots()
        lines(axes, curves, "memory, tuples", "hits in 3,650 days", legend=False, labels=_label)
        axes.lines[order.index(OWN)].set_linestyle("--")
        axes.lines[order.index(COARSE)].set(linestyle=":", color="#e59a3c", marker="s")
        axes.legend()

    verdicts = [
        judge(
            "the temperatures follow X = 0.72 X + 5.59, with a noise of 4.22 °C (to 0.02)",
            {
                name: abs(each - said) <= 0.02
                for name, each, said in (
                    ("0.72", slope, 0.72),
                    ("5.59", constant, 5.59),
                    ("4.22", noise, 4.22),
                )
            },
            f"by least squares X = {slope:.2f} X + {constant:.2f}, {noise:.2f} °C",
        ),
        _leads("HEEB leads the pack: more hits than LRU, LFU and RAND at every size", paper),
        _by_a_fifth("it beats LRU and LFU by as much as 20 % for certain sizes", paper),
        judge(
            "all heuristics perform reasonably well: the gap between RAND and LFD is small",
            {f"memory {m}": share > 0.7 for m, share in gap.items()},
            f"RAND has {span(gap.values(), '.0%')} of LFD's hits",
        ),
        judge(
            "bicubic interpolation of 25 control points is accurate enough (hits within 5 %)",
            {f"memory {m}": abs(each - 1) <= 0.05 for m, each in rough.items()},
            f"{span(rough.values())} times the hits with a surface of 41 x 81 points",
        ),
    ]
    note = (
        "The model is fitted before; how near it must be to the paper's was set after it was seen. "
        "α is the size of the memory, as in the paper. HEEB by itself, Penstock's default, is told "
        "nothing beforehand and finds α too; beside it: "
        + ", ".join(f"{p.upper()} {spaced(span(by.values(), '+.1%'))}" for p, by in own.items())
        + "."
    )
    return Found(list(table), draw, verdicts, [note])


def fitted() -> tuple[float, float, float]:
    """Return slope, constant and deviation of the noise of the model of the temperatures."""
    celsius = read_lookup(str(data_folder() / FILE), key="Temperature").value
    assert celsius is not None, "temperatures are numbers"
    slope, constant = np.polyfit(celsius[:-1], celsius[1:], 1)
    noise = celsius[1:] - slope * celsius[:-1] - constant
    return float(slope), float(constant), float(noise.std(ddof=2))


def cache_surface(given: dict[str, Any]) -> dict[str, Any]:
    """Replay a file with the paper's surface; α is the size of the memory."""
    trace = read_lookup(given["trace"], key=given["key"])
    keys, memory = with_ordered_keys(trace, "heeb").key, given["memory"]
    made = surface(Ar1.fit(keys).model, int(keys.min()), int(keys.max()), memory)
    policy = Configured(PRINTED_SURFACE, {})
    return {"results": play(trace, policy, memory, models=[made]).results}


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
    labels = {"heeb": "HEEB, α = memory", OWN: "HEEB by itself", COARSE: "HEEB, 25 control points"}
    return labels.get(name, name.upper())


HEEB_15 = Experiment(
    "heeb-15", "HEEB", "figure 15", "caching real temperatures", run, needs=(FILE,)
)
