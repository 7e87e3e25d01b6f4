"""Join streaming or batch frames inside a memory budget: DataFrames in, a DataFrame out."""

from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .. import policies
from ..core.shape import all_streams
from ..errors import BadInput
from .bucket import check_policy
from .buckets import labels
from .budget import read_budget
from .durations import microseconds
from .metrics import observed
from .operator import run_buckets, unpack
from .packets import SCHEMA, make_packer
from .plan import (
    Input,
    Plan,
    as_names,
    carried_delay,
    check_same_types,
    is_exact,
    key_column,
    output_columns,
    quote,
    read_input,
)
from .session import check_settings, partitions

Names = str | list[str] | tuple[str, ...]
Span = str | timedelta


def join(
    left: DataFrame,
    right: DataFrame,
    on: Names,
    *,
    time: str | tuple[str, str],
    within: Span | None = None,
    budget: int | str | None = None,
    policy: str = policies.DEFAULT,
    delay: Span | None = None,
    layout: str = "unified",
    buckets: int | None = None,
    seed: int = 0,
    recall_sample: float = 0.01,
    suffixes: tuple[str, str] = ("_left", "_right"),
) -> DataFrame:
    """Join two frames on equal keys and times within a window, in bounded memory.

    Takes the place of `left.join(right, ...)`, or of `left.transform(join, right, ...)`. Streams
    and batches, classic Spark and Spark Connect.

    Parameters:
        on: the key column, or several, by the same names in both frames.
        time: the timestamp column, or (left name, right name).
        within: two rows match when their times are at most this far apart; None: no limit.
        budget: rows (45_000) or bytes ("64 MB") that may be held; None: all that the window
        needs, and
            the join is exact.
        policy: who goes when the budget is full; see `penstock policies`.
        delay: how late a row may come; unless the frames carry a watermark already.
        layout: `unified`, or `split`: half of the budget for each side.
        buckets: into how many parts the keys are split; by default one per shuffle partition.
        seed: where all randomness comes from.
        recall_sample: the share of the keys that is joined exactly beside, to estimate recall.
        suffixes: what tells columns apart that both frames have.

    Returns the columns `on`, then the rest of left, then the rest of right.
    """
    times = (time, time) if isinstance(time, str) else tuple(time)
    if len(times) != 2:
        raise BadInput(f"time must be one column name or (left name, right name), got {time!r}")
    return _join_frames(
        [left, right],
        ["left", "right"],
        on,
        times,
        within=within,
        budget=budget,
        policy=policy,
        delay=delay,
        layout=layout,
        buckets=buckets,
        seed=seed,
        recall_sample=recall_sample,
        suffixes=tuple(suffixes),
    )


def join_many(
    frames: list[DataFrame],
    on: Names,
    *,
    time: str | tuple[str, ...],
    within: Span | None = None,
    budget: int | str | None = None,
    policy: str = policies.DEFAULT,
    delay: Span | None = None,
    layout: str = "unified",
    buckets: int | None = None,
    seed: int = 0,
    recall_sample: float = 0.01,
    suffixes: tuple[str, ...] | None = None,
) -> DataFrame:
    """Join several frames at once: a result takes one row of each, all within the window.

    One operator instead of a chain of joins, so nothing is held twice. Equal column names get the
    suffixes `_1`, `_2`, ...; the other parameters are those of `join`.
    """
    if len(frames) < 2:
        raise BadInput(f"join_many needs at least 2 frames, got {len(frames)}")
    times = (time,) * len(frames) if isinstance(time, str) else tuple(time)
    if len(times) != len(frames):
        raise BadInput(f"time must be one column name or one per frame, got {time!r}")
    chosen = suffixes or tuple(f"_{number}" for number in range(1, len(frames) + 1))
    if len(chosen) != len(frames):
        raise BadInput(f"suffixes must be one per frame ({len(frames)}), got {chosen!r}")
    return _join_frames(
        list(frames),
        [f"{number}." for number in range(1, len(frames) + 1)],
        on,
        times,
        within=within,
        budget=budget,
        policy=policy,
        delay=delay,
        layout=layout,
        buckets=buckets,
        seed=seed,
        recall_sample=recall_sample,
        suffixes=chosen,
    )


