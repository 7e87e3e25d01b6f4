"""Join streaming or batch frames inside a memory budget: DataFrames in, a DataFrame out."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from inspect import signature
from typing import Any, NamedTuple, TypedDict, Unpack, cast

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .. import policies
from ..engine.join_options import ALL, ANTI, HOWS, INNER, MATCHING, SEMI, default_goal
from ..errors import BadInput, TooSmall
from ..kernel.durations import LONGEST, in_words, microseconds
from ..kernel.gains import GOALS
from ..kernel.policy import JOINING
from ..kernel.shape import TWO_WAY, Joins, all_streams
from . import checks
from .archive.write import HELD_BY, INPUTS, Archived, Held, hold_back
from .checks import BEHIND, WATERMARK, Span
from .figures import is_join, observed_join
from .frames import (
    KEY,
    Input,
    Keys,
    Names,
    are_streams,
    arrow_type,
    as_names,
    carried_delay,
    check_frame,
    check_same_types,
    fields_of,
    find_shared,
    fold,
    micros,
    output_columns,
    quote,
    read_input,
    read_keys,
    result_type,
)
from .near import Near, NearColumn, read_near
from .plan import JoinPlan, placed
from .runtime.archiver import row_bytes
from .runtime.join_bucket import JoinBucket, counter_names, least_bytes, make_join
from .runtime.journal import check_checkpoint
from .runtime.operator import Work, run_buckets
from .runtime.packets import Shared, make_unpacker, pack
from .runtime.rehearsal import join_kernels
from .runtime.result_rows import plain_rows, rows_of
from .session import check_settings, watermark_clock

SPELLINGS = {name: name for name in HOWS} | {
    "leftouter": "left",
    "rightouter": "right",
    "outer": "full",
    "fullouter": "full",
    "leftsemi": "semi",
    "leftanti": "anti",
}


class Options(TypedDict, total=False):
    """What every kind of join takes; `join` says what each option means."""

    within: Span | tuple[Span, Span] | None
    budget: int | str | None
    policy: str
    goal: str | None
    delay: Span | None
    layout: str
    buckets: int | None
    seed: int
    recall_sample: float
    checkpoint: str | os.PathLike[str] | None


class Kind(NamedTuple):
    """What only a join of two frames can be."""

    how: str = INNER
    match: str = ALL
    archive: str | os.PathLike[str] | None = None
    near: NearColumn | None = None


@dataclass(frozen=True)
class NamedFrame:
    """A frame, how messages call it, and its columns."""

    frame: DataFrame
    who: str
    input: Input


def make_plan(
    sources: list[NamedFrame],
    joins: Joins,
    suffixes: list[tuple[str, ...]],
    kind: Kind,
    options: Options,
) -> JoinPlan:
    """Return the plan of a join, refusing whatever could not run."""
    for name in options.keys() - DEFAULTS.keys():
        raise TypeError(f"a join got an unexpected keyword argument {name!r}")
    given, (how, match, archive, near) = DEFAULTS | options, kind
    within, buckets, checkpoint = given["within"], given["buckets"], given["checkpoint"]
    streaming = are_streams({source.who: source.frame for source in sources})
    _check_archive(archive, within, match, streaming)
    before = _joins_before(sources) if streaming else 0
    session = sources[0].frame.sparkSession
    check_settings(session, streaming)
    if not sources[0].input.keys:  # cells beside each other must meet
        if buckets not in (None, 1):
            raise BadInput(
                f"a join with near= and without on= has one bucket, got buckets={buckets!r}; leave "
                "out buckets=, or pass on= with a column that is equal where rows match"
            )
        buckets = 1
    where = placed(session, buckets, checkpoint)
    allowed = checks.read_budget(given["budget"], where["buckets"])
    inputs = tuple(source.input for source in sources)
    checks.check_policy(given["policy"], JOINING, inputs)
    streams = [tuple(stream for stream, _ in join) for join in joins]
    folded = partial(fold, sources[0].frame)
    window = _window(within)
    goal = default_goal(how, match) if given["goal"] is None else given["goal"]
    plan = JoinPlan(
        inputs=inputs,
        joins=joins,
        within=window,
        near=None if near is None else near.near,
        said_near=None if near is None else near.said,
        how=how,
        match=match,
        archived=archive is not None and os.fspath(archive) != INPUTS,
        delay=_delay(sources, given["delay"], streaming),
        # A batch is joined in the order of time, so no stream lags behind.
        clock=watermark_clock(session) if streaming else "fastest",
        watermark=streaming,
        behind=_behind(sources, window) if streaming else 0,
        place=before + 1,
        budget=allowed.amount,
        in_bytes=allowed.in_bytes,
        policy=given["policy"],
        goal=checks.choice(goal, "goal", GOALS),
        layout=checks.choice(given["layout"], "layout", ("unified", "split")),
        **where,
        seed=checks.whole(given["seed"], "seed", 0),
        sample=checks.share(given["recall_sample"], "recall_sample"),
        output=tuple(
            tuple((0, name, name) for name in inputs[0].names)
            if how in (SEMI, ANTI)
            else output_columns(inputs, mine, ends, folded)
            for mine, ends in zip(streams, suffixes, strict=True)
        ),
    )
    value = None if plan.near is None else ()
    try:  # the smallest share must have room for a row
        make_join(plan, plan.buckets - 1).push([], [], [], size=[], value=value)
    except TooSmall as small:
        raise checks.too_small(given["budget"], plan, least_bytes(plan, small.least)) from None
    if streaming and plan.within is None and plan.how not in (INNER, SEMI):
        raise BadInput(
            f"how={plan.how!r} of streams needs within=, since without a window a row may find a "
            "partner for ever; pass within='1 hour'"
        )
    if streaming and plan.within is None and plan.budget is None:
        checks.warn_user(
            "without within= and budget= the join holds every row for ever: its state grows until "
            "an executor is out of memory; pass within='1 hour', or budget='1 GB', or both"
        )
    check_checkpoint(session, checkpoint, plan, streaming)
    return plan


def _joins_before(sources: list[NamedFrame]) -> int:
    """Return how many joins of ours the rows have passed, refusing what Spark could not run."""
    found = []
    for source in sources:
        observed = checks.check_upstream(source.frame, source.who, source.input.time)
        found.append(sum(is_join(name) for name in observed))
    if sum(map(bool, found)) > 1:
        raise BadInput(
            "more than one of the frames comes from a join of Penstock, whose figures would have "
            "the same name in the query; join the frames one after the other, or at once with "
            "join_many"
        )
    return sum(found)


def _check_archive(archive: Any, within: Any, match: str, streaming: bool) -> None:
    """Refuse an archive where what is missed could not be told, or nothing is."""
    if archive is None:
        return
    if not isinstance(archive, str | os.PathLike):
        raise BadInput(f"archive must be the path of a folder, or 'inputs', got {archive!r}")
    if not streaming:
        raise BadInput("archive is for streams; batch frames are joined exactly without a budget")
    if within is None:
        raise BadInput(
            "archive needs within=, since without a window every row is owed to all that come; "
            "pass within='1 hour'"
        )
    if match != ALL:
        raise BadInput(
            f"archive needs match='all': with match={match!r} a row that was evicted would "
            "have taken partners that others have found since; leave out archive= or match="
        )


def run_plan(
    sources: list[NamedFrame], plan: JoinPlan, schema: T.StructType | None = None
) -> DataFrame:
    """Return the results as packets: which join, and its rows; or as rows, if they have a schema.

    Of both `rows_of` makes results.
    """
    times = [source.frame.schema[str(source.input.time)].metadata or {} for source in sources]
    # A join before this one may keep the watermark behind by more.
    behind = max(plan.behind // 1000, *(int(time.get(BEHIND, 0)) for time in times))
    frames = [_watermarked(source, plan, behind) for source in sources]
    streaming, engine, shared = frames[0].isStreaming, make_join(plan, 0), None
    if plan.is_shared:
        charge = engine.footprint.charge + row_bytes(plan)
        # A batch is one micro-batch of many windows.
        shared = Shared(plan.in_bytes, charge, plan.lifetime if streaming else None)
    packets = pack(frames, plan.inputs, plan.labels, shared)
    kernels = join_kernels(plan, frames[0].sparkSession)
    counters = counter_names(len(frames))
    rows = plain_rows(schema) if streaming and schema is not None else None
    work = Work(
        JoinBucket, plan, counters, streaming, plan.behind, kernels, rows, archived=plan.archived
    )
    results = run_buckets(packets, work)
    # Only a query's progress can be asked for figures; two batch joins could not share the name.
    results = observed_join(results, plan) if streaming else results
    return results.drop("counters", "hottest")


def _watermarked(source: NamedFrame, plan: JoinPlan, behind: int) -> DataFrame:
    """Return a frame with a watermark, which Spark then tells the operator.

    Spark counts the watermark in milliseconds and drops rows that are exactly at it. The delay is
    therefore rounded up, and one millisecond longer: a row that is late by the whole delay stays.
    Spark takes timestamps with a time zone only, so those without one are read as UTC.

    The watermark is that of the whole query. An operator after the join gets results that are older
    than the row which completed them, by the window at most: by so much it is kept `behind`, as
    Spark does after its own join, and the operator of the join adds it again. A frame that meets
    the results of a join is kept behind as those are.
    """
    frame, time = source.frame, str(source.input.time)
    if not frame.isStreaming or carried_delay(frame, time) is not None:
        return frame
    name, kind = quote(time), frame.schema[time].dataType
    if isinstance(kind, T.TimestampNTZType):
        name, taken = KEY, {fold(frame, column) for column in frame.columns}
        while name in taken:
            name += "_"
        frame = frame.withColumn(name, F.timestamp_micros(micros(quote(time), kind)))
    delay = -(-plan.delay // 1000) + 1 + behind
    return frame.withWatermark(name, f"{delay} milliseconds")


def _behind(sources: list[NamedFrame], within: int | tuple[int, int] | None) -> int:
    """Return by how much Spark's watermark is to be kept behind: microseconds, whole milliseconds.

    Nothing where results may be of any age, where the frames have watermarks, which cannot be
    changed any more, or where times have no zone: what follows in the query could not use them.
    """
    times = [source.frame.schema[str(source.input.time)] for source in sources]
    zoned = all(isinstance(time.dataType, T.TimestampType) for time in times)
    if within is None or not zoned or any(WATERMARK in (time.metadata or {}) for time in times):
        return 0
    oldest = max(0, within[1], -within[0]) if isinstance(within, tuple) else within
    return -(-oldest // 1000) * 1000


def _window(within: Any) -> int | tuple[int, int] | None:
    """Return a window in microseconds: how far apart rows may be, or from where to where."""
    if not isinstance(within, tuple | list):
        return None if within is None else microseconds(within, "within")
    if len(within) != 2:
        raise BadInput(
            f"within must be a span of time, or two: ('0 seconds', '1 hour'), got {within!r}"
        )
    low, high = (microseconds(each, "within", signed=True) for each in within)
    if low > high:
        raise BadInput(
            f"within=({within[0]!r}, {within[1]!r}) is empty: the time of the right row minus that "
            "of the left one lies between the two, so the first must not be larger"
        )
    return high if low == -high else (low, high)


def _how(how: Any) -> str:
    """Return how to join in our words, of which Spark knows several."""
    spelled = how.lower().replace("_", "") if isinstance(how, str) else ""
    if spelled not in SPELLINGS:
        known = ", ".join(dict.fromkeys(SPELLINGS.values()))
        raise BadInput(f"how must be one of {known} (or as Spark spells these), got {how!r}")
    return SPELLINGS[spelled]


def _delay(sources: list[NamedFrame], delay: Span | None, streaming: bool) -> int:
    if delay is not None:
        return microseconds(delay, "delay")
    carried = {source.who: carried_delay(source.frame, source.input.time) for source in sources}
    known = [each for each in carried.values() if each is not None]
    if known:
        longest = min(max(known), LONGEST)
        if streaming and len(known) < len(carried):
            _tell_of_bare_frames(carried, longest)
        return longest
    if streaming:
        raise BadInput(
            "a join of streams must know how late rows may come; pass delay='10 seconds', or call "
            "withWatermark on the time column of the frames"
        )
    return 0


def _tell_of_bare_frames(carried: dict[str, int | None], delay: int) -> None:
    """Say what a watermark on some frames only means for the others."""
    marked = ", ".join(who for who, each in carried.items() if each is not None)
    bare = ", ".join(who for who, each in carried.items() if each is None)
    checks.warn_user(
        f"only the {marked} frame has a watermark: its delay of {in_words(delay)} holds for the "
        f"{bare} frame too, and rows of that which come later are dropped; call withWatermark on "
        f"every frame, or pass delay={in_words(delay)!r}"
    )


def join(
    left: DataFrame,
    right: DataFrame,
    on: Keys = (),
    *,
    time: str | tuple[str, str],
    within: Span | tuple[Span, Span] | None = None,
    near: Near | None = None,
    how: str = INNER,
    match: str = ALL,
    budget: int | str | None = None,
    policy: str = policies.DEFAULT,
    goal: str | None = None,
    delay: Span | None = None,
    layout: str = "unified",
    buckets: int | None = None,
    seed: int = 0,
    recall_sample: float = 0.01,
    suffixes: tuple[str, str] = ("_left", "_right"),
    checkpoint: str | os.PathLike[str] | None = None,
    archive: str | os.PathLike[str] | None = None,
) -> DataFrame:
    """Join two frames on equal keys, near values and times within a window, in bounded memory.

    Takes the place of `left.join(right, ...)`, also as `left.transform(join, right, ...)`. Streams
    and batches, classic Spark and Spark Connect.

    Parameters:
        left: the left frame, a stream or a batch.
        right: the right frame, of the same kind.
        on: the key column, or several, by the same names in both frames; or a dict of names,
            {"user_id": "uid"}: the left frame's, then the right frame's. With `near` it may be
            left out.
        time: the timestamp column, or (left name, right name).
        within: two rows match when their times are at most this far apart; None: no limit. With
            ("0 seconds", "1 hour") the right row is at most an hour later than the left one, and
            not earlier; ("-5 minutes", "1 hour") allows for five minutes before.
        near: a band join: {"price": 0.5}, or {("bid", "ask"): 0.5} where the names differ. Rows
            match only if the values of this column, whole numbers, decimals or floats of one type,
            are at most so far apart. Without `on` all rows are in one bucket.
        how: `inner`, `left`, `right`, `full`, `semi` or `anti`, also as Spark spells these. A row
            without a match appears when the watermark has passed its window. Under a budget no row
            of a preserved side is lost: one that is evicted unmatched appears at once, and is
            counted (`unmatched_evicted`).
        match: `all` matches; `first`: a left row has one partner at most, the first that arrives
            (in one micro-batch: the earliest); `one`: so has a right row. A row that has its only
            partner leaves the memory at once.
        budget: rows (45_000) or bytes ("64 MB") that may be held; None: all that the window
            needs, and the join is exact.
        policy: what is evicted when the budget is full; see `penstock policies`.
        goal: what the budget is to buy most of: `pairs`, that is results, or `rows` that find at
            least one partner. It decides what is kept, never which results are correct. By default
            pairs for inner joins of all matches, else rows.
        delay: how late a row may come; unless the frames carry a watermark already.
        layout: `unified`, or `split`: half of the budget for each side.
        buckets: into how many parts the keys are split; by default one per shuffle partition,
            and 32 at most.
        seed: where all randomness comes from.
        recall_sample: the share of the rows that is watched, to estimate recall.
        suffixes: what tells columns apart that both frames have.
        checkpoint: the path that the query will be started from. A checkpoint that another join has
            written is then refused here; else only the first micro-batch refuses it.
        archive: the folder for rows that leave the memory early, and those that they would have
            met, so that `reconcile` can find later what is missed now; or "inputs", where topics or
            files of the inputs are kept and can be read again: then nothing is archived. Write
            what is returned with `penstock.spark.write`, which takes archive= too.

    Returns the columns `on`, then the rest of left, then the rest of right, among them key columns
    of another name; `semi` and `anti` return the columns of left.
    """
    given = locals()
    options: Any = {name: given[name] for name in Options.__annotations__}
    for frame, who in ((left, "left"), (right, "right")):
        check_frame(frame, who)
    column = read_near(near, left, right)
    sources = read_sources([left, right], ["left", "right"], on, time, column)
    kind = Kind(_how(how), checks.choice(match, "match", MATCHING), archive, column)
    ends = [_suffixes(suffixes, 2)]
    plan = make_plan(sources, TWO_WAY, ends, kind, options)
    schema = _result_type(sources, plan)

    @cache
    def archived(path: str) -> Archived:
        types, mine = (left.schema, right.schema), plan
        if archive is None:  # it is given to `write`
            mine = make_plan(sources, TWO_WAY, ends, kind._replace(archive=path), options)
        return Archived(run_plan(sources, mine, schema), mine, types, schema, path)

    if archive is not None:
        made = hold_back(archived(os.fspath(archive)))
    else:
        made = rows_of(run_plan(sources, plan, schema), schema)
    if plan.watermark:
        setattr(made, HELD_BY, Held(archive, archived))
    return made


parameters = signature(join).parameters
DEFAULTS = cast(Options, {name: parameters[name].default for name in Options.__annotations__})


def join_many(
    frames: Sequence[DataFrame],
    on: Names,
    *,
    time: str | tuple[str, ...],
    suffixes: tuple[str, ...] | None = None,
    **options: Unpack[Options],
) -> DataFrame:
    """Join several frames at once: a result takes one row of each, any two within the window.

    One operator instead of a chain of joins, so nothing is held twice.

    Parameters:
        frames: two or more.
        on: the key column, or several, by the same names in all frames.
        time: the timestamp column, or one for each frame.
        suffixes: what tells columns apart that several frames have, one for each frame; by default
            `_1`, `_2`, ...
        options: those of `join`, except `how`, `match` and `archive`.
    """
    if not isinstance(frames, Iterable) or hasattr(frames, "sparkSession"):
        raise BadInput(f"join_many takes a list of frames, got {type(frames).__name__}")
    frames = list(frames)
    if len(frames) < 2:
        raise BadInput(f"join_many needs at least 2 frames, got {len(frames)}")
    numbered = [f"{number}." for number in range(1, len(frames) + 1)]
    sources = read_sources(frames, numbered, on, time)
    ends = _numbered(len(frames)) if suffixes is None else _suffixes(suffixes, len(frames))
    plan = make_plan(sources, all_streams(len(frames)), [ends], Kind(), options)
    schema = _result_type(sources, plan)
    return rows_of(run_plan(sources, plan, schema), schema)


def _result_type(sources: list[NamedFrame], plan: JoinPlan) -> T.StructType:
    """Return the type of results, whose times tell what follows in the query of the watermark.

    They tell the delay of the frames, as those of Spark's own join do.
    """
    schema = result_type([source.frame for source in sources], plan.output[0])
    if not plan.behind:
        return schema
    delay = {WATERMARK: -(-plan.delay // 1000) + 1, BEHIND: plan.behind // 1000}
    times = {new for number, name, new in plan.output[0] if name == sources[number].input.time}
    fields = [
        T.StructField(f.name, f.dataType, f.nullable, delay if f.name in times else f.metadata)
        for f in schema.fields
    ]
    return T.StructType(fields)


def read_sources(
    frames: list[DataFrame], who: list[str], on: Keys, time: Names, near: NearColumn | None = None
) -> list[NamedFrame]:
    """Return the frames of one join, checked."""
    for frame, name in zip(frames, who, strict=True):
        check_frame(frame, name)
    find_shared(frames, who, on, time)
    keyless = near is not None and (on is None or (isinstance(on, tuple | list | dict) and not on))
    keys = [()] * len(frames) if keyless else read_keys(on, frames)
    values = (None,) * len(frames) if near is None else near.names
    times = (time,) * len(frames) if isinstance(time, str) else as_names(time, "time")
    if len(times) != len(frames):
        raise BadInput(
            f"time must be one column name, or one per frame ({len(frames)}), got {time!r}"
        )
    sources = [
        NamedFrame(frame, name, read_input(frame, name, names, mine, value))
        for frame, name, names, mine, value in zip(frames, who, keys, times, values, strict=True)
    ]
    check_same_types({source.who: source.input for source in sources})
    return sources


def _numbered(count: int) -> tuple[str, ...]:
    """Return the suffixes that several frames have by default."""
    return tuple(f"_{number}" for number in range(1, count + 1))


def _suffixes(suffixes: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Return the suffixes, refusing too few, or equal ones."""
    some = suffixes if isinstance(suffixes, list | tuple) else ()
    texts = {each for each in some if isinstance(each, str)}
    if len(some) != count or len(texts) < count:
        example = ("_left", "_right", "_third")[:count] if count < 4 else "('_1', '_2', ...)"
        raise BadInput(
            f"suffixes must be {count} different texts, such as {example}, got {suffixes!r}"
        )
    return tuple(some)


