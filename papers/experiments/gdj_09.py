"""Figures 9 and 10: arrivals dropped before a 20 % buffer; results against their distortion."""

from itertools import pairwise
from typing import Any

from .frame import Experiment, Found, Verdict, judge
from .gdj_03 import gdj_for, two_streams
from .lab import Lab
from .streams import replay_streams
from .style import legend_below, look, name_axes

MEASURES = {"sse": "SSE (figure 9)", "kl": "KL, nats (figure 10)"}
WHO = ("gdj", "prob", "fifo")


def run(lab: Lab) -> Found:
    """Simulate every drop rate."""
    rates = lab.pick((0.0, 0.2, 0.4, 0.6, 0.7, 0.8), (0.0, 0.4, 0.8))
    cells = [
        arrivals | {"share": 0.2, "drop": rate, "distortion": True, "policy": policy}
        for arrivals in two_streams(lab)
        for rate in rates
        for policy in (gdj_for(arrivals["streams"]), "prob", "fifo")
    ]
    rows = lab.sweep(replay_streams, cells)
    for row in rows:
        row["policy"] = row["policy"].partition(":")[0]
    table = rows.means(["recall", "sse", "kl"], "streams", "policy", "drop")
    names = list(dict.fromkeys(table.column("streams")))
    curves = {
        (n, p): sorted(table.where(streams=n, policy=p), key=lambda row: row["drop"])
        for n in names
        for p in WHO
    }

    def draw(figure: Any) -> None:
        panels = figure.subplots(2, len(names), squeeze=False)
        for row, (measure, label) in zip(panels, MEASURES.items(), strict=True):
            for axes, name in zip(row, names, strict=True):
                for p in WHO:
                    points = curves[name, p]
                    at = [[point[of] for point in points] for of in ("recall", measure)]
                    axes.plot(*at, label=p.upper(), **look(p))
                name_axes(axes, "recall", label, name)
        legend_below(figure, panels.flat[0])

    verdicts = [verdict for name in names for verdict in _verdicts(name, curves)]
    verdicts.append(_by_size(lab))
    note = f"Along a line drop rates rise from 0, on the right, to {100 * rates[-1]:g} %."
    return Found(table, draw, verdicts, [note], (9.0, 6.0))


def _verdicts(name: str, curves: dict) -> list:
    gdj, prob, fifo = (curves[name, p] for p in WHO)
    ends = {p: (curves[name, p][0], curves[name, p][-1]) for p in ("gdj", "prob")}
    better = {
        f"{measure} of PROB at drop rate {p['drop']:.0%}": at_distortion(gdj, p[measure], measure)
        > p["recall"]
        for measure in MEASURES
        for p in prob
    }
    over = {
        g["drop"]: g["recall"] / f["recall"]
        for g, f in zip(gdj, fifo, strict=True)
        if g["drop"] <= 0.5
    }
    return [
        judge(
            f"{name}: dropping more costs results and lessens the distortion",
            {
                f"{p}'s {what}": last[what] < first[what]
                for p, (first, last) in ends.items()
                for what in ("recall", *MEASURES)
            },
            "; ".join(
                f"{p.upper()} recall {a['recall']:.2f} to {b['recall']:.2f}, SSE {a['sse']:.3f} to "
                f"{b['sse']:.3f}, KL {a['kl']:.2f} to {b['kl']:.2f}"
                for p, (a, b) in ends.items()
            ),
        ),
        judge(
            f"{name}: for the same distortion GDJ has more results than PROB",
            better.values(),
            f"at {sum(better.values())} of {len(better)} distortions of PROB",
        ),
        judge(
            f"{name}: with at most half dropped GDJ finds more than FIFO with as much dropped",
            {f"drop rate {drop:.0%}": each > 1 for drop, each in over.items()},
            "GDJ / FIFO " + ", ".join(f"{each:.2f} at {drop:.0%}" for drop, each in over.items()),
        ),
        judge(
            f"{name}: as the drop rate goes to 80 % the methods behave like FIFO (within 5 %)",
            {p: abs(ends[p][1]["recall"] / fifo[-1]["recall"] - 1) < 0.05 for p in ends},
            f"recall FIFO {fifo[-1]['recall']:.3f}, "
            + ", ".join(f"{p.upper()} {ends[p][1]['recall']:.3f}" for p in ends),
        ),
    ]


def _by_size(lab: Lab) -> Verdict:
    """Judge how distorted GDJ's results are by the size of the buffer, with nothing dropped."""
    shares = (0.1, 0.4, 0.8)
    cells = [
        arrivals | {"share": share, "distortion": True, "policy": gdj_for(arrivals["streams"])}
        for arrivals in two_streams(lab)
        for share in shares
    ]
    rows = lab.sweep(replay_streams, cells)
    names = list(dict.fromkeys(rows.column("streams")))
    sse = {n: [rows.where(streams=n, share=s).mean("sse") for s in shares] for n in names}
    return judge(
        "GDJ's bias is more pronounced in smaller buffers, negligible in large ones (SSE)",
        {n: each == sorted(each, reverse=True) for n, each in sse.items()},
        f"in buffers of {', '.join(f'{s:.0%}' for s in shares)}: "
        + "; ".join(f"{n} {', '.join(f'{e:.4f}' for e in each)}" for n, each in sse.items()),
    )


def at_distortion(points: list[dict[str, Any]], limit: float, measure: str) -> float:
    """Return the best recall that is distorted no more than so much, between the points too.

    >>> points = [{"recall": 0.4, "kl": 2.0}, {"recall": 0.2, "kl": 1.0}]
    >>> round(at_distortion(points, 1.5, "kl"), 3)
    0.3
    """
    found = [p["recall"] for p in points if p[measure] <= limit]
    for one, other in pairwise(points):
        low, high = sorted((one, other), key=lambda p: p[measure])
        if low[measure] <= limit < high[measure]:
            way = (limit - low[measure]) / (high[measure] - low[measure])
            found.append(low["recall"] + way * (high["recall"] - low["recall"]))
    return max(found, default=0.0)


GDJ_9 = Experiment(
    "gdj-9-10", "GDJ", "figures 9 and 10", "sampling: results against distortion", run
)
