"""Figure 5: recall by the length of the window and by the number of values, in a 20 % buffer."""

from itertools import pairwise
from typing import Any

from papers import grid

from .frame import Experiment, Found, judge
from .gdj_03 import gdj_for, recalls
from .lab import Lab, Rows
from .streams import at_hand, replay_streams
from .style import legend_below, lines, logarithmic

POLICIES = ("prob", "printed_age", "rand")


def run(lab: Lab) -> Found:
    """Simulate two series: windows, and domains."""
    windows = lab.pick((100, 200, 500, 1000, 2000), (100, 400))
    domains = lab.pick((25, 50, 100, 200, 400), (50, 200))
    length = lab.pick(20_000, 3000)
    names = at_hand("synthetic", "stock", "one tape")[: lab.pick(3, 1)]
    rows = lab.sweep(
        replay_streams, _windows(lab, names, windows, length) + _domains(lab, domains, length)
    )
    by_window = Rows(row for row in rows if "options" not in row)
    by_domain = Rows(row | {"domain": row["options"]["domain"]} for row in rows if "options" in row)
    found = recalls(by_window, "streams", "policy", "within")
    domain = recalls(by_domain, "policy", "domain")
    who = ("gdj", *POLICIES)

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(names) + 1)
        for axes, name in zip(panels, names, strict=False):
            curves = {p: by_window.curve("within", "recall", streams=name, policy=p) for p in who}
            lines(axes, curves, "window, time units", "recall", name, legend=False)
            logarithmic(axes, windows)
        curves = {p: by_domain.curve("domain", "recall", policy=p) for p in who}
        lines(
            panels[-1], curves, "values of the join attribute", "recall", "synthetic", legend=False
        )
        logarithmic(panels[-1], domains)
        for axes in panels:
            axes.set_ylim(bottom=0)
        legend_below(figure, panels[0])

    span = {
        (n, p): max(found[n, p, w] for w in windows) / min(found[n, p, w] for w in windows)
        for n in names
        for p in who
    }
    lead = {(n, w): found[n, "gdj", w] / found[n, "prob", w] for n in names for w in windows}
    falls = {p: [domain[p, d] for d in domains] for p in who}
    output = {
        p: [by_domain.where(policy=p, domain=d).mean("results") for d in domains] for p in who
    }
    verdicts = [
        judge(
            "each algorithm is remarkably persistent over window sizes (within 20 %)",
            {f"{p} on {n}": each <= 1.2 for (n, p), each in span.items()},
            ", ".join(
                f"{p.upper()} on {n}: largest / smallest {x:.2f}" for (n, p), x in span.items()
            ),
        ),
        judge(
            "GDJ outperforms PROB at every window",
            {f"{n} at {w}": each > 1 for (n, w), each in lead.items()},
            "; ".join(
                f"{n} {min(lead[n, w] for w in windows):.2f} to "
                f"{max(lead[n, w] for w in windows):.2f} times"
                for n in names
            ),
        ),
        judge(
            "output decreases consistently as the domain grows",
            {p: all(a > b for a, b in pairwise(each)) for p, each in output.items()},
            ", ".join(
                f"{p.upper()} {each[0]:,.0f} to {each[-1]:,.0f}" for p, each in output.items()
            )
            + "; recall: "
            + ", ".join(
                f"{p.upper()} {each[0]:.2f} to {each[-1]:.2f}" for p, each in falls.items()
            ),
        ),
        judge(
            "GDJ outperforms the others by a large factor at every domain size (1.1 times or more)",
            {
                f"{p} at {d}": domain["gdj", d] > 1.1 * domain[p, d]
                for p in POLICIES
                for d in domains
            },
            ", ".join(
                f"{p.upper()} {min(domain['gdj', d] / domain[p, d] for d in domains):.2f} to "
                f"{max(domain['gdj', d] / domain[p, d] for d in domains):.2f} times"
                for p in POLICIES
            ),
        ),
    ]
    columns = ("streams", "policy", "within")
    table = by_window.means("recall", *columns) + by_domain.means("recall", *columns, "domain")
    said = (
        "Output is counted in results, which was decided after both were seen. Recall, which is"
        " what the figure shows, rises with the domain for GDJ and PROB: the popular values are a"
        " smaller part of all results."
        " Stock: trades left, orders right; one tape: trades alone, dealt left and right."
    )
    return Found(table, draw, verdicts, [said], (11.0, 3.6))


def _windows(lab: Lab, names: list[str], windows: Any, length: int) -> list[grid.Given]:
    return [
        cell
        for name in names
        for cell in grid.product(
            streams=name,
            length=length,
            run=range(lab.pick(3, 1) if name == "synthetic" else 1),
            share=0.2,
            within=windows,
            policy=(gdj_for(name), *POLICIES),
        )
    ]


def _domains(lab: Lab, domains: Any, length: int) -> list[grid.Given]:
    axes = {
        "length": length,
        "run": range(lab.pick(3, 1)),
        "share": 0.2,
        "within": lab.pick(500, 200),
    }
    return [
        cell | {"options": {"domain": domain}}
        for domain in domains
        for cell in grid.product(
            streams="synthetic", **axes, policy=(gdj_for("synthetic"), *POLICIES)
        )
    ]


GDJ_5 = Experiment("gdj-5", "GDJ", "figure 5", "window and domain size", run)
