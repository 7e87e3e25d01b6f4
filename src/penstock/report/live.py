"""The page of running queries, and the same page of a query's history: data drawn by `live.js`."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor
from typing import Any

from ..advisor import Advice
from . import page
from .attention import attention
from .history import QueryHistory, Sample

SCRIPTS = ("plots.js", "live.js")
BODY = """<p id="lost" class="doubt" role="status" hidden></p>
<div id="queries"></div>
<div id="said" aria-live="polite"></div>
<dl id="cards" class="cards"></dl>
<div id="plots" class="plots"></div>
<div id="tables" class="pair"></div>
<p id="stamp" class="quiet"></p>"""
OURS, OTHER, THIRD, GREY = 0, 1, 2, 7  # colours of the page
PARTS = {  # of a micro-batch: our words, and Spark's names
    "join, lookup and sink": ("addBatch",),
    "planning": ("queryPlanning",),
    "sources": ("latestOffset", "getBatch"),
    "logs": ("walCommit", "commitOffsets", "commitBatch"),
}
WHOLE = "triggerExecution"
UNKNOWN = "query"  # the kind of one that failed before it reported anything
SAVED = {  # figures of a lookup, by its goal: what was saved, and what was fetched
    "bytes": ("bytes_saved", "bytes_fetched"),
    "costs": ("cost_saved", "cost_fetched"),
}
SENT = ("above", "below", "asked", "spoke", "first")  # refreshes of a thin, by their kind
PlotCurve = dict[str, Any]
Card = tuple[str, str, str]  # a label, a value, and what stands below


@dataclass
class Watched:
    """A query that is watched."""

    history: QueryHistory
    latest: Sample
    advice: Advice | None = None
    began: float = 0.0  # when the first micro-batch of this run ended


def live_page() -> str:
    """Return the page; its script asks for the data."""
    return page("Penstock", BODY, {"live": True, "queries": [], "chosen": None}, SCRIPTS)


def report_page(histories: Sequence[QueryHistory]) -> str:
    """Return the page of a checkpoint's histories, with all that it draws."""
    found = [Watched(each, each.samples[-1]) for each in histories]
    views = [_view(each) for each in found]
    data = {"live": False, "queries": [_line(each) for each in found], "views": views}
    title = f"History of {found[0].history.about['name']}"
    return page(title, BODY, data, SCRIPTS)


def data_of(watched: Sequence[Watched], chosen: str) -> dict[str, Any]:
    """Return all queries in short, and one of them at length: that of this place, or the first."""
    found = {_place(each): each for each in watched}
    one = found.get(chosen) or next(iter(found.values()), None)
    view = None if one is None else _view(one)
    return {"at": time.time(), "queries": [_line(each) for each in watched], "chosen": view}


def _place(watched: Watched) -> str:
    about = watched.history.about
    return f"{about['id']}/{about['kind']}/{about['name']}"


def _line(watched: Watched) -> dict[str, Any]:
    about, sample = watched.history.about, watched.latest
    wrong = sum(each.wrong for each in attention(watched.history, watched.advice))
    cards = {label: value for label, value, _ in CARDS[about["kind"]](sample)}
    return {
        "place": _place(watched),
        "name": about["name"],
        "kind": about["kind"],
        "state": about["state"],
        "wrong": wrong,
        "cards": cards,
    }


def _view(watched: Watched) -> dict[str, Any]:
    history, sample, samples = watched.history, watched.latest, watched.history.samples
    kind, said = history.about["kind"], attention(history, watched.advice)
    return _line(watched) | {
        "said": [{"at": each.at, "said": each.sentence, "wrong": each.wrong} for each in said],
        "details": [list(each) for each in CARDS[kind](sample)],
        "plots": [plot for plot in (*PLOTS[kind](samples), _batches(samples)) if plot["curves"]],
        "tables": list(_tables(sample["figures"])),
        "at": sample["at"],
        "batch": sample["batch"],
    }


# ---------------------------------------------------------------- curves


def _curve(name: str, points: Sequence[tuple[float, float | None]], **look: Any) -> PlotCurve:
    """Return a curve of those points that are known."""
    known = [(round(x, 1), _short(y)) for x, y in points if y is not None]
    return {"name": name, "x": [x for x, _ in known], "y": [y for _, y in known]} | look


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _plot(
    key: str, title: str, up: str, curves: Sequence[PlotCurve], **look: Any
) -> dict[str, Any]:
    drawn = [each for each in curves if each["x"]]
    times = [x for each in drawn for x in each["x"]]
    tops = [y for each in drawn for y in (*each["y"], *each.get("high", ()))]
    span = [min(times), max(times)] if times else [0.0, 1.0]
    if span[1] - span[0] < 1:
        span[1] = span[0] + 1
    scale = {"x_range": span, "y_range": [0, 1.08 * max([1e-3, *tops])], "x_time": True}
    return {"id": key, "title": title, "across": "", "up": up, "curves": drawn} | scale | look