def join_group(
    joins: Mapping[str, tuple[DataFrame | Names, ...]],
    *,
    time: Names | Mapping[str, Names],
    suffixes: tuple[str, ...] | None = None,
    **options: Unpack[Options],
) -> DataFrame:
    """Run several joins in one operator, under one budget.

        join_group({"clicks": (a, b, "k"), "bids": (c, d, ["x", "y"])}, time="ts", ...)

    Parameters:
        joins: each a name with its frames and, last, its key column or columns. A frame may take
            part in several joins: it is then read once for each of them, and its rows are held and
            counted once for each of them.
        time: the timestamp column, or one for each frame of a join; or one such value per name.
        suffixes: what tells columns apart that several frames of a join have.
        options: those of `join`, except `how`, `match` and `archive`.

    Returns the column `join` with the name, and one struct column per join, null in the rows of
    the others.
    """
    if not isinstance(joins, Mapping) or not joins:
        raise BadInput(f"joins must map names to (left, right, on), got {joins!r}")
    _check_names(list(joins))
    sources: list[NamedFrame] = []
    shape = []
    ends = []
    for name, entry in joins.items():
        mine = _sources(name, entry, time)
        shape.append(tuple((len(sources) + leg, 0) for leg in range(len(mine))))
        usual = ("_left", "_right") if len(mine) == 2 else _numbered(len(mine))
        ends.append(usual if suffixes is None else _suffixes(suffixes, len(mine)))
        sources += mine
    plan = make_plan(sources, tuple(shape), ends, Kind(), options)
    frames = [source.frame for source in sources]
    kinds = [result_type(frames, output) for output in plan.output]
    schema = fields_of({"join": T.StringType()} | dict(zip(joins, kinds, strict=True)))
    unpacker = make_unpacker(list(joins), [arrow_type(kind) for kind in kinds])
    return run_plan(sources, plan).mapInArrow(unpacker, schema)


def _check_names(names: list[Any]) -> None:
    """Refuse names that cannot be columns beside each other and beside `join`."""
    for name in names:
        if not isinstance(name, str) or not name or name.lower() == "join":
            raise BadInput(f"the name of a join must be a text other than 'join', got {name!r}")
    folded = [name.lower() for name in names]
    for name in names:
        if folded.count(name.lower()) > 1:
            raise BadInput(f"the names of joins must differ by more than case, got {name!r} twice")


def _sources(
    name: str, entry: tuple[Any, ...], time: Names | Mapping[str, Names]
) -> list[NamedFrame]:
    if not isinstance(entry, tuple | list) or len(entry) < 3:
        raise BadInput(f"join {name!r} must be (left, right, on), got {entry!r}")
    *frames, on = entry
    if isinstance(time, Mapping) and name not in time:
        raise BadInput(f"time says nothing of join {name!r}; it names {', '.join(map(str, time))}")
    mine = time[name] if isinstance(time, Mapping) else time
    who = [f"{name} {number}." for number in range(1, len(frames) + 1)]
    if len(frames) == 2:
        who = [f"{name} left", f"{name} right"]
    return read_sources(frames, who, on, mine)
