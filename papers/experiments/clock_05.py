"""Figure 5: CLOCK's depreciation, linear and exponential, as a table of recalls."""

from typing import Any

from papers import grid

from .clock_02 import NOTES, TITLES, lengths
from .clock_03 import SHARES
from .frame import Experiment, Found, judge
from .lab import Lab
from .streams import WEATHER
from .validity import replay_query

POLICIES = {
    "LRU": "lru",
    "CLOCK exp 0.25": "clock:rho=0.25,w0=1,hand=stays",
    "CLOCK exp 0.5": "clock:rho=0.5,w0=1,hand=stays",
    "CLOCK exp 0.75": "clock:rho=0.75,w0=1,hand=stays",
    "CLOCK exp 0.95": "clock:rho=0.95,w0=1,hand=stays",
    "CLOCK": "clock:w0=1,hand=stays",
}


def run(lab: Lab) -> Found:
    """Answer both queries with every rate."""
    cells = [
        cell
        for query, length in lengths(lab).items()
        for cell in grid.product(
            query=query, length=length, run=0, share=SHARES[query], policy=list(POLICIES.values())
        )
    ]
    table = lab.sweep(replay_query, cells)
    found = {(row["query"], row["policy"], row["share"]): row["recall"] for row in table}

    def draw(figure: Any) -> None:
        for panel, query in zip(figure.subplots(1, 2), SHARES, strict=True):
            shares = SHARES[query]
            heat = [[found[query, policy, s] for s in shares] for policy in POLICIES.values()]
            panel.imshow(heat, cmap="YlGnBu", vmin=0, vmax=1, aspect="auto")
            for y, row in enumerate(heat):
                for x, value in enumerate(row):
                    colour = "white" if value > 0.6 else "black"
                    panel.text(x, y, f"{value:.3f}", ha="center", va="center", color=colour)
            panel.set_xticks(range(len(shares)), [f"{100 * s:g} %" for s in shares])
            panel.set_yticks(range(len(POLICIES)), list(POLICIES))
            panel.grid(visible=False)
            panel.set_xlabel("cache, share of the largest need")
            panel.set_title(f"recall: {TITLES[query]}", loc="left")

    clocks = list(POLICIES.values())[1:]
    small = {q: shares[-1] for q, shares in SHARES.items()}
    best = {q: max((found[q, p, small[q]], p) for p in clocks)[1] for q in SHARES}
    spread = {
        q: max(
            max(found[q, p, s] for p in clocks) / max(1e-9, min(found[q, p, s] for p in clocks))
            for s in shares
        )
        for q, shares in SHARES.items()
    }
    verdicts = [
        judge(
            "the rate has a profound influence on recall (20 % or more)",
            {TITLES[q]: each >= 1.2 for q, each in spread.items()},
            ", ".join(f"{q}: best / worst up to {each:.2f}" for q, each in spread.items()),
        ),
        judge(
            "different data wants different rates: 0.95 on sensors, 0.5 on viewers",
            {
                TITLES["wind"]: best["wind"].startswith("clock:rho=0.95,"),
                TITLES["tv"]: best["tv"].startswith("clock:rho=0.5,"),
            },
            "best in the smallest cache: " + ", ".join(f"{q} {p}" for q, p in best.items()),
        ),
        judge(
            "every CLOCK is at least as good as LRU in the smallest cache",
            {
                f"{p} on {q}": found[q, p, small[q]] >= found[q, "lru", small[q]]
                for q in SHARES
                for p in clocks
            },
            ", ".join(
                f"{q}: LRU {found[q, 'lru', small[q]]:.3f}, CLOCKs "
                f"{min(found[q, p, small[q]] for p in clocks):.3f} to "
                f"{max(found[q, p, small[q]] for p in clocks):.3f}"
                for q in SHARES
            ),
        ),
    ]
    rows = [
        {k: row[k] for k in ("query", "policy", "share", "memory", "recall", "stressed")}
        for row in table
    ]
    said = (
        "As printed the hand stays where it evicts. w0 = 1: a score that is multiplied, beginning"
        " at 0, could only be raised by a match before the hand comes by."
    )
    return Found(rows, draw, verdicts, [*NOTES, said], (9.6, 3.4))


CLOCK_5 = Experiment(
    "clock-5", "CLOCK", "figure 5", "depreciation of CLOCK's scores", run, needs=(WEATHER,)
)
