"""Advice in sentences, and in tables for the terminal."""

from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from ..kernel.gains import ROWS
from ..terminal import figures_table
from .advice import NEARLY, Advice, Answer, spark_bytes
from .curves import Curve

WHAT = {"joining": "recall", "caching": "hit ratio"}
# Both measures of a join: what they are called beside each other, and of what they are shares.
MEASURES = {
    "recall": ("recall of pairs", "of all results"),
    "row_recall": ("rows matched", "of the rows that have a partner"),
}


def what_counts(made: Advice) -> str:
    """Return what the target is: `recall`, `rows matched`, or `hit ratio`."""
    if made.counted == ROWS:
        return MEASURES["row_recall"][0]
    return WHAT[made.streams.problem]


def headline(made: Advice) -> str:
    """Return the answer in one sentence."""
    answer, peak = made.answer, made.streams.peak
    what = f"a {WHAT[made.streams.problem]} of {made.goal:.1%}"
    if made.counted == ROWS:
        what = f"{made.goal:.1%} of the rows that have a partner"
    if made.exact:
        held = size(made.exact_bytes)
        need = f"nearly all of the {peak:,} rows of the window ({held}) are needed"
        if answer.rows <= NEARLY * peak:
            need = (
                f"{answer.policy} needs {answer.rows:,} rows, which take {size(answer.bytes)} with "
                f"what it remembers, and all {peak:,} rows of the window take {held}"
            )
        return (
            f"A budget gains nothing here: for {what} {need}. Leave it out, and the join is exact."
        )
    return (
        f"For {what} hold {answer.rows:,} rows (about {size(answer.bytes)}) "
        f"with {answer.policy}: {answer.rows / peak:.1%} of what an exact "
        f"{'join' if made.streams.problem == 'joining' else 'cache'} holds."
    )


def both(made: Advice) -> str:
    """Return what the answer gives of pairs and of rows, for a join."""
    answer = made.answer
    if answer.recall is None or answer.row_recall is None or made.exact:
        return ""
    return (
        f"That finds {answer.recall:.1%} of all results, and a partner for "
        f"{answer.row_recall:.1%} of the rows that have one."
    )


def few_keys(made: Advice) -> str:
    """Say so where ten keys make most of the results, and what follows from it."""
    if not made.few_keys:
        return ""
    ten = f"Ten keys make {made.hot_pairs:.0%} of all results"
    if made.counted == ROWS:
        return f"{ten}, so the recall of pairs is mostly about these keys."
    return (
        f"{ten}, so recall is mostly about these keys; if rows that find a partner are what "
        "counts, ask for goal='rows' (--goal rows)."
    )


def doubts(made: Advice) -> list[str]:
    """Return what to beware of, as sentences."""
    return [each[:1].upper() + each[1:] + "." for each in made.said]


def facts(made: Advice) -> list[tuple[str, str]]:
    """Return what the advice rests on, and what it is to be compared with."""
    streams, answer, low_high = made.streams, made.answer, made.between
    what = what_counts(made)
    rows = [
        ("rows", " + ".join(f"{each:,}" for each in streams.rows)),
        ("keys", f"{streams.keys:,}"),
    ]
    if streams.skew is not None:
        rows.append(("Zipf exponent of the keys", f"{streams.skew:.2f}"))
    rows.append(("the hottest key", f"{streams.hottest:.1%}"))
    if made.hot_pairs is not None:
        rows.append(("the ten keys with most results", f"{made.hot_pairs:.1%} of all results"))
    if not made.sampled["whole"]:
        rows.append(("the budget lies between (95 %)", f"{low_high[0]:,} and {low_high[1]:,} rows"))
    for name, other in (("half", made.half), ("twice", made.double)):
        said = f"{what} {_with_error(other.share, other.error)}"
        rows.append((f"with {name} the memory, {other.rows:,} rows", said + _beside(made, other)))
    if streams.problem == "joining":
        held = made.exact_bytes
        theirs = spark_bytes(streams.peak, streams.payload)
        rows += [
            ("live rows on average", f"{streams.mean:,.0f}"),
            ("an exact join holds at most", f"{streams.peak:,} rows, about {size(held)}"),
            ("Spark's own join holds them in", f"about {size(theirs)}"),
        ]
    else:
        most = f"{streams.peak:,} rows, about {size(made.exact_bytes)}"
        rows.append((f"every row cached, {what} {streams.most:.1%}", most))
    rows.append(("replayed", _replayed(made)))
    said = _with_error(answer.share, answer.error) + _beside(made, answer)
    rows.append((f"{what} expected", said))
    return rows


