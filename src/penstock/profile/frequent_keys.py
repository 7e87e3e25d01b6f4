"""The frequent keys of a file: counted, as plain values and as a table for the terminal."""

import time
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from ..errors import BadInput
from ..kernel.options import at_least
from ..terminal import figures_table
from .lossy import LossyCounter, check_support, m_to_epsilon, share, steady_entries

DEFAULT = 10  # epsilon is the support divided by this
LONGEST = 200  # characters of a key in a table; JSON has all of them


def count_keys(
    rows: Any,
    file: str,
    column: str,
    support: float,
    epsilon: float | None = None,
    memory: int | None = None,
) -> dict[str, Any]:
    """Count the keys of a file with an error of `epsilon`, or the smallest that fits `memory`.

    rows: the rows that have a key, as `simulate.read_keys` returns them.
    """
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
    LossyCounter(epsilon).push(rows.key[:1])  # compile before the clock starts
    start = time.perf_counter()
    counter = LossyCounter(epsilon)
    counter.push(rows.key)
    seconds = time.perf_counter() - start
    found = zip(*(part.tolist() for part in counter.frequent(support)), strict=True)
    return {
        "file": file,
        "key": column,
        "support": support,
        "epsilon": float(epsilon),
        "memory": memory,
        "rows": counter.seen,
        "rows_without_key": rows.gaps,
        "held": {
            "expected": steady_entries(popularity, epsilon),
            "peak": counter.peak,
            "end": counter.held,
        },
        "keys": [
            {
                "key": rows.label(key),
                "count": lowest,
                "lowest": lowest,
                "highest": highest,
                "share": lowest / counter.seen,
            }
            for key, lowest, highest in found
        ],
        "items_per_second": round(counter.seen / max(seconds, 1e-9)),
    }


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
    title = (
        f"Keys of {made['file']} with a share of at least {made['support']:g}: {made['rows']:,}"
        f" rows, epsilon {made['epsilon']:g}"
    )
    caption = f"keys held: at most {held['peak']:,}, predicted {held['expected']:,.0f}{left_out}"
    shown = figures_table(title, (made["key"], "at least", "at most", "share"), caption)
    for each in made["keys"]:
        counts = f"{each['lowest']:,}", f"{each['highest']:,}", f"{each['share']:.2%}"
        is_sure = each["lowest"] >= made["support"] * made["rows"]  # else it may be less frequent
        shown.add_row(Text(_shortened(each["key"])), *counts, style="" if is_sure else "dim")
    return shown


def _shortened(label: Any) -> str:
    """Return a key as text that fits into a table: folding a text of megabytes takes minutes.

    >>> _shortened(["ann", 7]), _shortened("x" * 1000)[LONGEST - 2 :]
    ('ann, 7', 'xx... (1,000 characters)')
    """
    text = ", ".join(map(str, label)) if isinstance(label, list) else str(label)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} characters)"
