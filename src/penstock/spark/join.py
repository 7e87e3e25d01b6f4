"""Join streaming or batch frames inside a memory budget: DataFrames in, a DataFrame out."""

import os
from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from .. import policies
from ..core.gains import PAIRS
from ..core.shape import all_streams
from ..errors import BadInput
from .assemble import Options, Source, Span, make_plan, run_plan
from .plan import Names, as_names, check_frame, check_same_types, read_input, result_type
from .session import uses_wide_types
from .unpack import unpack_as


def join(
    left: DataFrame,
    right: DataFrame,
    on: Names,
    *,
    time: str | tuple[str, str],
    within: Span | None = None,
    budget: int | str | None = None,
    policy: str = policies.DEFAULT,
    goal: str = PAIRS,
    delay: Span | None = None,
    layout: str = "unified",
    buckets: int | None = None,
    seed: int = 0,
    recall_sample: float = 0.01,
    suffixes: tuple[str, str] = ("_left", "_right"),
    how: str = "inner",
    checkpoint: str | os.PathLike[str] | None = None,
) -> DataFrame:
    """Join two frames on equal keys and times within a window, in bounded memory.

    Takes the place of `left.join(right, ...)`, also as `left.transform(join, right, ...)`. Streams
    and batches, classic Spark and Spark Connect.

    Parameters:
        on: the key column, or several, by the same names in both frames.
        time: the timestamp column, or (left name, right name).
        within: two rows match when their times are at most this far apart; None: no limit.
        budget: rows (45_000) or bytes ("64 MB") that may be held; None: all that the window
            needs, and the join is exact.
        policy: what is evicted when the budget is full; see `penstock policies`.
        goal: what the budget is to buy most of: `pairs`, that is results, or `rows` that find at
            least one partner. It decides what is kept, never which results are correct.
        delay: how late a row may come; unless the frames carry a watermark already.
        layout: `unified`, or `split`: half of the budget for each side.
        buckets: into how many parts the keys are split; by default one per shuffle partition,
            and 32 at most.
        seed: where all randomness comes from.
        recall_sample: the share of the rows that is watched, to estimate recall.
        suffixes: what tells columns apart that both frames have.
        how: `inner`; anything else is refused.
        checkpoint: the path that the query will be started from. A checkpoint that another join has
            written is then refused here; else only the first micro-batch refuses it.

    Returns the columns `on`, then the rest of left, then the rest of right.
    """
    if not isinstance(how, str) or how != "inner":
        raise BadInput(
            f"how must be 'inner', got {how!r}; for rows without a match use Spark's own join, "
            "which keeps all of the window"
        )
    options = Options(
        within, budget, policy, goal, delay, layout, buckets, seed, recall_sample, checkpoint
    )
    return _join([left, right], ["left", "right"], on, time, suffixes, options)


def join_many(
    frames: Sequence[DataFrame],
    on: Names,
    *,
    time: str | tuple[str, ...],
    within: Span | None = None,
    budget: int | str | None = None,
    policy: str = policies.DEFAULT,
    goal: str = PAIRS,
    delay: Span | None = None,
    layout: str = "unified",
    buckets: int | None = None,
    seed: int = 0,
    recall_sample: float = 0.01,
    suffixes: tuple[str, ...] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> DataFrame:
    """Join several frames at once: a result takes one row of each, any two within the window.

    One operator instead of a chain of joins, so nothing is held twice. Equal column names get the
    suffixes `_1`, `_2`, ...; the other parameters are those of `join`.
    """
    if not isinstance(frames, Iterable) or hasattr(frames, "sparkSession"):
        raise BadInput(f"join_many takes a list of frames, got {type(frames).__name__}")
    frames = list(frames)
    if len(frames) < 2:
        raise BadInput(f"join_many needs at least 2 frames, got {len(frames)}")
    numbers = range(1, len(frames) + 1)
    ends = tuple(f"_{number}" for number in numbers) if suffixes is None else suffixes
    options = Options(
        within, budget, policy, goal, delay, layout, buckets, seed, recall_sample, checkpoint
    )
    return _join(frames, [f"{number}." for number in numbers], on, time, ends, options)


def _join(
    frames: list[DataFrame],
    who: list[str],
    on: Names,
    time: str | tuple[str, ...],
    suffixes: tuple[str, ...],
    options: Options,
) -> DataFrame:
    sources = read_sources(frames, who, on, time)
    ends = check_suffixes(suffixes, len(frames))
    plan = make_plan(sources, all_streams(len(frames)), [ends], options)
    schema = result_type(frames, plan.output[0])
    wide = uses_wide_types(frames[0].sparkSession)
    as_arrow = to_arrow_schema(schema, timezone="UTC", prefers_large_types=wide)
    return run_plan(sources, plan).mapInArrow(unpack_as(as_arrow), schema)


def read_sources(frames: list[DataFrame], who: list[str], on: Names, time: Names) -> list[Source]:
    """Return the frames of one join, checked."""
    for frame, name in zip(frames, who, strict=True):
        check_frame(frame, name)
    keys = as_names(on, "on")
    times = (time,) * len(frames) if isinstance(time, str) else as_names(time, "time")
    if len(times) != len(frames):
        raise BadInput(
            f"time must be one column name, or one per frame ({len(frames)}), got {time!r}"
        )
    sources = [
        Source(frame, name, read_input(frame, name, keys, mine))
        for frame, name, mine in zip(frames, who, times, strict=True)
    ]
    check_same_types(frames, [source.input for source in sources], who)
    return sources


def check_suffixes(suffixes: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Return the suffixes, refusing too few, or equal ones."""
    some = suffixes if isinstance(suffixes, list | tuple) else ()
    texts = {each for each in some if isinstance(each, str)}
    if len(some) != count or len(texts) < count:
        example = ("_left", "_right", "_third")[:count] if count < 4 else "('_1', '_2', ...)"
        raise BadInput(
            f"suffixes must be {count} different texts, such as {example}, got {suffixes!r}"
        )
    return tuple(some)