def _beside(made: Advice, answer: Answer) -> str:
    """Return what a memory gives of what is not the goal."""
    name = "recall" if made.counted == ROWS else "row_recall"
    share = getattr(answer, name)
    return "" if share is None else f", {MEASURES[name][0]} {share:.1%}"


def _replayed(made: Advice) -> str:
    sampled = made.sampled
    if sampled["whole"]:
        return f"all {sampled['rows']:,} rows"
    parts = [f"{sampled['rows']:,} rows"]
    if sampled["weight"] > 1:
        parts.append(f"all of hot keys, 1 of {sampled['weight']} other keys")
    if sampled.get("crowded", 1) > 1:
        parts.append(f"of crowded keys 1 of up to {sampled['crowded']:.0f} rows kept")
    if sampled.get("stretches", 1) > 1:
        parts.append(f"{sampled['stretches']} stretches of time")
    return ", ".join(parts)


def _with_error(share: float, error: float) -> str:
    return f"{share:.1%}" + (f" ± {100 * error:.1f}" if error >= 0.0005 else "")


def size(count: float) -> str:
    """Return bytes in few figures.

    >>> size(950), size(1_840_000), size(5.57e8)
    ('950 B', '1.8 MB', '557 MB')
    """
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 999.5:
            few = value < 10 and unit != "B"
            return f"{value:.1f} {unit}" if few else f"{int(value + 0.5)} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


WIDTH = 80  # of a terminal that tables fit into
COLUMNS = 7  # memories shown, where there is room for them


def overview(made: Advice) -> list[Any]:
    """Return the answer, the curves as a table, and what they rest on."""
    parts: list[Any] = [Text(headline(made), style="bold")]
    parts += [Text(each) for each in (both(made), few_keys(made)) if each]
    parts += [Text(f"Beware: {each}", style="yellow") for each in doubts(made)]
    # One line, however long, so that it can be copied: a terminal wraps it without a line break.
    parts.append(Text(f"\n{made.code}\n", style="cyan", no_wrap=True))
    for name, curves in made.by_measure():
        parts.append(_curves(made, curves, f"{measured(made, name)} by rows held"))
    return [*parts, _facts(made)]


def measured(made: Advice, name: str) -> str:
    """Return what a measure is called, and of what it is a share."""
    return "{}, {},".format(*MEASURES[name]) if name else WHAT[made.streams.problem]


def _curves(made: Advice, curves: list[Curve], title: str) -> Table:
    # The first two have many points about the target.
    rows = max((each.rows for each in reversed(made.curves[2:] or made.curves)), key=len)
    names = max(len(curve.policy) for curve in curves)
    room = (WIDTH - names - 4) // (len(f"{rows[-1]:,}") + 3)  # with borders
    shown = min(COLUMNS, max(1, room))
    places = np.unique(np.linspace(0, len(rows) - 1, shown).round().astype(int))
    table = figures_table(title, ["policy", *(f"{rows[place]:,}" for place in places)])
    for number, curve in enumerate(curves):
        cells = [f"{curve.at(int(rows[place])).share:.1%}" for place in places]
        table.add_row(curve.policy, *cells, style="green" if number == 0 else "")
    return table


def _facts(made: Advice) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for what, value in facts(made):
        table.add_row(Text(what, style="dim"), Text(value))
    return table
