"""What is known now: of the refreshes of each key the latest."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ...errors import BadInput
from ..plan import Names, as_names, check_frame, check_keys, find_column, quote
from .rows import HIGH, LOW


def latest(refreshes: DataFrame, key: Names, time: str) -> DataFrame:
    """Return the interval of each key that `thin` sent last: key, time, low, high.

    Of refreshes of one key and one time the later one cannot be told, so they count together, from
    the lowest low to the highest high: that contains the value whichever is the last.
    """
    keys = as_names(key, "key")
    check_frame(refreshes, "refreshes")
    for name in (*keys, time, LOW, HIGH):
        find_column(refreshes, "refreshes", name)
    check_keys(refreshes, "refreshes", keys, "key")
    for name in (*keys, time):
        if name.lower() in (LOW, HIGH):
            raise BadInput(f"column {name!r} has the name of a result; rename it")
    if refreshes.isStreaming:
        raise BadInput(
            "latest takes a batch frame, got a stream; write the refreshes to a table and read that"
        )
    groups = [F.col(quote(name)) for name in keys]
    when, ends = F.col(quote(time)), (F.min(LOW).alias(LOW), F.max(HIGH).alias(HIGH))
    together = refreshes.groupBy(*groups, when).agg(*ends)
    last = "last"
    while last in {name.lower() for name in keys}:
        last += "_"
    newest = F.max_by(F.struct(when, LOW, HIGH), when).alias(last)
    return together.groupBy(*groups).agg(newest).select(*groups, f"{last}.*")
