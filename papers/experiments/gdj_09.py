"""Figures 9 and 10: arrivals dropped before a 20 % buffer; results against their distortion."""

from itertools import pairwise
from typing import Any

from .frame import Experiment, Found, Verdict, judge, span
from .gdj_03 import gdj_for, two_streams
from .lab import Lab
from .streams import replay_streams
from .style import legend_below, look, name_axes

MEASURES = {"sse": "SSE (figure 9)", "kl": "KL, nats (figure 10)"}
WHO = ("gdj", "prob", "fifo")
SYNTHETIC = "synthetic"


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

    judged = [name for name in names if name != SYNTHETIC] or names
    verdicts = [*_verdicts(judged, names, curves), _by_size(lab)]
    notes = [
        f"Along a line drop rates rise from 0, on the right, to {100 * rates[-1]:g} %. The paper"
        " samples stock and weather: the verdicts are on these, the synthetic streams stand beside"
        " them. Until their numbers were seen each pair of streams had its own verdicts."
    ]
    return Found(table, draw, verdicts, notes, (9.0, 6.0))


def _verdicts(judged: list[str], names: list[str], curves: dict) -> list[Verdict]:
    ends = {at: (points[0], points[-1]) for at, points in curves.items()}
    points = [(n, m, p) for n in names for m in MEASURES for p in curves[n, "prob"]]
    more = {
        (n, m, p["drop"]): at_distortion(curves[n, "gdj"], p[m], m) > p["recall"]
        for n, m, p in points
    }
    purer = {
        (n, m, p["drop"]): at_recall(curves[n, "gdj"], p["recall"], m) <= p[m] / 2
        for n, m, p in points
    }
    over = {
        (n, g["drop"]): g["recall"] / f["recall"]
        for n in names
        for g, f in zip(curves[n, "gdj"], curves[n, "fifo"], strict=True)
        if g["drop"] <= 0.5
    }
    last = {(n, p): ends[n, p][1]["recall"] / ends[n, "fifo"][1]["recall"] for n, p in curves}

    def said(found: dict) -> str:
        count = {n: [good for at, good in found.items() if at[0] == n] for n in names}
        return ", ".join(f"{n} {sum(each)} of {len(each)}" for n, each in count.items())

    def cases(found: dict) -> dict[str, bool]:
        at = {(n, m, drop): f"{n}, {m.upper()} at {drop:.0%}" for n, m, drop in found}
        return {at[each]: good for each, good in found.items() if each[0] in judged}

    return [
        judge(
            "dropping more costs results and lessens the distortion",
            {
                f"{p.upper()}'s {what} on {n}": ends[n, p][1][what] < ends[n, p][0][what]
                for n in judged
                for p in WHO[:2]
                for what in ("recall", *MEASURES)
            },
            "; ".join(
                f"{n}: {p.upper()} recall {a['recall']:.2f} to {b['recall']:.2f}, SSE"
                f" {a['sse']:.3f} to {b['sse']:.3f}, KL {a['kl']:.2f} to {b['kl']:.2f}"
                for (n, p), (a, b) in ends.items()
                if p != "fifo"
            ),
        ),
        judge(
            "for the same distortion GDJ has more results than PROB",
            cases(more),
            f"at so many distortions of PROB: {said(more)}",
        ),
        judge(
            "for as many results GDJ's distortion is much smaller (half of PROB's or less)",
            cases(purer),
            f"at so many recalls of PROB: {said(purer)}",
        ),
        judge(
            "with at most half dropped GDJ finds more than FIFO with as much dropped",
            {f"{n} at {drop:.0%}": each > 1 for (n, drop), each in over.items() if n in judged},
            "GDJ / FIFO "
            + "; ".join(
                f"{n} {span(each for (m, _), each in over.items() if m == n)}" for n in names
            ),
        ),
        judge(
            "as the drop rate goes to 80 % the methods behave like FIFO (within 5 %)",
            {f"{p.upper()} on {n}": abs(last[n, p] - 1) < 0.05 for n in judged for p in WHO[:2]},
            "recall beside FIFO's: "
            + "; ".join(f"{n} GDJ {last[n, 'gdj']:.2f}, PROB {last[n, 'prob']:.2f}" for n in names),
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
        {
            n: each == sorted(each, reverse=True)
            for n, each in sse.items()
            if n != SYNTHETIC or len(names) == 1
        },
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


def at_recall(points: list[dict[str, Any]], recall: float, measure: str) -> float:
    """Return the least distortion of as many results, between the points too.

    >>> points = [{"recall": 0.4, "kl": 2.0}, {"recall": 0.2, "kl": 1.0}]
    >>> round(at_recall(points, 0.3, "kl"), 3), at_recall(points, 0.5, "kl")
    (1.5, inf)
    """
    found = [p[measure] for p in points if p["recall"] >= recall]
    for one, other in pairwise(points):
        low, high = sorted((one, other), key=lambda p: p["recall"])
        if low["recall"] < recall <= high["recall"]:
            way = (recall - low["recall"]) / (high["recall"] - low["recall"])
            found.append(low[measure] + way * (high[measure] - low[measure]))
    return min(found, default=float("inf"))


GDJ_9 = Experiment(
    "gdj-9-10", "GDJ", "figures 9 and 10", "sampling: results against distortion", run
)
