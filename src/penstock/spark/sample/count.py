"""Frequent keys of a batch DataFrame: a lossy counter per partition, merged after a tiny shuffle.

Every partition sends one row: its counts, and one real key for each of them. A counter identifies
keys by 64 bits: a whole number stands for itself, anything else for its hash.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ...profile.lossy import LossyCounter, check_support, share
from .. import frames
from ..runtime.arrow import from_ipc, to_ipc
from ..runtime.packets import end_task, partition
from ..session import check_workers

SCHEMA = "place long, packet binary"
COUNTS = ("count", "lowest", "highest")
ID, COUNT, SLACK, SEEN = "id", "count", "slack", "seen"


def count(
    frame: DataFrame, key: str | list[str], support: float, epsilon: float | None = None
) -> DataFrame:
    """Return the keys that make up at least a share of `support` of the rows, with their counts.

    Parameters:
        frame: a batch frame.
        key: a column or several, of any type that can be grouped by but maps, variants and texts
            with a collation. Rows where one of them is null are left out, of the number of rows
            too.
        support: the share, above epsilon and at most 1.
        epsilon: counts are wrong by at most this share of the rows; a tenth of the support by
            default.

    Returns the columns of the key; `count` and `lowest`: the key came at least so often;
    `highest`: and at most so often. No key with that share is left out, and none is returned whose
    share is below support - epsilon. The hashes of two different keys could be equal and their
    counts be added up: with a billion keys, of which a thousand are frequent, the chance of that
    happening to a frequent one is below 1 in 10 million. One column of whole numbers is not hashed.
    """
    keys = frames.as_names(key, "key")
    error = share("support", support, "at most 1") / 10 if epsilon is None else epsilon
    check_support(support, error)
    frames.check_columns(frame, "given", keys)
    frames.refuse_stream(frame, "count", "count each batch in foreachBatch")
    frames.refuse_result_names(keys, COUNTS)
    frames.check_keys(frame, "given", keys, "key")
    check_workers(frame.sparkSession)
    short = [f"key_{number}" for number in range(len(keys))]  # names may hold dots
    columns = [F.col(frames.quote(name)) for name in keys]
    rows = frame.select(
        frames.hashed_key(frame, keys, frames.is_exact(frame, keys)).alias(ID),
        *(column.alias(name) for column, name in zip(columns, short, strict=True)),
    )
    packets = rows.where(F.col(ID).isNotNull()).mapInArrow(_counter(str(error)), SCHEMA)
    kinds = {s: frame.schema[name].dataType for s, name in zip(short, keys, strict=True)}
    counts = frames.fields_of(dict.fromkeys(COUNTS, T.LongType()), nullable=False)
    schema = T.StructType(frames.fields_of(kinds).fields + counts.fields)
    merged = packets.groupBy().applyInArrow(_merger(str(error), str(support)), schema)
    return merged.toDF(*keys, *COUNTS)


def _counter(epsilon: str) -> Callable:
    """Return the function for `mapInArrow` that counts the rows of one partition."""

    def partial(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counter = LossyCounter(Fraction(epsilon))
        known: pa.Table | None = None  # a row for each key that is held
        for batch in batches:
            if batch.num_rows:
                counter.push(batch.column(0).to_numpy(zero_copy_only=False))
                known = _keep(counter.save()["key"], known, pa.Table.from_batches([batch]))
        if known is not None:
            yield pa.record_batch({"place": [partition()], "packet": [_pack(counter, known)]})
        end_task()

    return partial


def _keep(held: np.ndarray, known: pa.Table | None, batch: pa.Table) -> pa.Table:
    """Return one row for each id in `held`: from those known, or from the batch it came with."""
    if known is not None:
        before = known[ID].to_numpy()
        known = known.filter(pa.array(np.isin(before, held)))
        held = np.setdiff1d(held, before, assume_unique=True)
    ids = batch[ID].to_numpy()
    found = np.flatnonzero(np.isin(ids, held))
    _, first = np.unique(ids[found], return_index=True)
    fresh = batch.take(pa.array(found[first]))
    return fresh if known is None else pa.concat_tables([known, fresh]).combine_chunks()


def _pack(counter: LossyCounter, known: pa.Table) -> bytes:
    saved = counter.save()
    table = known.take(pa.array(np.argsort(known[ID].to_numpy())))  # the order of `save`
    for name in (COUNT, SLACK):
        table = table.append_column(name, pa.array(saved[name]))
    return to_ipc(table.replace_schema_metadata({SEEN: str(counter.seen)}))


def _merger(epsilon: str, support: str) -> Callable:
    """Return the function for `applyInArrow` that merges the counts of all partitions."""

    def merge(packets: pa.Table) -> pa.Table:
        total = LossyCounter(Fraction(epsilon))
        tables = []
        packets = packets.sort_by("place")  # the shuffle brings them in any order
        for packet in packets["packet"]:
            table = from_ipc(packet.as_buffer())
            seen = int(table.schema.metadata[SEEN.encode()])
            counts = (table[name].to_numpy() for name in (ID, COUNT, SLACK))
            total.merge(LossyCounter.of(Fraction(epsilon), seen, *counts))
            tables.append(table.drop_columns([COUNT, SLACK]).replace_schema_metadata())
        found = total.frequent(Fraction(support))
        known = pa.concat_tables(tables)
        ids, first = np.unique(known[ID].to_numpy(), return_index=True)
        rows = known.take(pa.array(first[np.searchsorted(ids, found.key)])).drop_columns([ID])
        for name, values in zip(COUNTS, (found.lowest, found.lowest, found.highest), strict=True):
            rows = rows.append_column(name, pa.array(values))
        return rows

    return merge
