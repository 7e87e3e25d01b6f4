"""How much memory a pipeline needs: its sources read as batches, and the advisor asked."""

import time
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ...advisor import Advice
from ...engine.join_options import ALL, INNER, default_goal
from ...engine.lookup import HITS
from ...kernel.durations import in_words, microseconds
from ..sample.advice import advise
from . import connectors
from .connectors import KAFKA, RATE
from .pipeline import Pipeline

WINDOWS = 5  # that a sample of an endless source spans: in the first of them memories fill
MOST = 2_000_000  # rows of a sample that is generated
USUAL = 100_000  # of one without a window
HOUR = 3_600_000_000  # microseconds of a topic that are read without a window


def advised(pipeline: Pipeline, spark: Any) -> Advice:
    """Return which policy and budget suit what the sources hold already.

    Files are read as they are; of Kafka what came during the last five windows, or the last hour
    where there is no window. What the rate source would give is generated. The advisor replays
    windows of the same span to both sides: of `within = [low, high]` it takes the wider end, and
    the advice says so.
    """
    given = pipeline.options
    if pipeline.name == "thin":
        raise pipeline.file.error(
            "--advise is for [join] and [lookup]: a thin holds one interval for each key, and has "
            "no budget",
            "thin",
        )
    if given.get("near") is not None:
        raise pipeline.file.error("--advise is for joins on equal keys alone", "join.near")
    with pipeline.placed(pipeline.name, given):
        if pipeline.name == "lookup":
            events = _sample(pipeline, spark, given["events"], None)
            made = advise(events, on=given["on"], time=_only_time(pipeline, events))
            goal = given.get("goal", HITS)
            doubt = f"the advice counts hits, and the goal of the file is {goal}"
            return made if goal == HITS else replace(made, said=[doubt, *made.said])
        window: str | list[str] | None = given.get("within")
        span = None if window is None else _widest(window)
        left, right = (_sample(pipeline, spark, given[side], span) for side in ("left", "right"))
        on, times = given["on"], given["time"]
        if isinstance(on, dict):  # one name for both, which the advisor takes
            right = right.withColumnsRenamed({theirs: mine for mine, theirs in on.items()})
            on = list(on)
        goal = given.get("goal") or default_goal(given.get("how", INNER), given.get("match", ALL))
        options = {name: given[name] for name in ("seed", "delay") if name in given}
        times = tuple(times) if isinstance(times, list) else times
        within = None if span is None else in_words(span)
        made = advise(left, right, on=on, time=times, within=within, goal=goal, **options)
        return made if window is None or within is None else _as_written(made, window, within)


def _widest(window: str | list[str]) -> int:
    """Return how far apart the times of a match may be at most, in microseconds."""
    if isinstance(window, str):
        return microseconds(window, "within")
    return max(abs(microseconds(each, "within", signed=True)) for each in window)


def _as_written(made: Advice, window: str | list[str], replayed: str) -> Advice:
    """Return the advice with the window of the file, and a doubt where another was replayed."""
    written = tuple(window) if isinstance(window, list) else window
    call = made.streams.call.replace(f"within={replayed!r}", f"within={written!r}")
    made = replace(made, streams=replace(made.streams, call=call))
    if isinstance(window, str):
        return made
    low, high = (microseconds(each, "within", signed=True) for each in window)
    if low == -high:
        return made
    wider = (
        f"the window from {window[0]} to {window[1]} was replayed as {replayed} to both sides, so "
        "a smaller budget may be enough"
    )
    return replace(made, said=[wider, *made.said])


def _sample(pipeline: Pipeline, spark: Any, name: str, within: int | None) -> DataFrame:
    """Return some rows of a source as a batch."""
    given = pipeline.sources[name]
    with pipeline.reading(name):
        if given["format"] == RATE:
            return _generated(spark, given, within)
        if given["format"] == KAFKA:
            span = HOUR if within is None else WINDOWS * within
            since = int(time.time() * 1000) - span // 1000
            recent = {"startingTimestamp": since, "startingOffsetsByTimestampStrategy": "latest"}
            given = given | recent
        frame = connectors.read(spark, given, batch=True)
    return frame.persist() if given["format"] == KAFKA else frame  # more comes while it is read


def _generated(spark: Any, given: dict[str, Any], within: int | None) -> DataFrame:
    """Return what the rate source would give."""
    rate = int(given.get("rowsPerSecond", 1))
    rows = USUAL if within is None else min(MOST, WINDOWS * within * rate // 1_000_000)
    at = F.timestamp_micros((F.col("id") * F.lit(1_000_000) / F.lit(rate)).cast("long"))
    frame = spark.range(rows).select(at.alias("timestamp"), F.col("id").alias("value"))
    return frame.selectExpr(*given["select"]) if "select" in given else frame


def _only_time(pipeline: Pipeline, events: DataFrame) -> str:
    """Return the only column of times that events have, which gives their order."""
    kinds = (T.TimestampType, T.TimestampNTZType)
    times = [each.name for each in events.schema.fields if isinstance(each.dataType, kinds)]
    if len(times) != 1:
        raise pipeline.file.error(
            "--advise needs one timestamp column in the events, for their order, got "
            f"{', '.join(times) or 'none'}; name it in select",
            f"source.{pipeline.options['events']}",
        )
    return times[0]
