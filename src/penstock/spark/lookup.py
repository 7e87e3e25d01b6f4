"""Look the rows of events up in a relation through a cache: a DataFrame in, a DataFrame out."""

import os
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from .. import policies
from ..engine.lookup import COSTS, GOALS, HITS
from ..errors import BadInput, TooSmall
from ..kernel.durations import microseconds
from ..kernel.options import nearest
from ..kernel.policy import CACHING
from ..relations import Patience, Relation, RowSource, as_source
from ..relations.fetching import ask
from ..relations.sources import Fetch
from . import checks
from .checks import Span
from .figures import LOOKUP, observed_lookup
from .frames import (
    EXACT,
    Input,
    Names,
    arrow_type,
    as_names,
    check_same_types,
    fields_of,
    read_input,
)
from .plan import LookupPlan, placed
from .runtime.journal import check_checkpoint
from .runtime.lookup_bucket import LookupBucket, lookup_counters, now
from .runtime.operator import Work, run_buckets
from .runtime.packets import pack
from .runtime.rehearsal import lookup_kernels
from .runtime.result_rows import plain_rows, rows_of
from .session import check_settings


def lookup(
    events: DataFrame,
    relation: Relation | Fetch,
    on: Names,
    *,
    budget: int | str,
    policy: str = policies.DEFAULT,
    goal: str = HITS,
    cost: str | None = None,
    how: str = "left",
    ttl: Span | None = None,
    on_missing: str = "null",
    changes: DataFrame | None = None,
    suffix: str = "_relation",
    timeout: Span = "30 seconds",
    retries: int = 6,
    fetch_size: int = 10_000,
    buckets: int | None = None,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
) -> DataFrame:
    """Give every event its row of a relation, through a cache of bounded size.

    Also as `events.transform(lookup, relation, ...)`. Streams and batches, classic Spark and Spark
    Connect.

    Parameters:
        events: the frame whose rows are looked up, a stream or a batch.
        relation: a `Relation`, or a function `fetch(keys: pa.Array) -> pa.Table`.
        on: the key column of the events, or several.
        budget: rows (50_000) or bytes ("64 MB") of the relation that may be cached.
        policy: what stays cached; see `penstock policies`.
        goal: what the budget is to buy most of: `hits`, `bytes` of rows that need not be fetched,
            or `costs`, what it would have cost to fetch these. It decides what is kept, never which
            row an event gets.
        cost: the column of the relation that tells what a row costs to fetch: whole numbers of any
            unit. A null, or a key without a row, counts as 0. It is a column of the result like
            any other.
        how: `left`, or `inner`: events without a row are left out.
        ttl: a cached row is never served older than this; None: it may be of any age.
        on_missing: `null`, or `error`: a key without a row fails the query.
        changes: a stream of keys whose rows have changed; what is cached of them is discarded.
        suffix: what is added to columns of the relation whose name the events have too.
        timeout: how long one query to the relation may take.
        retries: how often it is asked again, with growing pauses.
        fetch_size: for how many keys one query asks at most.
        buckets: into how many parts the keys are split; by default one per shuffle partition,
            and 32 at most.
        seed: where all randomness comes from.
        checkpoint: the path that the query will be started from. A checkpoint that another query
            has written is then refused here; else only the first micro-batch refuses it.

    Returns the columns of the events, then those of the relation without its key.
    """
    source = read_input(events, "events", as_names(on, "on"), None)
    session = events.sparkSession
    checks.text(suffix, "suffix")
    if events.isStreaming:
        checks.check_upstream(events, "events", figures=LOOKUP)
    if changes is not None:
        _check_changes(events, changes, source)
    check_settings(session, events.isStreaming)
    where = placed(session, buckets, checkpoint)
    allowed = checks.read_budget(budget, where["buckets"])
    if allowed.amount is None:
        raise BadInput("budget must be rows (50_000) or bytes ('64 MB'), got None")
    checks.check_policy(policy, CACHING, [source])
    answered = as_source(relation, source.keys)
    known: dict[str, Any] = {
        "goal": checks.choice(goal, "goal", GOALS),
        "cost": None if cost is None else checks.text(cost, "cost"),
        "how": checks.choice(how, "how", ("left", "inner")),
        "on_missing": checks.choice(on_missing, "on_missing", ("null", "error")),
        "ttl": None if ttl is None else microseconds(ttl, "ttl"),
        "seed": checks.whole(seed, "seed", 0),
        "patience": _patience(timeout, retries, fetch_size),
    }
    if goal == COSTS and cost is None:
        raise BadInput(
            "goal='costs' needs what a row costs to fetch; pass cost=, a column of the relation"
        )
    promised = _ask_relation(answered, events, source, known["patience"])  # after all other checks
    if cost is not None:
        _check_cost(cost, answered, promised)
    plan = LookupPlan(
        events=source,
        source=answered,
        promised=promised,
        columns=_new_names(source, answered, promised, suffix),
        budget=allowed.amount,
        in_bytes=allowed.in_bytes,
        policy=policy,
        **known,
        **where,
    )
    try:  # the smallest share must have room for a row
        plan.engine(plan.buckets - 1)
    except TooSmall as small:
        raise checks.too_small(budget, plan, small.least) from None
    check_checkpoint(session, checkpoint, plan, events.isStreaming)
    return _run(plan, events, changes)


