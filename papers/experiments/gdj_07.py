"""Figure 7: a join of two to five streams, and joins of two streams on one to four attributes."""

from typing import Any

from papers import grid

from .frame import Experiment, Found, judge
from .gdj_03 import recalls
from .lab import Lab, Rows
from .streams import at_hand, replay_streams
from .style import legend_below, lines

POLICIES = ("gdj:percentile=0.1", "prob", "rand")
WITHIN = 50  # of many streams: results grow with its power


def run(lab: Lab) -> Found:
    """Simulate both series."""
    streams = _many_streams(lab)
    rows = lab.sweep(replay_streams, streams + _many_attributes(lab))
    many, attributes = Rows(rows[: len(streams)]), Rows(rows[len(streams) :])
    for row in many:
        row["count"] = row["options"].get("count", row["options"].get("streams"))
        row["streams"] = "stock" if row["streams"] == "dealt" else row["streams"]
    for row in attributes:
        row["count"] = row["options"]["attributes"]
    found = recalls(many, "streams", "policy", "count")
    by_attribute = recalls(attributes, "policy", "count")
    names = list(dict.fromkeys(many.column("streams")))
    counts = sorted({row["count"] for row in many})
    who = ("gdj", "prob", "rand")

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(names) + 1)
        for axes, name in zip(panels, names, strict=False):
            curves = {p: many.curve("count", "recall", streams=name, policy=p) for p in who}
            lines(
                axes,
                curves,
                "streams in the join",
                "recall",
                f"several streams: {name}",
                legend=False,
            )
        curves = {p: attributes.curve("count", "recall", policy=p) for p in who}
        lines(
            panels[-1], curves, "attributes joined on", "recall", "several attributes", legend=False
        )
        for axes in panels:
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.set_ylim(bottom=0)
        legend_below(figure, panels[0])

    lead = {n: [found[n, "gdj", c] / found[n, "prob", c] for c in counts] for n in names}
    falls = {(n, p): found[n, p, counts[-1]] / found[n, p, counts[0]] for n in names for p in who}
    numbers = sorted({row["count"] for row in attributes})
    ratio = [by_attribute["gdj", c] / by_attribute["prob", c] for c in numbers]
    verdicts = [
        judge(
            "GDJ beats PROB and RAND with any number of streams",
            {
                f"{p} on {c} {n}": found[n, "gdj", c] > found[n, p, c]
                for n in names
                for c in counts
                for p in ("prob", "rand")
            },
            "GDJ / PROB: " + "; ".join(f"{n} {_listed(lead[n])}" for n in names),
        ),
        judge(
            "and by more the more streams there are",
            {n: each == sorted(each) for n, each in lead.items()},
            "GDJ / PROB: " + "; ".join(f"{n} {_listed(lead[n])}" for n in names),
        ),
        judge(
            "GDJ copes with more streams (keeps 90 % of its recall) where PROB and RAND degrade",
            {
                n: falls[n, "gdj"] > 0.9 and max(falls[n, "prob"], falls[n, "rand"]) < 0.9
                for n in names
            },
            "recall kept: "
            + ", ".join(f"{p.upper()} on {n} {x:.0%}" for (n, p), x in falls.items()),
        ),
        judge(
            "several attributes: GDJ outperforms PROB and RAND in all cases",
            {
                f"{p} with {c}": by_attribute["gdj", c] > by_attribute[p, c]
                for c in numbers
                for p in ("prob", "rand")
            },
            f"GDJ / PROB: {_listed(ratio)}",
        ),
        judge(
            "and it gets better as attributes are added",
            [ratio == sorted(ratio)],
            f"GDJ / PROB: {_listed(ratio)}",
        ),
    ]
    columns = ("streams", "policy", "count", "within")
    table = many.means("recall", *columns) + attributes.means("recall", *columns)
    note = (
        "Stock trades are dealt out to the streams by turns; windows of 50, and 500 for attributes."
    )
    return Found(table, draw, verdicts, [note], (9.0, 3.6))


def _many_streams(lab: Lab) -> list[grid.Given]:
    axes = {"length": lab.pick(20_000, 2000), "within": WITHIN, "share": 0.2, "policy": POLICIES}
    cells = []
    for count in lab.pick((2, 3, 4, 5), (2, 3)):
        for cell in grid.product(streams="synthetic", run=range(lab.pick(3, 1)), **axes):
            cells.append(cell | {"options": {"streams": count}})
        if at_hand("stock") and not lab.quick:
            for cell in grid.product(streams="dealt", run=0, **axes):
                cells.append(cell | {"options": {"count": count}})
    return cells


def _many_attributes(lab: Lab) -> list[grid.Given]:
    axes = {"length": lab.pick(20_000, 2000), "within": lab.pick(500, 200), "share": 0.2}
    return [
        cell | {"options": {"attributes": count, "others": 0.0}}
        for count in lab.pick((1, 2, 3, 4), (1, 2))
        for cell in grid.product(
            streams="synthetic", run=range(lab.pick(3, 1)), **axes, policy=POLICIES
        )
    ]


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


GDJ_7 = Experiment("gdj-7", "GDJ", "figure 7", "several streams, several attributes", run)
