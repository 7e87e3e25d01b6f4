"""From checked arguments to a plan, and from a plan to a DataFrame. All joins are made here."""

import os
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..core.durations import LONGEST, in_words, microseconds
from ..core.gains import GOALS
from ..core.shape import Joins
from ..errors import BadInput
from .bucket import Bucket, check_engine, counter_names, make_join
from .buckets import labels
from .budget import read_budget
from .checkpoint import check_checkpoint
from .checks import bucket_count, choice, share, warn_user, whole
from .metrics import observed_join
from .operator import Work, run_buckets
from .packets import SCHEMA, Packing, make_packer
from .plan import Input, Plan, carried_delay, fold, hashed_key, output_columns, quote
from .session import check_settings, partitions, watermark_clock
from .upstream import check_upstream
from .workers import check_workers

Span = str | timedelta


@dataclass(frozen=True)
class Options:
    """What every kind of join takes, as the user wrote it."""

    within: Span | None
    budget: int | str | None
    policy: str
    goal: str
    delay: Span | None
    layout: str
    buckets: int | None
    seed: int
    recall_sample: float
    checkpoint: str | os.PathLike[str] | None


@dataclass(frozen=True)
class Source:
    """A frame, how messages call it, and its columns."""

    frame: DataFrame
    who: str
    input: Input


def make_plan(
    sources: list[Source], joins: Joins, suffixes: list[tuple[str, ...]], options: Options
) -> Plan:
    """Return the plan of a join, refusing whatever could not run."""
    streaming = _all_streaming(sources)
    if streaming:
        for source in sources:
            check_upstream(source.frame, source.who)
    session = sources[0].frame.sparkSession
    check_settings(session)
    parts = partitions(session)
    count = bucket_count(options.buckets, parts)
    chosen = read_budget(options.budget, count)
    inputs = tuple(source.input for source in sources)
    streams = [tuple(stream for stream, _ in join) for join in joins]
    folded = partial(fold, sources[0].frame)
    plan = Plan(
        inputs=inputs,
        joins=joins,
        within=None if options.within is None else microseconds(options.within, "within"),
        delay=_delay(sources, options.delay, streaming),
        # A batch is joined in the order of time, so nobody lags behind.
        clock=watermark_clock(session) if streaming else "fastest",
        budget=chosen.amount,
        in_bytes=chosen.in_bytes,
        policy=options.policy,
        goal=choice(options.goal, "goal", GOALS),
        layout=choice(options.layout, "layout", ("unified", "split")),
        buckets=count,
        labels=tuple(labels(count, parts)),
        partitions=parts,
        seed=whole(options.seed, "seed", 0),
        sample=share(options.recall_sample, "recall_sample"),
        output=tuple(
            output_columns(inputs, mine, ends, folded)
            for mine, ends in zip(streams, suffixes, strict=True)
        ),
    )
    check_engine(plan)
    if streaming and plan.within is None and plan.budget is None:
        warn_user(
            "without within= and budget= the join holds every row for ever: its state grows until "
            "an executor is out of memory; pass within='1 hour', or budget='1 GB', or both"
        )
    check_checkpoint(session, options.checkpoint, plan.fingerprint, "join", streaming)
    return plan


def run_plan(sources: list[Source], plan: Plan) -> DataFrame:
    """Return the results as packets: which join, and its rows."""
    streaming = sources[0].frame.isStreaming
    charge = make_join(plan, 0).footprint.charge
    within = plan.within if streaming else None  # a batch is one micro-batch of many windows
    packed = [
        pack(source.frame, source.input, number, plan.labels, plan.shared, charge, within)
        for number, source in enumerate(sources)
    ]
    packets = packed[0]
    for more in packed[1:]:
        packets = packets.unionByName(more)
    counters = counter_names(len(sources))
    work = Work(partial(Bucket, plan), plan.labels, len(sources), counters)
    results = run_buckets(packets, work, streaming)
    # Only a query's progress can be asked for figures; two batch joins could not share the name.
    results = observed_join(results, plan) if streaming else results
    return results.select("join", "packet")


def pack(
    frame: DataFrame,
    source: Input,
    side: int,
    labels: tuple[int, ...],
    shared: str | None = None,
    charge: int = 0,
    within: int | None = None,
) -> DataFrame:
    """Return the rows of a frame as packets, one per bucket.

    `shared` says what a budget counts that the buckets share, `charge` how many bytes an engine
    takes for a row beside its payload, and `within` which rows digests are about.
    """
    check_workers(frame.sparkSession)
    needed = [F.col(quote(name)) for name in source.packed[1:]]
    columns = [hashed_key(source.keys, source.exact), *needed]
    safe = [column.alias(f"c{place}") for place, column in enumerate(columns)]
    packing = Packing(side, labels, source.packed, source.time, shared, charge, within)
    packer = make_packer(packing)
    return frame.select(*safe).mapInArrow(packer, SCHEMA)


def _all_streaming(sources: list[Source]) -> bool:
    still = [source.who for source in sources if not source.frame.isStreaming]
    if still and len(still) < len(sources):
        raise BadInput(
            f"all frames must be streams or none, and the {', '.join(still)} frame is not; read it "
            "with readStream, or use Spark's own join with a static table"
        )
    return not still


def _delay(sources: list[Source], delay: Span | None, streaming: bool) -> int:
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
    warn_user(
        f"only the {marked} frame has a watermark: its delay of {in_words(delay)} holds for the "
        f"{bare} frame too, and rows of that which come later are dropped; call withWatermark on "
        f"every frame, or pass delay={in_words(delay)!r}"
    )
