"""The frequent keys of a file, as a report."""

import time
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from rich.table import Table
from rich.text import Text

from ..errors import BadInput
from .lossy import Frequent, LossyCounter
from .shares import check_support, share
from .space import m_to_epsilon, steady_entries

DEFAULT = 10  # epsilon is the support divided by this
LONGEST = 200  # characters of a key in a table; JSON has all of them


class KeyRows(Protocol):
    """The rows of a file that have a key, as `simulate.read_keys` returns them."""

    @property
    def key(self) -> np.ndarray:
        """An integer for each row."""

    @property
    def gaps(self) -> int:
        """How many rows were left out because they have no key."""

    def label(self, key: int) -> Any:
        """Return what a key was in the file."""


@dataclass(frozen=True)
class Report:
    """What was asked for, and what was found."""

    file: str
    column: str
    support: float
    memory: int | None  # the most keys that may be held, if that was asked for
    rows: KeyRows
    counter: LossyCounter
    found: Frequent
    expected: float  # keys held at the end of a bucket, as foretold from their popularity
    seconds: float  # that the counting took


def count_keys(
    rows: KeyRows,
    file: str,
    column: str,
    support: float,
    epsilon: float | None = None,
    memory: int | None = None,
) -> Report:
    """Count the keys of a file with an error of `epsilon`, or the smallest that fits `memory`."""
    if epsilon is not None and memory is not None:
        raise BadInput("epsilon and memory cannot both be given; memory chooses epsilon")
    share("support", support, "at most 1")
    if memory is None:
        epsilon = (
            float(share("support", support, "at most 1") / DEFAULT) if epsilon is None else epsilon
        )
        check_support(support, epsilon)
    elif memory < 1:
        raise BadInput(f"memory must be at least 1 key, got {memory}")
    popularity = np.unique(rows.key, return_counts=True)[1] / len(rows.key)
    if memory is not None:
        epsilon = _affordable(rows.key, popularity, memory, support)
    assert epsilon is not None
    LossyCounter(epsilon).push(rows.key[:1])  # compiles, which is not to be timed
    start = time.perf_counter()
    counter = LossyCounter(epsilon)
    counter.push(rows.key)
    seconds = time.perf_counter() - start
    expected = steady_entries(popularity, epsilon)
    found = counter.frequent(support)
    return Report(file, column, support, memory, rows, counter, found, expected, seconds)


def _affordable(keys: np.ndarray, popularity: np.ndarray, memory: int, support: float) -> float:
    """Return an epsilon with which no more than `memory` keys are held, not once.

    What is foretold is an average. Where the stream goes beyond it, epsilon grows and it is counted
    again.
    """

    def needs(epsilon: float) -> float:
        return steady_entries(popularity, epsilon)

    epsilon = m_to_epsilon(memory, needs, support, len(keys))
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


def summarise(made: Report) -> dict[str, Any]:
    """Return the report as plain values."""
    counter = made.counter
    return {
        "file": made.file,
        "key": made.column,
        "support": made.support,
        "epsilon": float(counter.epsilon),
        "memory": made.memory,
        "rows": counter.seen,
        "rows_without_key": made.rows.gaps,
        "held": {"expected": made.expected, "peak": counter.peak, "end": counter.held},
        "keys": [
            {
                "key": made.rows.label(key),
                "count": lowest,
                "lowest": lowest,
                "highest": highest,
                "share": lowest / counter.seen,
            }
            for key, lowest, highest in _rows(made.found)
        ],
        "items_per_second": round(counter.seen / max(made.seconds, 1e-9)),
    }


def table(made: Report) -> Table:
    """Return the report as a table for the terminal."""
    counter = made.counter
    gaps = f"; {made.rows.gaps:,} rows without a key left out" if made.rows.gaps else ""
    shown = Table(
        title=Text(
            f"keys of {made.file} with a share of {made.support:g} or more: {counter.seen:,} rows,"
            f" epsilon {float(counter.epsilon):g}"
        ),
        title_justify="left",
        caption=Text(f"keys held: {counter.peak:,} at most, {made.expected:,.0f} foretold{gaps}"),
    )
    shown.add_column(made.column, overflow="fold")
    for name in ("at least", "at most", "share"):
        shown.add_column(name, justify="right", no_wrap=True)
    for key, lowest, highest in _rows(made.found):
        text = _shown(made.rows.label(key))
        sure = "" if lowest >= made.support * counter.seen else "dim"  # it may be less frequent
        shown.add_row(
            Text(text), f"{lowest:,}", f"{highest:,}", f"{lowest / counter.seen:.2%}", style=sure
        )
    return shown


def _shown(label: Any) -> str:
    """Return a key as text that fits into a table: folding a text of megabytes takes minutes.

    >>> _shown(["ann", 7]), _shown("x" * 1000)[LONGEST - 2 :]
    ('ann, 7', 'xx... (1,000 characters)')
    """
    text = ", ".join(map(str, label)) if isinstance(label, list) else str(label)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} characters)"


def _rows(found: Frequent) -> list[tuple[int, int, int]]:
    return list(zip(*(column.tolist() for column in found), strict=True))