def _join_frames(
    frames: list[DataFrame],
    who: list[str],
    on: Names,
    times: tuple[str, ...],
    *,
    within: Span | None,
    budget: int | str | None,
    policy: str,
    delay: Span | None,
    layout: str,
    buckets: int | None,
    seed: int,
    recall_sample: float,
    suffixes: tuple[str, ...],
) -> DataFrame:
    keys = as_names(on, "on")
    inputs = [
        read_input(frame, name, keys, time)
        for frame, name, time in zip(frames, who, times, strict=True)
    ]
    check_same_types(frames, inputs, who)
    streaming = _all_streaming(frames, who)
    session = frames[0].sparkSession
    check_settings(session)
    parts = partitions(session)
    count = parts if buckets is None else buckets
    if count < 1:
        raise BadInput(f"buckets must be at least 1, got {buckets}")
    if not 0 <= recall_sample <= 1:
        raise BadInput(f"recall_sample must be from 0 to 1, got {recall_sample}")
    chosen = read_budget(budget, count)
    plan = Plan(
        inputs=tuple(inputs),
        joins=all_streams(len(frames)),
        exact_key=is_exact(frames[0], keys),
        within=None if within is None else microseconds(within, "within"),
        delay=_delay(frames, inputs, delay, streaming),
        budget=chosen.amount,
        in_bytes=chosen.in_bytes,
        policy=policy,
        layout=layout,
        buckets=count,
        labels=tuple(labels(count, parts)),
        seed=seed,
        sample=recall_sample,
        output=output_columns(inputs, suffixes),
    )
    check_policy(plan)
    return _build(frames, plan, streaming)


def _all_streaming(frames: list[DataFrame], who: list[str]) -> bool:
    kinds = [frame.isStreaming for frame in frames]
    if any(kinds) and not all(kinds):
        still = ", ".join(name for name, moving in zip(who, kinds, strict=True) if not moving)
        raise BadInput(
            f"all frames must be streams or none, and the {still} frame is not; read it with "
            "readStream, or use Spark's own join with a static table"
        )
    return all(kinds)


def _delay(
    frames: list[DataFrame], inputs: list[Input], delay: Span | None, streaming: bool
) -> int:
    if delay is not None:
        return microseconds(delay, "delay")
    carried = carried_delay(frames, inputs)
    if carried is not None:
        return carried
    if streaming:
        raise BadInput(
            "a join of streams must know how late rows may come; pass delay='10 seconds', or call "
            "withWatermark on the frames"
        )
    return 0


def _build(frames: list[DataFrame], plan: Plan, streaming: bool) -> DataFrame:
    packed = [
        frame.select(
            key_column(source.keys, plan.exact_key),
            *[F.col(quote(name)) for name in _needed(plan, number)],
        ).mapInArrow(make_packer(number, plan.labels), SCHEMA)
        for number, (frame, source) in enumerate(zip(frames, plan.inputs, strict=True))
    ]
    packets = packed[0]
    for more in packed[1:]:
        packets = packets.unionByName(more)
    results = observed(run_buckets(packets, plan, streaming), plan)
    schema = T.StructType(
        [
            T.StructField(new, frames[number].schema[name].dataType, True)
            for number, name, new in plan.output
        ]
    )
    return results.select("packet").mapInArrow(unpack, schema)


def _needed(plan: Plan, number: int) -> list[str]:
    """Return the columns of an input that must travel: a whole-number key is in `KEY` already."""
    source = plan.inputs[number]
    return [name for name in source.names if not (plan.exact_key and name in source.keys)]