def _rate(
    name: str, samples: Sequence[Sample], of: Callable[[dict[str, Any]], float], colour: int
) -> PlotCurve:
    """Return how much a total grew a second between samples; a query begun anew is left out."""
    points = []
    for a, b in pairwise(samples):
        grown = of(b["figures"]) - of(a["figures"])
        points.append((b["at"], grown / (b["at"] - a["at"]) if grown >= 0 else None))
    return _curve(name, points, colour=colour)


def _total(*names: str) -> Callable[[dict[str, Any]], float]:
    def total(figures: dict[str, Any]) -> float:
        values = [figures[name] for name in names]
        return float(sum(sum(each) if isinstance(each, list) else each for each in values))

    return total


def _held(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return what is held against the budget, in what the budget counts."""
    in_bytes = samples[-1]["figures"].get("in_bytes", False)
    name, unit, size = ("bytes_held", "MB", 1e-6) if in_bytes else ("rows_held", "rows", 1)
    points = [(each["at"], size * each["figures"][name]) for each in samples]
    curves = [_curve("held", points, colour=OURS)]
    budgets = [(each["at"], each["figures"].get("budget")) for each in samples]
    budgets = [(at, size * each) for at, each in budgets if each is not None]
    curves.append(_curve("budget", budgets, colour=GREY, kind="dashed"))
    return _plot("held", "Held against the budget", unit, curves)


def _batches(samples: Sequence[Sample]) -> dict[str, Any]:
    """Return the time of micro-batches as layers, one for each part."""
    below = [0.0] * len(samples)
    curves = []
    for colour, (name, parts) in enumerate([*PARTS.items(), ("other", ())]):
        highs = []
        for low, sample in zip(below, samples, strict=True):
            seconds = sample["seconds"]
            part = sum(seconds.get(each, 0.0) for each in parts)
            high = low + part if parts else max(low, seconds.get(WHOLE, 0.0))
            highs.append(high)
        points = [(each["at"], high) for each, high in zip(samples, highs, strict=True)]
        layer = {"low": [*map(_short, below)], "high": [*map(_short, highs)]}
        curves.append(_curve(name, points, colour=colour, kind="layer", **layer))
        below = highs
    return _plot("batches", "Time of a micro-batch", "seconds", curves)


def _join_plots(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    recent = [each for each in samples if (each.get("recent") or {}).get("recall") is not None]
    ends = {end: [_short(each["recent"][end]) for each in recent] for end in ("low", "high")}
    points = [(each["at"], each["recent"]["recall"]) for each in recent]
    whole = [(each["at"], each["figures"]["recall"]) for each in samples]
    curves = [
        _curve("last minute, with its 95 % interval", points, colour=OURS, **ends),
        _curve("since the start", whole, colour=GREY, kind="dashed"),
    ]
    if samples[-1]["figures"]["goal"] == "rows":
        for side, colour in enumerate((OTHER, THIRD)):
            rows = [(each["at"], each["figures"]["row_recall"][side]) for each in samples]
            curves.append(_curve(f"rows of input {side}, since the start", rows, colour=colour))
    least = min([1.0, *ends["low"], *(value for each in curves for value in each["y"])])
    low = max(0.0, floor(5 * least - 0.01) / 5)
    yield _plot("recall", "Recall", "of all results", curves, percent=True, y_range=[low, 1])
    yield _held(samples)
    rates = [
        _rate("arrived", samples, _total("arrived"), OURS),
        _rate("evicted or rejected", samples, _total("evicted", "rejected"), OTHER),
        _rate("late", samples, _total("late"), THIRD),
    ]
    yield _plot("rates", "Rows a second", "rows a second", rates)


def _join_cards(sample: Sample) -> Iterator[Card]:
    figures, recent = sample["figures"], sample.get("recent") or {}
    last = (recent.get(name) for name in ("recall", "low", "high"))
    whole = (figures[name] for name in ("recall", "recall_low", "recall_high"))
    yield "recall, last minute", *_recall(*last)
    yield "recall, since the start", *_recall(*whole)
    yield _held_card(figures)
    arrivals, late = recent.get("arrivals"), recent.get("late")
    rows = "-" if arrivals is None else f"{arrivals:,.0f} rows/s"
    yield "arrivals", rows, f"{late:,.1f} late rows/s" if late else "none late"
    if figures.get("owed_bytes") is not None:
        yield _owed_card(figures)
    yield _batch_card(sample)


def _owed_card(figures: dict[str, Any]) -> Card:
    """Return what an archive holds that is to be reconciled."""
    pairs, age = figures["owed_pairs"], figures["owed_seconds"]
    told = "" if pairs is None else f"about {pairs:,.0f} results"
    since = "" if age is None else f", for {age / 3600:,.1f} hours"
    return "owed", f"{figures['owed_bytes'] / 1e6:,.1f} MB", told + since


def _recall(value: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    between = "" if low is None or high is None else f"{low:.1%} to {high:.1%}"
    return ("-" if value is None else f"{value:.1%}"), between


def _held_card(figures: dict[str, Any]) -> Card:
    budget = figures["budget"]
    if figures["in_bytes"]:
        held, of = f"{figures['bytes_held'] / 1e6:,.1f} MB", f"of {budget / 1e6:,.1f} MB"
    else:
        held = f"{figures['rows_held']:,} rows"
        of = "no budget" if budget is None else f"of {budget:,}"
    return "held", held, of


def _batch_card(sample: Sample) -> Card:
    waiting = sample.get("waiting")
    rows = f", {waiting:,} rows wait" if waiting else ""
    took = f"{sample['seconds'].get(WHOLE, 0.0):.2f} s"
    return "micro-batch", took, f"number {sample['batch']:,}{rows}"


def _lookup_plots(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    points = []
    for a, b in pairwise(samples):
        asked, hits = (b["figures"][name] - a["figures"][name] for name in ("events", "hits"))
        points.append((b["at"], hits / asked if asked > 0 and hits >= 0 else None))
    curves = [_curve("between micro-batches", points, colour=OURS)]
    goal = samples[-1]["figures"].get("goal")
    if goal in SAVED:
        saved = [(b["at"], _saved(goal, b, a)) for a, b in pairwise(samples)]
        curves.append(_curve(f"of {goal}, which are the goal", saved, colour=OTHER))
    yield _plot("hits", "Hit ratio", "of the events", curves, percent=True, y_range=[0, 1])
    yield _held(samples)
    rates = [
        _rate("events", samples, _total("events"), OURS),
        _rate("keys asked for", samples, _total("keys_asked"), OTHER),
        _rate("evicted or rejected", samples, _total("evicted", "rejected"), THIRD),
    ]
    yield _plot("rates", "Rows a second", "rows a second", rates)


def _saved(goal: str, sample: Sample, since: Sample | None = None) -> float | None:
    """Return the share that a lookup has saved of its goal; None where that is not known."""
    now, then = sample["figures"], since["figures"] if since else {}
    saved, fetched = ((now.get(name) or 0) - (then.get(name) or 0) for name in SAVED[goal])
    return saved / (saved + fetched) if min(saved, fetched) >= 0 < saved + fetched else None


def _lookup_cards(sample: Sample) -> Iterator[Card]:
    figures = sample["figures"]
    asked = figures["events"] - figures["null_keys"]
    ratio = f"{figures['hits'] / asked:.1%}" if asked else "-"
    yield "hit ratio, since the start", ratio, f"{figures['calls']:,} calls"
    goal = figures.get("goal")
    if goal in SAVED:
        share, fetched = _saved(goal, sample), figures[SAVED[goal][1]]
        saved = "-" if share is None else f"{share:.1%}"
        yield f"{goal} saved, since the start", saved, f"{fetched:,} fetched"
    yield _held_card(figures)
    stale = figures["staleness_p99"]
    yield "age of rows, 99 %", "-" if stale is None else f"{stale:.3g} s", "at serving"
    yield _batch_card(sample)


def _thin_plots(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    rates = [
        _rate("readings", samples, _total("readings"), OURS),
        _rate("sent", samples, _total(*SENT), OTHER),
        _rate("late", samples, _total("late"), THIRD),
    ]
    yield _plot("rates", "Rows a second", "rows a second", rates)
    keys = [(each["at"], each["figures"]["keys"]) for each in samples]
    yield _plot("keys", "Keys", "keys", [_curve("keys", keys, colour=OURS)])


def _thin_cards(sample: Sample) -> Iterator[Card]:
    figures = sample["figures"]
    sent, readings = _total(*SENT)(figures), figures["readings"]
    yield "sent", f"{sent / readings:.1%}" if readings else "-", f"of {readings:,} readings"
    yield "keys", f"{figures['keys']:,}", f"{figures['bytes_held'] / 1e6:,.1f} MB"
    yield _batch_card(sample)


def _nothing(_: Any) -> Iterator[Any]:
    return iter(())


CARDS = {"join": _join_cards, "lookup": _lookup_cards, "thin": _thin_cards, UNKNOWN: _nothing}
PLOTS = {"join": _join_plots, "lookup": _lookup_plots, "thin": _thin_plots, UNKNOWN: _nothing}


def _tables(figures: dict[str, Any]) -> Iterator[dict[str, Any]]:
    in_force = figures.get("in_force")
    if in_force is not None:
        names = {**in_force["buckets"], **in_force["scores"]}
        rows = [
            [name, str(in_force["buckets"].get(name, "-")), str(in_force["scores"].get(name, "-"))]
            for name in sorted(names, key=lambda n: (-in_force["buckets"].get(n, 0), n))
        ]
        head = ["policy", "in force, buckets", "score"]
        caption = f"policy={figures['policy']}, changed {in_force['switches']:,} times. "
        caption += "The score of a challenger is what it finds beside 1 for the policy in force."
        yield {"title": "Policies", "head": head, "rows": rows, "caption": caption}
    if figures.get("hottest"):
        rows = [[each["key"], f"{each['share']:.2%}"] for each in figures["hottest"]]
        yield {"title": "Hottest keys", "head": ["key", "of the rows"], "rows": rows, "caption": ""}
