"""Follow a query until it ends, or end it after the micro-batch that runs."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from ...errors import PenstockError
from ...terminal import short
from ..metrics import KINDS, LookupMetrics, Metrics, read
from ..observe import LOST, cause, figures_of, ran_batch

PAUSE = 0.25  # seconds between looks at a query
SOON = 0.02  # once it is to end


def drive(query: Any, ending: Callable[[], bool], show: Callable[[Any], None]) -> None:
    """Wait for a query, and show the progress report of each micro-batch that ran.

    When `ending` says so, the query stops after its micro-batch. Spark itself only knows how to
    interrupt: so the end of the micro-batch is awaited first. If the next one has just begun it is
    given up, as by any stop, and done again by the next start.
    """
    seen, asked = -1, None

    def look() -> None:
        nonlocal seen
        last = query.lastProgress
        if last is None or last["batchId"] <= seen:
            return
        between = last["batchId"] > seen + 1  # micro-batches may be shorter than a pause
        for progress in query.recentProgress if between else [last]:
            if progress["batchId"] > seen and ran_batch(progress):
                seen = progress["batchId"]
                show(progress)

    try:
        while not query.awaitTermination(SOON if ending() else PAUSE):
            look()
            if ending():
                asked = asked or (seen,)
                if asked != (seen,) or not query.status["isTriggerActive"]:
                    break
        look()
    except (PySparkException, Py4JJavaError) as error:
        raise PenstockError(f"the query failed: {cause(str(error))}") from error
    except LOST as error:
        raise PenstockError(
            "the query failed: Java, which runs Spark, has ended; if the system killed it for its "
            "memory, give the machine more or Spark less, as driver.memory in [spark]"
        ) from error
    finally:
        with suppress(*LOST):
            query.stop()


COLUMNS = {  # what is shown of an operator after each micro-batch
    "join": ("results", "held", "lost", "late", "recall"),
    "lookup": ("hits", "found", "calls", "held", "without"),
    "thin": ("sent", "kept", "keys", "late", ""),
}


def cells_of(progress: Mapping[str, Any]) -> list[str]:
    """Return the figures of a report, in the order of `COLUMNS`; empty if it has none."""
    observed = {name: figures_of(progress, name) for name in KINDS}
    found = next((read(n, f, progress["batchId"]) for n, f in observed.items() if f), None)
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
