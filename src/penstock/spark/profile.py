"""The profile of a frame: the same record as `profile.stream_profile` makes of arrays.

What makes it is imported when it is asked for: every worker of every join imports this file.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from ..core.options import at_least
from ..errors import BadInput
from .checks import whole
from .keyed import keyed_rows
from .plan import as_names
from .workers import check_workers

if TYPE_CHECKING:
    from ..profile.stream_profile import Profile

ROWS, STREAM_ROWS = 1_000_000, 250_000  # in a sample
FEWEST = 10_000  # rows: with fewer the errors would be larger than what they are errors of


@dataclass(frozen=True)
class ProfileStream:
    """A running query, and what it knows.

    `query` is Spark's own: `query.stop()`, `query.awaitTermination()`, `query.lastProgress`.
    """

    query: Any
    spark: Any  # the session in which the profile is made
    checkpoint: str
    name: str = "stream"
    h: int | None = None

    def report(self, h: int | None = None) -> "Profile":
        """Return the profile of all that came so far; after the query has stopped too."""
        error = self.query.exception()
        if error is not None:
            raise error
        return saved_profile(self.spark, self.checkpoint, h=h or self.h, name=self.name)


def profile(
    frame: DataFrame,
    key: str | list[str],
    time: str,
    *,
    h: int | None = None,
    seed: int = 0,
    name: str = "stream",
    rows: int | None = None,
    checkpoint: str | None = None,
    trigger: dict[str, Any] | None = None,
) -> "Profile | ProfileStream":
    """Return what a stream of keys is like; of a streaming frame, a query that will tell.

    key: a column or several, of any type that can be grouped by but maps, variants and texts with a
        collation. Rows where one of them or the time is null are left out, and counted.
    time: timestamps, dates or numbers. Rows are taken in its order; of a streaming frame batch by
        batch, so that a row that comes late has its place where it came.
    h: how many rows the locality model looks back on; None: as many as suffice.
    seed: decides which keys are sampled.
    rows: how many rows a sample holds; a frame that has no more is profiled as a whole. The errors
        fall as its square root. By default 1,000,000, and 250,000 of a streaming frame.
    checkpoint: of a streaming frame: a folder for the query's checkpoint and the samples. A query
        that is started again with the same folder goes on where it was.
    trigger: of a streaming frame: arguments for Spark's `trigger`, such as {"availableNow": True}.

    A batch frame is read four times; if it is expensive to make, or random, store it first.
    """
    numbers = keyed_rows(frame, key, time)
    if h is not None:
        at_least("h", h, 1)
    default = STREAM_ROWS if frame.isStreaming else ROWS
    size = default if rows is None else rows
    at_least("rows", size, FEWEST)
    whole(seed, "seed", 0)
    check_workers(frame.sparkSession)
    if frame.isStreaming:
        from .profile_stream import start

        about = {"key": list(as_names(key, "key")), "time": time, "rows": size, "seed": seed}
        query, folder = start(numbers, about, checkpoint, trigger or {})
        return ProfileStream(query, frame.sparkSession, folder, name, h)
    if checkpoint is not None or trigger is not None:
        raise BadInput("checkpoint and trigger are for streaming frames, got a batch frame")
    from .profile_batch import profile_batch

    return profile_batch(numbers, size, seed, h, name)


def saved_profile(
    spark: Any, checkpoint: str, *, h: int | None = None, name: str = "stream"
) -> "Profile":
    """Return the profile so far by a query that may run elsewhere, or run no more."""
    from .profile_stream import describe_saved

    return describe_saved(spark, checkpoint, h, name)