def _patience(timeout: Span, retries: int, fetch_size: int) -> Patience:
    seconds = microseconds(timeout, "timeout") / 1e6
    if seconds <= 0:
        raise BadInput(f"timeout must be greater than 0, got {timeout!r}")
    return Patience(
        checks.whole(fetch_size, "fetch_size", 1), seconds, checks.whole(retries, "retries", 0)
    )


def _check_changes(events: DataFrame, changes: DataFrame, source: Input) -> None:
    changed = read_input(changes, "changes", source.keys, None)
    if not events.isStreaming or not changes.isStreaming:
        raise BadInput(
            "changes= needs streams: a batch of events caches nothing for long; leave it out, or "
            "read both frames with readStream"
        )
    checks.check_upstream(changes, "changes", figures=LOOKUP)
    check_same_types({"events": source, "changes": changed})


def _ask_relation(
    relation: RowSource, events: DataFrame, source: Input, patience: Patience
) -> pa.Schema:
    """Ask the relation for its columns, once; this also tells whether it can be reached."""
    once = patience._replace(retries=0)
    kinds = [arrow_type(events.schema[name].dataType) for name in source.keys]
    way_out = "check that it can be reached from here before the query starts"
    schema = ask(lambda: relation.schema(kinds), once, relation, now, way_out=way_out).answer
    for name in relation.keys:
        if name not in schema.names:
            raise BadInput(
                f"the answer of {relation.name} lacks the key column {name!r}; it has "
                f"{', '.join(schema.names) or 'no columns'}"
            )
    fields = [_spark_type(field, relation) for field in schema]
    _check_key_types(events, source, relation, dict(zip(schema.names, fields, strict=True)))
    if len(fields) == len(relation.keys):
        raise BadInput(f"{relation.name} has no column beside its key; name some in columns=")
    if ask(relation.is_empty, once, relation, now, way_out=way_out).answer:
        checks.warn_user(f"{relation.name} of the relation is empty: no event will find a row")
    promised = [
        pa.field(name, arrow_type(kind)) for name, kind in zip(schema.names, fields, strict=True)
    ]
    return pa.schema(promised)


def _spark_type(field: pa.Field, relation: RowSource) -> T.DataType:
    kind = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
    if pa.types.is_timestamp(kind):  # Spark counts microseconds, whatever others count
        kind = pa.timestamp("us", kind.tz)
    try:
        return from_arrow_type(kind, prefer_timestamp_ntz=True)
    except Exception:
        raise BadInput(
            f"column {field.name!r} of {relation.name} has the type {field.type}, which Spark does "
            "not have; cast it in query=, or leave it out with columns="
        ) from None


def _check_key_types(
    events: DataFrame, source: Input, relation: RowSource, kinds: dict[str, T.DataType]
) -> None:
    for mine, theirs in zip(source.keys, relation.keys, strict=True):
        here, there = events.schema[mine].dataType, kinds[theirs]
        if isinstance(here, EXACT) and isinstance(there, EXACT):
            continue  # whole numbers of any width are compared as numbers
        if here.simpleString() != there.simpleString():
            raise BadInput(
                f"the key must have one type, got {here.simpleString()} in column {mine!r} of the "
                f"events frame and {there.simpleString()} in column {theirs!r} of "
                f"{relation.name}; cast one of them"
            )


def _check_cost(cost: str, relation: RowSource, promised: pa.Schema) -> None:
    """Refuse a column of costs that the relation does not have, or that has no whole numbers."""
    names = [name for name in promised.names if name not in relation.keys]
    if cost not in names:
        raise BadInput(
            f"cost must name a column of {relation.name} beside its key, got {cost!r}; "
            f"{nearest(cost, names)}"
        )
    kind = promised.field(cost).type
    if not pa.types.is_integer(kind):
        raise BadInput(
            f"cost must name a column of whole numbers, and {cost!r} of {relation.name} has the "
            f"type {kind}; cast it to bigint"
        )


def _new_names(
    source: Input, relation: RowSource, promised: pa.Schema, suffix: str
) -> tuple[tuple[str, str], ...]:
    """Return how the relation's columns are called in the result."""
    wanted = [name for name in promised.names if name not in relation.keys]
    taken = {name.lower() for name in source.names}
    columns = [(name, name + suffix if name.lower() in taken else name) for name in wanted]
    names = [name.lower() for name in (*source.names, *(new for _, new in columns))]
    for _, new in columns:
        if names.count(new.lower()) > 1:
            raise BadInput(
                f"the result would have the column {new!r} twice; rename it in the events, or pass "
                "another suffix="
            )
    return tuple(columns)


def _run(plan: LookupPlan, events: DataFrame, changes: DataFrame | None) -> DataFrame:
    bare = Input(plan.events.keys, None, (), (), plan.events.exact)  # only the key of a change
    frames = [events] if changes is None else [events, changes]
    packets = pack(frames, [plan.events, bare][: len(frames)], plan.labels)
    kernels = lookup_kernels(plan, events.sparkSession)
    kinds = {f.name: f.dataType for f in events.schema.fields}
    for name, new in plan.columns:
        kinds[new] = from_arrow_type(plan.promised.field(name).type, prefer_timestamp_ntz=True)
    schema = fields_of(kinds)
    rows = plain_rows(schema) if events.isStreaming else None
    work = Work(LookupBucket, plan, lookup_counters(), kernels=kernels, rows=rows)
    results = run_buckets(packets, work)
    if events.isStreaming:
        results = observed_lookup(results, plan)
    return rows_of(results, schema)
