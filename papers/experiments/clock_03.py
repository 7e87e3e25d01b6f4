"""Figures 3 and 4: recall by the size of the cache, in all and while the system is stressed."""

from typing import Any

from papers import grid

from .clock_02 import NOTES, TITLES, lengths
from .frame import Experiment, Found, judge
from .lab import Lab
from .streams import WEATHER
from .style import legend_below, lines
from .validity import replay_query

POLICIES = ("clock", "lru", "fifo", "rand")
SHARES = {"wind": (0.6, 0.4, 0.2, 0.1, 0.05), "tv": (0.5, 0.25, 0.15, 0.05, 0.01)}
MEASURES = {"recall": "Figure 3: recall", "stressed": "Figure 4: recall under stress"}


def run(lab: Lab) -> Found:
    """Answer both queries in every size of cache."""
    cells = [
        cell
        for query, length in lengths(lab).items()
        for cell in grid.product(
            query=query,
            length=length,
            run=range(lab.pick(3, 1)),
            share=SHARES[query],
            policy=POLICIES,
        )
    ]
    table = lab.sweep(replay_query, cells).means(list(MEASURES), "query", "policy", "share")
    found = {
        (row["query"], row["policy"], row["share"], measure): row[measure]
        for row in table
        for measure in MEASURES
    }

    def draw(figure: Any) -> None:
        panels = figure.subplots(2, 2)
        for row, (measure, title) in zip(panels, MEASURES.items(), strict=True):
            for axes, query in zip(row, SHARES, strict=True):
                curves = {p: table.curve("share", measure, query=query, policy=p) for p in POLICIES}
                x = "cache, share of the largest need"
                lines(axes, curves, x, title, TITLES[query], legend=False)
                axes.set_ylim(0, 1.03)
        legend_below(figure, panels.flat[0])

    def gains(rival: str, measure: str) -> dict[str, dict[float, float]]:
        return {
            q: {
                s: found[q, "clock", s, measure] / max(1e-9, found[q, rival, s, measure]) - 1
                for s in shares
            }
            for q, shares in SHARES.items()
        }

    def beats(rival: str, measure: str, said: str) -> Any:
        each = gains(rival, measure)
        return judge(
            said,
            {f"{q} at {s:.0%}": gain > 0 for q, by in each.items() for s, gain in by.items()},
            ", ".join(
                f"{q} {min(by.values()):+.0%} to {max(by.values()):+.0%}" for q, by in each.items()
            ),
        )

    large = {
        q: min(found[q, p, shares[0], "recall"] for p in POLICIES)
        / max(found[q, p, shares[0], "recall"] for p in POLICIES)
        for q, shares in SHARES.items()
    }
    stress = gains("lru", "stressed")
    verdicts = [
        judge(
            "with large caches all strategies perform similarly (within 10 %)",
            {TITLES[q]: each > 0.9 for q, each in large.items()},
            ", ".join(f"{q}: worst / best {each:.2f}" for q, each in large.items()),
        ),
        beats("fifo", "recall", "CLOCK outperforms FIFO"),
        beats("rand", "recall", "CLOCK outperforms random eviction"),
        beats("lru", "recall", "CLOCK outperforms LRU"),
        beats("lru", "stressed", "CLOCK outperforms LRU under stress"),
        judge(
            "under stress by up to 147 % (SRBench) and 162 % (ViSTA-TV); here: by 100 % or more",
            {TITLES[q]: max(by.values()) >= 1 for q, by in stress.items()},
            ", ".join(f"{q} at most {max(by.values()):+.0%}" for q, by in stress.items()),
        ),
    ]
    return Found(table, draw, verdicts, NOTES, (8.4, 6.4))


CLOCK_3 = Experiment(
    "clock-3-4", "CLOCK", "figures 3 and 4", "recall by size of the cache", run, needs=(WEATHER,)
)
