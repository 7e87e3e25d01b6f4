"""Figure 4: recall by the size of the buffer, on synthetic and on real streams."""

from typing import Any

from .frame import Experiment, Found, judge, span
from .gdj_03 import gdj_for, recalls, two_streams
from .lab import Lab
from .streams import replay_streams
from .style import legend_below, lines

RIVALS = ("prob", "life", "lru", "printed_age", "age", "rand", "fifo")


def run(lab: Lab) -> Found:
    """Simulate every policy in every share of the memory."""
    shares = lab.pick((0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0), (0.1, 0.4, 1.0))
    cells = [
        arrivals | {"share": share, "policy": policy}
        for arrivals in two_streams(lab)
        for share in shares
        for policy in (gdj_for(arrivals["streams"]), *RIVALS)
    ]
    rows = lab.sweep(replay_streams, cells)
    found = recalls(rows, "streams", "policy", "share")
    table = rows.means("recall", "streams", "policy", "share")
    names = list(dict.fromkeys(table.column("streams")))

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(names), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            curves = {
                p: table.curve("share", "recall", streams=name, policy=p) for p in ("gdj", *RIVALS)
            }
            x = "buffer, share of full memory"
            lines(axes, curves, x, "recall", name, legend=False)
        legend_below(figure, panels[0], columns=8)

    small = [(name, share) for name in names for share in shares if share < 1]
    ratio = {
        rival: {at: found[at[0], "gdj", at[1]] / found[at[0], rival, at[1]] for at in small}
        for rival in RIVALS
    }
    age, ours = (
        {(n, s): found[n, p, s] / found[n, "rand", s] for n, s in small}
        for p in ("printed_age", "age")
    )
    whole = {
        name: min(found[name, p, 1.0] for p in ("gdj", *RIVALS)) for name in names if 1.0 in shares
    }

    def beats(rival: str, name: str) -> Any:
        ratios = ratio[rival]
        return judge(
            f"GDJ outperforms {name} in all cases",
            {f"{name} at {share:.0%}": r > 1 for (name, share), r in ratios.items()},
            "; ".join(
                f"{n}: {min(r for (m, _), r in ratios.items() if m == n):.2f} to "
                f"{max(r for (m, _), r in ratios.items() if m == n):.2f} times"
                for n in names
            ),
        )

    verdicts = [
        beats("prob", "PROB"),
        beats("printed_age", "AGE"),
        beats("rand", "RAND"),
        judge(
            "AGE resembles random eviction (within 10 %)",
            {f"{name} at {share:.0%}": abs(r - 1) <= 0.1 for (name, share), r in age.items()},
            f"{span(age.values())} times RAND; with ages that it learns: {span(ours.values())}",
        ),
        judge(
            "with a buffer of 100 % streams of a constant rate lose nothing",
            {name: recall == 1 for name, recall in whole.items()},
            f"lowest recall {min(whole.values()):.3f}",
        ),
    ]
    notes = [
        "GDJ is at the percentile that figure 3 finds best. PRINTED_AGE knows the best age of each"
        " value, computed offline, as the paper's AGE does (`papers/printed/age.py`); AGE is ours,"
        " which learns one age for each stream. One tape: trades alone, dealt left and right."
    ]
    return Found(table, draw, verdicts, notes, (11.0, 3.8))


GDJ_4 = Experiment("gdj-4", "GDJ", "figure 4", "size of the buffer", run)
