"""Figure 5: CLOCK's depreciation, linear and exponential, as a table of recalls."""

from typing import Any

from papers import grid

from .clock_02 import NOTES, TITLES, lengths
from .clock_03 import RUNS, SHARES
from .frame import Experiment, Found, Ratio, beside, judge
from .lab import Lab, Rows
from .streams import WEATHER
from .validity import replay_query

RATES = {f"exp {rho}": f"clock:hand=stays,rho={rho}" for rho in (0.25, 0.5, 0.75, 0.95)}
CLOCKS = RATES | {"linear": "clock:hand=stays"}
# By the score of a newcomer, which the paper does not name.
BEGIN = {"w0 = 0": "", "w0 = 1": ",w0=1"}
POLICIES = {"LRU": "lru"} | {
    f"{name}, {begin}": spec + tail
    for begin, tail in BEGIN.items()
    for name, spec in CLOCKS.items()
}
ALIKE = 1.02  # times as much: below that no rate is better than another


def run(lab: Lab) -> Found:
    """Answer both queries with every rate."""
    cells = [
        cell
        for query, length in lengths(lab).items()
        for cell in grid.product(
            query=query,
            length=length,
            run=range(lab.pick(RUNS, 1) if query == "tv" else 1),
            share=SHARES[query],
            policy=list(POLICIES.values()),
        )
    ]
    rows = lab.sweep(replay_query, cells)
    table = rows.means(["memory", "recall", "stressed"], "query", "policy", "share")
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

    small = {q: rows.where(query=q, share=shares[-1]) for q, shares in SHARES.items()}
    cases = [(q, begin) for q in SHARES for begin in BEGIN]
    spread = {
        (q, begin): max(_spread(rows.where(query=q, share=s), begin) for s in SHARES[q])
        for q, begin in cases
    }
    best = {(q, begin): _best(small[q], begin) for q, begin in cases}
    at_least = {
        f"{name} on {q}": beside(small[q], "recall", {"policy": spec}, {"policy": "lru"})
        for q in SHARES
        for name, spec in POLICIES.items()
        if name != "LRU"
    }
    wanted = {"wind": "exp 0.95", "tv": "exp 0.5"}
    verdicts = [
        judge(
            "the rate has a profound influence on recall (20 % or more)",
            {f"{q}, {begin}": each.above(1.2) for (q, begin), each in spread.items()},
            "best / worst up to "
            + ", ".join(f"{each} ({q}, {begin})" for (q, begin), each in spread.items()),
        ),
        judge(
            "different data wants different rates: 0.95 on sensors, 0.5 on viewers",
            {f"{q}, {begin}": each == [wanted[q]] for (q, begin), each in best.items()},
            "best in the smallest cache, to 2 %: "
            + "; ".join(f"{', '.join(each)} ({q}, {begin})" for (q, begin), each in best.items()),
        ),
        judge(
            "every CLOCK of the table is ahead of LRU in the smallest cache (here: at least level)",
            {name: not each.below() for name, each in at_least.items()},
            ", ".join(
                f"{q}: LRU {small[q].where(policy='lru').mean('recall'):.3f}, CLOCKs "
                + _span(small[q])
                for q in SHARES
            ),
        ),
    ]
    said = (
        "As printed the hand stays where it evicts. The paper names no w0: with 0, as in figures 3"
        " and 4, a newcomer remains only if it has matched by the next eviction; with 1 it is"
        f" spared once. Viewers are the means of {RUNS} draws. These verdicts were on w0 = 1 alone"
        " before; that both count was decided after both were seen."
    )
    return Found(list(table), draw, verdicts, [*NOTES, said], (9.6, 5.0))


def _span(rows: Rows) -> str:
    recall = [rows.where(policy=spec).mean("recall") for spec in POLICIES.values() if spec != "lru"]
    return f"{min(recall):.3f} to {max(recall):.3f}"


def _best(rows: Rows, begin: str) -> list[str]:
    """Return the rates that none is better than, by 2 % and more than runs differ."""
    specs = {name: spec + BEGIN[begin] for name, spec in RATES.items()}
    top = max(specs.values(), key=lambda spec: rows.where(policy=spec).mean("recall"))
    return [
        name
        for name, spec in specs.items()
        if not beside(rows, "recall", {"policy": top}, {"policy": spec}).above(ALIKE)
    ]


def _spread(rows: Rows, begin: str) -> Ratio:
    """Return how many times the recall of the worst CLOCK the best one has."""
    specs = [spec + BEGIN[begin] for spec in CLOCKS.values()]
    order = sorted(specs, key=lambda spec: rows.where(policy=spec).mean("recall"))
    return beside(rows, "recall", {"policy": order[-1]}, {"policy": order[0]})


CLOCK_5 = Experiment(
    "clock-5", "CLOCK", "figure 5", "depreciation of CLOCK's scores", run, needs=(WEATHER,)
)
