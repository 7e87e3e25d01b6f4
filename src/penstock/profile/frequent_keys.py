"""The frequent keys of a file: counted, as plain values and as a table for the terminal."""

import time
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from rich.table import Table
from rich.text import Text

from ..errors import BadInput
from .epsilon import check_memory, check_support, m_to_epsilon, share, steady_entries
from .lossy import LossyCounter

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
class FrequentKeys:
    """The request and the answer."""

    file: str
    column: str
    support: float
    memory: int | None  # the largest number of keys held, if it was given
    rows: KeyRows
    counter: LossyCounter
    found: list[tuple[int, int, int]]  # key, lowest and highest count
    expected: float  # keys held at the end of a bucket, predicted from their popularity
    seconds: float  # time taken to count


def count_keys(
    rows: KeyRows,
    file: str,
    column: str,
    support: float,
    epsilon: float | None = None,
    memory: int | None = None,
) -> FrequentKeys:
    """Count the keys of a file with an error of `epsilon`, or the smallest that fits `memory`."""
    if epsilon is not None and memory is not None:
        raise BadInput("epsilon and memory cannot both be given; memory chooses epsilon")
    default = share("support", support, "at most 1") / DEFAULT
    if memory is None:
        epsilon = float(default) if epsilon is None else epsilon
        check_support(support, epsilon)
    else:
        check_memory(memory)
    popularity = np.unique(rows.key, return_counts=True)[1] / len(rows.key)
    if memory is not None:
        epsilon = _affordable(rows.key, popularity, memory, support)
    assert epsilon is not None
    LossyCounter(epsilon).push(rows.key[:1])  # compile before the clock starts
    start = time.perf_counter()
    counter = LossyCounter(epsilon)
    counter.push(rows.key)
    seconds = time.perf_counter() - start
    expected = steady_entries(popularity, epsilon)
    found = list(zip(*(part.tolist() for part in counter.frequent(support)), strict=True))
    return FrequentKeys(file, column, support, memory, rows, counter, found, expected, seconds)


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


def summarise(made: FrequentKeys) -> dict[str, Any]:
    """Return the answer as plain values."""
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
            for key, lowest, highest in made.found
        ],
        "items_per_second": round(counter.seen / max(made.seconds, 1e-9)),
    }


def table(made: FrequentKeys) -> Table:
    """Return the answer as a table for the terminal."""
    counter = made.counter
    gaps = f"; {made.rows.gaps:,} rows without a key left out" if made.rows.gaps else ""
    shown = Table(
        title=Text(
            f"Keys of {made.file} with a share of at least {made.support:g}: {counter.seen:,} rows,"
            f" epsilon {float(counter.epsilon):g}"
        ),
        title_justify="left",
        caption=Text(f"keys held: at most {counter.peak:,}, predicted {made.expected:,.0f}{gaps}"),
    )
    shown.add_column(made.column, overflow="fold")
    for name in ("at least", "at most", "share"):
        shown.add_column(name, justify="right", no_wrap=True)
    for key, lowest, highest in made.found:
        share = f"{lowest / counter.seen:.2%}"
        style = "" if lowest >= made.support * counter.seen else "dim"  # it may be less frequent
        label = Text(_shortened(made.rows.label(key)))
        shown.add_row(label, f"{lowest:,}", f"{highest:,}", share, style=style)
    return shown


def _shortened(label: Any) -> str:
    """Return a key as text that fits into a table: folding a text of megabytes takes minutes.

    >>> _shortened(["ann", 7]), _shortened("x" * 1000)[LONGEST - 2 :]
    ('ann, 7', 'xx... (1,000 characters)')
    """
    text = ", ".join(map(str, label)) if isinstance(label, list) else str(label)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} characters)"
