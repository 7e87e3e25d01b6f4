"""Look the rows of events up in a relation through a cache: a DataFrame in, a DataFrame out."""

import os
import warnings
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

from .. import policies
from ..errors import BadInput
from ..kernel.durations import microseconds
from ..relations import Patience, Source, as_source
from ..relations.fetching import ask
from .checks import Span, check_upstream, choice, read_budget, text, whole
from .figures import observed_lookup
from .frames import EXACT, Input, Names, as_names, check_frame, read_input
from .plan import LookupPlan, placed
from .runtime.journal import check_checkpoint
from .runtime.kernels import kernels_for
from .runtime.lookup_bucket import CHANGES, EVENTS, LookupBucket, lookup_counters, now
from .runtime.operator import Work, run_buckets
from .runtime.packets import pack, unpack
from .session import check_settings

DEFAULT = policies.DEFAULT


def lookup(
    events: DataFrame,
    relation: Any,
    on: Names,
    *,
    budget: int | str,
    policy: str = DEFAULT,
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
        relation: a `Relation`, or a function `fetch(keys: pa.Array) -> pa.Table`.
        on: the key column of the events, or several.
        budget: rows (50_000) or bytes ("64 MB") of the relation that may be cached.
        policy: what stays cached; see `penstock policies`.
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
    check_frame(events, "events")
    source = read_input(events, "events", as_names(on, "on"), None)
    text(suffix, "suffix")
    if events.isStreaming:
        check_upstream(events, "events")
    if changes is not None:
        _check_changes(events, changes, source)
    where = placed(events.sparkSession, buckets, checkpoint)
    chosen = _options(events, source, budget, policy, how, on_missing, ttl, where, seed)
    patience = _patience(timeout, retries, fetch_size)
    found = _ask_relation(as_source(relation, source.keys), events, source, patience)
    plan = LookupPlan(
        events=source,
        source=found[0],
        promised=found[1],
        columns=_new_names(source, found[0], found[1], suffix),
        patience=patience,
        **chosen,
    )
    _check_room(plan)
    check_checkpoint(
        events.sparkSession, checkpoint, plan.fingerprint, "lookup", events.isStreaming
    )
    return _run(plan, events, changes)


def _options(
    events: DataFrame,
    source: Input,
    budget: int | str,
    policy: str,
    how: str,
    on_missing: str,
    ttl: Span | None,
    where: dict[str, Any],
    seed: int,
) -> dict[str, Any]:
    """Return what can be checked without asking the relation."""
    check_settings(events.sparkSession, events.isStreaming)
    amount = read_budget(budget, where["buckets"])
    if amount.amount is None:
        raise BadInput("budget must be rows (50_000) or bytes ('64 MB'), got None")
    chosen = policies.choose(policy, "caching").policy
    if chosen.ordered and not source.exact:
        raise BadInput(
            f"policy {chosen.name!r} goes by the order of keys, so on must name one column of "
            f"whole numbers, got {', '.join(source.keys)}; number the keys, or choose another "
            "policy"
        )
    return {
        "how": choice(how, "how", ("left", "inner")),
        "on_missing": choice(on_missing, "on_missing", ("null", "error")),
        "ttl": None if ttl is None else microseconds(ttl, "ttl"),
        "budget": amount.amount,
        "in_bytes": amount.in_bytes,
        "policy": policy,
        "seed": whole(seed, "seed", 0),
        **where,
    }


def _patience(timeout: Span, retries: int, fetch_size: int) -> Patience:
    seconds = microseconds(timeout, "timeout") / 1e6
    if seconds <= 0:
        raise BadInput(f"timeout must be longer than nothing, got {timeout!r}")
    return Patience(whole(fetch_size, "fetch_size", 1), seconds, whole(retries, "retries", 0))


def _check_changes(events: DataFrame, changes: DataFrame, source: Input) -> None:
    check_frame(changes, "changes")
    read_input(changes, "changes", source.keys, None)
    if not events.isStreaming or not changes.isStreaming:
        raise BadInput(
            "changes= needs streams: a batch of events caches nothing for long; leave it out, or "
            "read both frames with readStream"
        )
    check_upstream(changes, "changes")
    for name in source.keys:
        kinds = [frame.schema[name].dataType.simpleString() for frame in (events, changes)]
        if kinds[0] != kinds[1]:
            raise BadInput(
                f"key column {name!r} must have one type in both frames, got {kinds[0]} in the "
                f"events frame and {kinds[1]} in the changes frame; cast one of them"
            )


def _ask_relation(
    relation: Source, events: DataFrame, source: Input, patience: Patience
) -> tuple[Source, pa.Schema]:
    """Ask the relation for its columns, once; this also tells whether it can be reached."""
    once = patience._replace(retries=0)
    kinds = [to_arrow_type(events.schema[name].dataType, timezone="UTC") for name in source.keys]
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
        warnings.warn(
            f"{relation.name} of the relation is empty: no event will find a row", stacklevel=4
        )
    promised = [
        pa.field(name, to_arrow_type(kind, timezone="UTC"))
        for name, kind in zip(schema.names, fields, strict=True)
    ]
    return relation, pa.schema(promised)


def _spark_type(field: pa.Field, relation: Source) -> T.DataType:
    kind = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
    if pa.types.is_timestamp(kind):  # Spark counts microseconds, whatever others count
        kind = pa.timestamp("us", kind.tz)
    try:
        return from_arrow_type(kind, prefer_timestamp_ntz=True)
    except Exception:
        raise BadInput(
            f"column {field.name!r} of {relation.name} has the type {field.type}, which Spark has "
            "not; cast it in query=, or leave it out by columns="
        ) from None


def _check_key_types(
    events: DataFrame, source: Input, relation: Source, kinds: dict[str, T.DataType]
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


def _new_names(
    source: Input, relation: Source, promised: pa.Schema, suffix: str
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


def _check_room(plan: LookupPlan) -> None:
    """Refuse a budget that no row fits into."""
    plan.engine(plan.buckets - 1).push([], size=[])  # which has the smallest share


def _run(plan: LookupPlan, events: DataFrame, changes: DataFrame | None) -> DataFrame:
    packets = pack(events, plan.events, EVENTS, plan)
    if changes is not None:
        # Only the key matters of a change.
        bare = Input(plan.events.keys, None, (), (), plan.events.exact)
        packets = packets.unionByName(pack(changes, bare, CHANGES, plan))
    kernels = kernels_for(plan.engine(0), events.sparkSession)
    work = Work(LookupBucket, plan, lookup_counters(), kernels=kernels)
    results = run_buckets(packets, work, events.isStreaming)
    if events.isStreaming:
        results = observed_lookup(results, plan)
    fields = [T.StructField(f.name, f.dataType) for f in events.schema.fields]
    for name, new in plan.columns:
        kind = from_arrow_type(plan.promised.field(name).type, prefer_timestamp_ntz=True)
        fields.append(T.StructField(new, kind))
    return results.select("join", "packet").mapInArrow(unpack, T.StructType(fields))
