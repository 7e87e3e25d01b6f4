"""The frequent keys of a file: counted, as plain values and as a table for the terminal."""

import time
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from ..errors import BadInput
from ..kernel.durations import microseconds
from ..kernel.options import at_least
from ..terminal import figures_table
from .lossy import LossyCounter, check_support, m_to_epsilon, share, steady_entries
from .windowed import WindowCounter

DEFAULT = 10  # epsilon is the support divided by this
LONGEST = 200  # characters of a key in a table; JSON has all of them


def count_keys(
    rows: Any,
    file: str,
    column: str,
    support: float,
    epsilon: float | None = None,
    memory: int | None = None,
    window: str | None = None,
) -> dict[str, Any]:
    """Count the keys of a file with an error of `epsilon`, or the smallest that fits `memory`.

    rows: the rows that have a key, as `simulate.read_keys` returns them.
    window: count the last rows only: so many, or, where rows have times, those of such a span.
    """
    if window is not None and memory is not None:
        raise BadInput("window and memory cannot both be given; with a window give epsilon")
    if epsilon is not None and memory is not None:
        raise BadInput("epsilon and memory cannot both be given; memory chooses epsilon")
    default = share("support", support, "at most 1") / DEFAULT
    if memory is None:
        epsilon = float(default) if epsilon is None else epsilon
        check_support(support, epsilon)
    else:
        at_least("memory", memory, 1)
    popularity = np.unique(rows.key, return_counts=True)[1] / len(rows.key)
    if memory is not None:
        epsilon = _affordable(rows.key, popularity, memory, support)
    assert epsilon is not None
    made = {"file": file, "key": column, "support": support, "epsilon": float(epsilon)}
    if window is not None:
        return made | _recent(rows, support, epsilon, window)
    LossyCounter(epsilon).push(rows.key[:1])  # compile before the clock starts
    counter = LossyCounter(epsilon)
    expected = {"expected": steady_entries(popularity, epsilon)}
    speed = _timed(counter, rows.key)
    return made | {
        "memory": memory,
        "rows": counter.seen,
        "rows_without_key": rows.gaps,
        "held": expected | {"peak": counter.peak, "end": counter.held},
        "keys": _reported(counter.frequent(support), rows, counter.seen),
        "items_per_second": speed,
    }


def _timed(counter: Any, *columns: Any) -> int:
    """Count rows; return how many a second were counted."""
    start = time.perf_counter()
    counter.push(*columns)
    return round(counter.seen / max(time.perf_counter() - start, 1e-9))


def _recent(rows: Any, support: float, epsilon: float, window: str) -> dict[str, Any]:
    """Count the keys of the window at the end of a file, in one pass over all of its rows."""
    counter = WindowCounter(epsilon, **_length(rows, window))
    order = slice(None) if rows.time is None else np.argsort(rows.time, kind="stable")
    speed = _timed(counter, rows.key[order], None if rows.time is None else rows.time[order])
    fewest, most = counter.in_window
    return {
        "window": window,
        "rows": counter.seen,
        "rows_in_window": {"lowest": fewest, "highest": most},
        "rows_without_key": rows.gaps,
        "held": {"peak": counter.peak, "end": counter.held},
        "keys": _reported(counter.frequent(support), rows, most),
        "items_per_second": speed,
    }


def _length(rows: Any, window: str) -> dict[str, int]:
    """Return the window as an argument of the counter: `rows` or `span`."""
    if rows.time is not None and rows.in_microseconds:
        return {"span": max(1, microseconds(window, "window"))}
    if not window.strip().isdecimal():
        raise BadInput(
            f"window must be a whole number, got {window!r};"
            + (" give --time with a column of timestamps" * (rows.time is None))
            + (" the times are whole numbers, and so is their span" * (rows.time is not None))
        )
    return {"rows" if rows.time is None else "span": int(window)}


def _reported(found: Any, rows: Any, of: int) -> list[dict[str, Any]]:
    """Return frequent keys as plain values."""
    return [
        {
            "key": rows.label(key),
            "count": lowest,
            "lowest": lowest,
            "highest": highest,
            "share": lowest / max(1, of),
        }
        for key, lowest, highest in zip(*(part.tolist() for part in found), strict=True)
    ]


def _affordable(keys: np.ndarray, popularity: np.ndarray, memory: int, support: float) -> float:
    """Return an epsilon with which the number of keys held never exceeds `memory`.

    The prediction is a mean. Where the stream exceeds it, epsilon is increased and the keys are
    counted again.
    """
    epsilon = m_to_epsilon(memory, lambda e: steady_entries(popularity, e), support, len(keys))
    while True:
        counter = LossyCounter(epsilon)
        counter.push(keys)
        if counter.peak <= memory:
            return epsilon
        width = min(counter.width - 1, counter.width * memory // counter.peak)
        if width < 2 or 1 / width >= support:
            raise BadInput(
                f"memory {memory} is too small for any epsilon below the support {support}: with"
                f" {epsilon:g} the file needs {counter.peak:,} keys; give more memory or a higher"
                " support"
            )
        epsilon = 1 / width


def table(made: dict[str, Any]) -> Table:
    """Return what `count_keys` found as a table for the terminal."""
    gaps, held = made["rows_without_key"], made["held"]
    left_out = f"; {gaps:,} rows without a key left out" if gaps else ""
    last, of = "", f"{made['rows']:,} rows"
    predicted = f", predicted {held['expected']:,.0f}" if "expected" in held else ""
    if "window" in made:
        few, many = made["rows_in_window"].values()
        last = f" in the last {made['window']}" + " rows" * made["window"].isdigit()
        of = f"{few:,} rows" if few == many else f"{few:,} to {many:,} rows"
    title = (
        f"Keys of {made['file']} with a share of at least {made['support']:g}{last}: {of},"
        f" epsilon {made['epsilon']:g}"
    )
    caption = f"keys held: at most {held['peak']:,}{predicted}{left_out}"
    shown = figures_table(title, (made["key"], "at least", "at most", "share"), caption)
    for each in made["keys"]:
        counts = f"{each['lowest']:,}", f"{each['highest']:,}", f"{each['share']:.2%}"
        of_rows = made.get("rows_in_window", {"highest": made["rows"]})["highest"]
        is_sure = each["lowest"] >= made["support"] * of_rows  # else it may be less frequent
        shown.add_row(Text(_shortened(each["key"])), *counts, style="" if is_sure else "dim")
    return shown


def _shortened(label: Any) -> str:
    """Return a key as text that fits into a table: folding a text of megabytes takes minutes.

    >>> _shortened(["ann", 7]), _shortened("x" * 1000)[LONGEST - 2 :]
    ('ann, 7', 'xx... (1,000 characters)')
    """
    text = ", ".join(map(str, label)) if isinstance(label, list) else str(label)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} characters)"
