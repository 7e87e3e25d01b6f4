"""GreedyDual-Join's experiments: what its paper says, and what comes out here.

Each experiment is a table of recalls (results over those of an unlimited memory) and the claims of
the paper's text about it, each with "holds" or "fails" and the figures behind that. The paper's
plots are not compared: only its words are at hand.

python bench/greedydual.py [--quick] [--json bench/results/greedydual.json]
With PENSTOCK_DATA set to the data's folder real streams are measured beside the synthetic ones.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from greedydual_data import Streams, sources, synthetic
from rich.console import Console
from rich.table import Table

from penstock.simulation import distortion, exact_tally, play, tally
from penstock.simulation.full import full_results
from penstock.workloads import JoinTrace

BUFFER = 0.2  # of what an exact join holds; the paper's, where it does not vary
PERCENTILES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99)  # from the lowest credit up
RIVALS = ("rand", "fifo", "lru", "age", "life", "prob")
NEAR = 0.02  # what two recalls may differ by and still be called the same
Recalls = dict[str, float]
Claim = tuple[str, bool, str]


def recall(traces: Sequence[JoinTrace], policy: str, memory: int, within: int, **terms) -> float:
    """Return the mean recall after two windows of warm-up."""
    found = []
    for seed, trace in enumerate(traces):
        first = 2 * within * trace.streams
        played = play(trace, policy, memory, within=within, first=first, seed=seed, **terms)
        found.append(played.results / max(1, full_results(trace, within, first)))
    return fmean(found)


def compare(
    traces: Sequence[JoinTrace], rivals: Sequence[str], memory: int, within: int, **terms
) -> Recalls:
    """Return the recall of the rivals, of GDJ as it comes, and of GDJ at its best percentile."""
    terms = {"layout": "split"} | terms  # the paper divides the memory unless it says otherwise
    found = {name: recall(traces, name, memory, within, **terms) for name in rivals}
    tuned = by_percentile(traces, memory, within, **terms)
    return found | {"gdj 0.9": tuned[0.9], "gdj best": max(tuned.values())}


def by_percentile(
    traces: Sequence[JoinTrace], memory: int, within: int, method: int = 1, **terms
) -> dict[float, float]:
    """Return the recall of GDJ at each percentile."""
    return {
        p: recall(traces, f"gdj:percentile={p},method={method}", memory, within, **terms)
        for p in PERCENTILES
    }


class Experiment:
    """Columns of figures by row, and what the paper says of them."""

    def __init__(self, title: str):
        self.title = title
        self.columns: dict[str, dict[str, Any]] = {}
        self.claims: list[Claim] = []

    def add(self, column: str, figures: dict[str, Any]) -> None:
        self.columns[column] = figures

    def claim(self, says: str, holds: bool, because: str) -> None:
        self.claims.append((says, bool(holds), because))

    def show(self, console: Console) -> None:
        rows = list(dict.fromkeys(row for figures in self.columns.values() for row in figures))
        table = Table(title=self.title, title_justify="left")
        table.add_column("")
        for column in self.columns:
            table.add_column(column, justify="right")
        for row in rows:
            cells = [figures.get(row) for figures in self.columns.values()]
            table.add_row(row, *("" if cell is None else f"{cell:.3f}" for cell in cells))
        console.print(table)
        for says, holds, because in self.claims:
            console.print(f"  {'holds' if holds else 'FAILS'}: {says} ({because})", style="bold")
        console.print()


def with_ratio(found: Recalls) -> Recalls:
    """Return the recalls with that of GDJ over that of PROB."""
    return found | {"gdj best / prob": found["gdj best"] / found["prob"]}


def over(figures: Recalls, one: str = "gdj best", other: str = "prob") -> float:
    return figures[one] / figures[other]


def span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.2f}" if len(values) == 1 else f"{low:.2f} to {high:.2f}"


def credit(streams: list[Streams], quick: bool) -> Experiment:
    """Section 5.2: credit methods and the initial credit."""
    made = Experiment(f"Credit methods and percentiles, {BUFFER:.0%} buffer")
    apart, best = [], []
    for each in streams:
        traces, memory = each.make(2), round(BUFFER * each.full())
        one, two = (
            by_percentile(traces, memory, each.within, method, layout="split") for method in (1, 2)
        )
        for method, figures in ((1, one), (2, two)):
            column = {f"percentile {p}": figure for p, figure in figures.items()}
            made.add(f"{each.name}, method {method}", column)
        apart += [max(two.values()) / max(one.values()), two[0.9] / one[0.9]]
        best.append(max(PERCENTILES, key=lambda p, figures=one: figures[p]))
    made.claim(
        "methods 1 and 2 give similar results (3 equals 1 by its definition)",
        all(abs(ratio - 1) <= 0.05 for ratio in apart),
        f"2 over 1: at their best {span(apart[::2])}, at percentile 0.9 {span(apart[1::2])}",
    )
    shown = ", ".join(f"{each.name} {p}" for each, p in zip(streams, best, strict=True))
    made.claim("the best percentile is 0.8 to 0.998 from the lowest", min(best) >= 0.8, shown)
    made.claim("or, counted from the highest credit", 0 < min(best) <= max(best) <= 0.2, shown)
    return made


def buffers(streams: list[Streams], quick: bool) -> Experiment:
    """Section 5.3.1: the size of the buffer."""
    made = Experiment("Buffer as a share of what an exact join holds")
    against: dict[str, list[float]] = {"prob": [], "age": []}
    linear, exact, lost = [], [], []
    for each in streams:
        traces = each.make(2)
        for share in (0.1, 0.2, 0.4) if quick else (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0):
            found = compare(traces, RIVALS, round(share * each.full()), each.within)
            made.add(f"{each.name} {share:.0%}", with_ratio(found))
            if share == 1:
                exact.append(min(found.values()))
                continue
            for rival, ratios in against.items():
                ratios.append(over(found, other=rival))
            linear.append(found["age"] / found["rand"])
            best = max(RIVALS, key=lambda name, f=found: f[name])
            if found[best] > found["gdj best"]:
                lost.append(f"{each.name} {share:.0%} to {best}")
    for rival, ratios in against.items():
        made.claim(
            f"GDJ outperforms {rival.upper()} in all cases",
            min(ratios) > 1,
            f"GDJ at its best percentile over {rival.upper()}: {span(ratios)}",
        )
    made.claim("AGE resembles random eviction", max(linear) < 1.1, f"over RAND: {span(linear)}")
    if exact:
        made.claim("a full buffer is exact", min(exact) == 1, f"lowest recall {min(exact)}")
    made.claim("nobody beats GDJ", not lost, f"lost: {', '.join(lost) or 'nothing'}")
    return made


def unified(length: int, runs: int) -> Experiment:
    """Section 5.3.3: two joins over four streams, one pair directly, one inversely correlated."""
    made = Experiment(f"Two joins, four streams: {BUFFER:.0%} unified or split by rate")
    source = synthetic(length, runs, pairs=True)
    traces, memory = source.make(4), round(BUFFER * source.full(4))
    split = compare(traces, ("rand", "prob"), memory, source.within)
    shared = compare(traces, ("rand", "prob"), memory, source.within, layout="unified")
    made.add("split", split)
    made.add("unified", shared)
    made.add("unified / split", {name: shared[name] / split[name] for name in split})
    same = shared["rand"] / split["rand"]
    gain, prob = shared["gdj best"] / split["prob"], shared["prob"] / split["prob"]
    made.claim("RAND is the same in both", abs(same - 1) < NEAR, f"{same:.3f}")
    made.claim("unified GDJ significantly outperforms split PROB", gain > 1.05, f"{gain:.2f} times")
    made.claim(
        "it is the sharing that helps GDJ",
        shared["gdj best"] > 1.05 * split["gdj best"],
        f"unified over split: GDJ {shared['gdj best'] / split['gdj best']:.2f}, PROB {prob:.2f}",
    )
    return made


def many_streams(streams: list[Streams], quick: bool) -> Experiment:
    """Section 5.3.4: a join of 2 to 5 streams."""
    made = Experiment(f"Streams in one join, {BUFFER:.0%} of the window each")
    for each in streams:
        if each.name == "dew point":
            continue  # the paper takes stock trades
        ratios, keeps = [], []
        for count in (2, 3) if quick else (2, 3, 4, 5):
            traces, memory = each.make(count), round(BUFFER * each.full(count))
            found = compare(traces, ("rand", "lru", "prob"), memory, each.within)
            made.add(f"{each.name} {count}", with_ratio(found))
            ratios.append(over(found))
            keeps.append(found)
        made.claim(
            f"{each.name}: GDJ beats PROB, and by more the more streams there are",
            min(ratios) > 1 and ratios == sorted(ratios),
            " ".join(f"{ratio:.2f}" for ratio in ratios),
        )
        falls = {name: keeps[-1][name] / keeps[0][name] for name in ("rand", "prob", "gdj best")}
        made.claim(
            f"{each.name}: RAND and PROB degrade, GDJ copes",
            falls["gdj best"] > 0.9 and max(falls["rand"], falls["prob"]) < 0.9,
            "last over first: " + ", ".join(f"{name} {fall:.2f}" for name, fall in falls.items()),
        )
    return made


def several_attributes(length: int, runs: int, quick: bool) -> Experiment:
    """Section 5.3.4: two streams joined on several attributes."""
    made = Experiment(f"Attributes of two streams, {BUFFER:.0%} of the window each")
    ratios = []
    for count in (1, 2) if quick else (1, 2, 3, 4):
        source = synthetic(length, runs, attributes=count, others=0.0)
        found = compare(
            source.make(2), ("rand", "lru", "prob"), round(BUFFER * source.full()), source.within
        )
        made.add(f"{count}", with_ratio(found))
        ratios.append(over(found))
    shown = " ".join(f"{ratio:.2f}" for ratio in ratios)
    made.claim("GDJ outperforms PROB in all cases", min(ratios) > 1, shown)
    made.claim("and gets better as attributes are added", ratios == sorted(ratios), shown)
    return made


def skews(length: int, runs: int, quick: bool) -> Experiment:
    """Section 5.3.4: the second of two attributes more and more skewed, the first uniform."""
    made = Experiment(f"Skew of the second attribute, the first uniform; {BUFFER:.0%} buffer")
    ratios = []
    for alpha in (0.1, 1.0) if quick else (0.1, 0.4, 0.7, 1.0, 1.5):
        source = synthetic(length, runs, attributes=2, alpha=0.0, rise=alpha, others=0.0)
        found = compare(
            source.make(2), ("rand", "prob"), round(BUFFER * source.full()), source.within
        )
        made.add(f"{alpha}", with_ratio(found))
        ratios.append(over(found))
    shown = " ".join(f"{ratio:.2f}" for ratio in ratios)
    made.claim("PROB wins where the skew is small", ratios[0] < 1, shown)
    made.claim("GDJ wins where it is large", ratios[-1] > 1, shown)
    return made


def dropping(streams: list[Streams], quick: bool) -> Experiment:
    """Section 5.4: a drop rate before the buffer, results against distortion."""
    made = Experiment(f"Drop rate before a {BUFFER:.0%} buffer: recall, SSE and KL")
    rates = (0.0, 0.4, 0.8) if quick else (0.0, 0.2, 0.4, 0.6, 0.7, 0.8)
    for each in streams:
        curves = {}
        for name, policy in (("fifo", "fifo"), ("prob", "prob"), ("gdj", best_gdj(each))):
            curves[name] = [sampled(each, policy, rate) for rate in rates]
            for measure in ("recall", "sse", "kl"):
                figures = [point[measure] for point in curves[name]]
                column = dict(zip((f"drop {rate}" for rate in rates), figures, strict=True))
                made.add(f"{each.name} {name} {measure}", column)
        claim_dropping(made, each.name, curves)
    return turned(made)


def best_gdj(streams: Streams) -> str:
    """Return GDJ with the percentile that is best without dropping."""
    memory = round(BUFFER * streams.full())
    tuned = by_percentile(streams.make(2), memory, streams.within, layout="split")
    return f"gdj:percentile={max(tuned, key=lambda p: tuned[p])}"


def sampled(streams: Streams, policy: str, rate: float) -> dict[str, float]:
    """Return recall and distortion at a drop rate."""
    traces, memory, within = streams.make(2), round(BUFFER * streams.full()), streams.within
    points = []
    for seed, trace in enumerate(traces):
        first = 2 * within * trace.streams
        exact = exact_tally(trace, within=within, first=first)
        terms: dict[str, Any] = {"within": within, "layout": "split", "first": first, "seed": seed}
        found = tally(trace, policy, memory, drop=rate, **terms)
        points.append((found.sum() / exact.sum(), *distortion(exact, found)))
    means = [fmean(values) for values in zip(*points, strict=True)]
    return dict(zip(("recall", "sse", "kl"), means, strict=True))


def claim_dropping(made: Experiment, name: str, curves: dict[str, list[dict]]) -> None:
    for policy in ("gdj", "prob"):
        low, high = curves[policy][0], curves[policy][-1]
        made.claim(
            f"{name}: dropping more costs {policy.upper()} results and lessens its distortion",
            all(high[measure] < low[measure] for measure in low),
            ", ".join(f"{measure} {low[measure]:.3f} to {high[measure]:.3f}" for measure in low),
        )
    gdj, prob, fifo = (curves[policy] for policy in ("gdj", "prob", "fifo"))
    for measure in ("sse", "kl"):
        better = [at_distortion(gdj, p[measure], measure) > p["recall"] for p in prob]
        made.claim(
            f"{name}: for the same {measure.upper()} GDJ has more results than PROB",
            all(better),
            f"at {sum(better)} of {len(better)} distortions of PROB",
        )
        least = [f[measure] <= min(g[measure], p[measure]) for f, g, p in zip(fifo, gdj, prob)]
        made.claim(
            f"{name}: FIFO's {measure.upper()} is the smallest",
            all(least),
            f"at {sum(least)} of {len(least)} drop rates; {fifo[0][measure]:.3f} without dropping",
        )
    made.claim(
        f"{name}: at the rate that the buffer can hold GDJ behaves like FIFO",
        abs(gdj[-1]["recall"] / fifo[-1]["recall"] - 1) < 0.05,
        f"recall {gdj[-1]['recall']:.4f} against {fifo[-1]['recall']:.4f}",
    )


def at_distortion(points: list[dict], limit: float, measure: str) -> float:
    """Return the best recall that is distorted no more than so much, between the points too."""
    found = [p["recall"] for p in points if p[measure] <= limit]
    for one, other in pairwise(points):
        low, high = sorted((one, other), key=lambda p: p[measure])
        if low[measure] <= limit < high[measure]:
            way = (limit - low[measure]) / (high[measure] - low[measure])
            found.append(low["recall"] + way * (high["recall"] - low["recall"]))
    return max(found, default=0.0)


def turned(made: Experiment) -> Experiment:
    """Return the experiment with its columns for rows: there are more policies than rates."""
    columns: dict[str, dict[str, Any]] = {}
    for name, figures in made.columns.items():
        for row, figure in figures.items():
            columns.setdefault(row, {})[name] = figure
    made.columns = columns
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="synthetic streams only, and short")
    parser.add_argument("--runs", type=int, default=5, help="of the synthetic streams")
    parser.add_argument("--length", type=int, default=20_000, help="time units of a run, at most")
    parser.add_argument("--json", type=Path, help="where to write the report")
    given = parser.parse_args()
    runs, length = (1, 4_000) if given.quick else (given.runs, given.length)
    streams = [synthetic(length, runs)] if given.quick else sources(length, runs)
    experiments: list[Callable[[], Experiment]] = [
        lambda: credit(streams, given.quick),
        lambda: buffers(streams, given.quick),
        lambda: unified(length, runs),
        lambda: many_streams(streams, given.quick),
        lambda: several_attributes(length, runs, given.quick),
        lambda: skews(length, runs, given.quick),
        lambda: dropping(streams, given.quick),
    ]
    console, report = Console(), []
    for run in experiments:
        made = run()
        made.show(console)
        report.append({"title": made.title, "columns": made.columns, "claims": made.claims})
        if given.json is not None:
            given.json.parent.mkdir(parents=True, exist_ok=True)
            given.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
