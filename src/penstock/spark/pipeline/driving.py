"""Follow a query until it ends, or end it after the micro-batch that runs."""

from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkException

from ...errors import PenstockError
from ..metrics import LookupMetrics, Metrics, metrics
from ..observe import ran_batch
from .pipeline import first_sentence

PAUSE = 0.25  # seconds between looks at a query
SOON = 0.02  # once it is to end

Told = Callable[[Any], None]


def drive(query: Any, ending: Callable[[], bool], told: Told) -> None:
    """Wait for a query, and tell of each progress report of a micro-batch that ran.

    When `ending` says so, the query stops after its micro-batch. Spark itself only knows how to
    interrupt: so the end of the micro-batch is awaited first. If the next one has just begun it is
    given up, as by any stop, and done again by the next start.
    """
    seen = asked = None

    def look() -> None:
        nonlocal seen
        progress = query.lastProgress
        if progress is not None and progress["batchId"] != seen and ran_batch(progress):
            seen = progress["batchId"]
            told(progress)

    try:
        while not query.awaitTermination(SOON if ending() else PAUSE):
            look()
            if ending():
                asked = asked or (seen,)
                if asked != (seen,) or not query.status["isTriggerActive"]:
                    break
        look()
    except PySparkException as error:
        raise PenstockError(f"the query failed: {cause(str(error))}") from error
    finally:
        query.stop()


def cause(error: str) -> str:
    """Return the one line of a failed query that tells why.

    >>> cause("[STREAM_FAILED] ...\\n  File a\\npenstock.errors.BadState: of another join\\n at b")
    'of another join'
    """
    ours = [line for line in error.splitlines() if line.strip().startswith("penstock.")]
    if ours:
        return ours[-1].partition(": ")[2]
    before, _, reason = error.partition("terminated with exception: ")
    return first_sentence(Exception(reason or before))


COLUMNS = {
    "join": ("results", "held", "lost", "late", "recall"),
    "lookup": ("hits", "found", "calls", "held", "without"),
    "thin": ("sent", "kept", "keys", "late", ""),
}


def columns_of(name: str) -> tuple[str, ...]:
    """Return what is told of an operator after each micro-batch."""
    return COLUMNS[name]


def figures_of(query: Any) -> list[str]:
    """Return the figures so far, in the order of `columns_of`; empty if there are none yet."""
    found = metrics(query)
    if found is None:
        return []
    if isinstance(found, Metrics):
        recall = "-"
        if found.recall is not None:
            recall = (
                f"{found.recall:.0%} ({100 * found.recall_low:.0f}-{100 * found.recall_high:.0f})"
            )
        lost = sum(found.evicted) + sum(found.rejected)
        return [*map(short, (found.matches, found.rows_held, lost, sum(found.late))), recall]
    if isinstance(found, LookupMetrics):
        hits = "-" if found.hit_ratio is None else f"{found.hit_ratio:.0%}"
        counted = (found.found, found.calls, found.rows_held, found.unfound)
        return [hits, *map(short, counted)]
    kept = "-" if found.kept is None else f"{found.kept:.0%}"
    return [short(found.sent), kept, short(found.keys), short(found.late), ""]


def short(number: float) -> str:
    """Return a number in seven characters.

    >>> short(12_345), short(1_234_567), short(98_765_432_100)
    ('12,345', '1.23 M', '98.8 G')
    """
    for unit in ("", " k", " M", " G", " T"):
        if number < 999.5 or (not unit and number < 100_000):
            return f"{number:.3g}{unit}" if unit else f"{number:,.0f}"
        number /= 1000
    return f"{number:,.0f} P"
