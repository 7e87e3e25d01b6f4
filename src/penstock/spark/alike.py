"""Tables of one meaning and different Arrow types: rows held since before a restart, and new ones.

Spark may describe the same column otherwise after a restart: timestamps in another zone, values
that are now promised not to be null, longer offsets. All that is harmless.
"""

import pyarrow as pa


def concatenated(tables: list[pa.Table]) -> pa.Table:
    """Return the rows of all tables, with the columns of the last one, which is the newest.

    >>> old = pa.table({"t": pa.array([0], pa.timestamp("us", "Europe/Berlin"))})
    >>> new = pa.table({"t": pa.array([1], pa.timestamp("us", "Asia/Tokyo"))})
    >>> concatenated([old, new]).schema.field("t").type
    TimestampType(timestamp[us, tz=UTC])
    """
    newest = tables[-1].schema
    if all(table.schema.equals(newest) for table in tables):
        return pa.concat_tables(tables)
    common = pa.schema([_relaxed_field(field) for field in newest])
    return pa.concat_tables([fitted(table, common) for table in tables])


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the columns of a schema, which may have other types of one meaning."""
    if table.schema.equals(schema, check_metadata=True):
        return table
    return table.select(schema.names).cast(schema)


def relaxed(kind: pa.DataType) -> pa.DataType:
    """Return a type of the same values that promises least.

    >>> relaxed(pa.struct([pa.field("a", pa.list_(pa.field("x", pa.int8(), False)), False)]))
    StructType(struct<a: list<x: int8>>)
    """
    if pa.types.is_timestamp(kind):
        return kind if kind.tz is None else pa.timestamp(kind.unit, "UTC")
    if pa.types.is_dictionary(kind):
        return relaxed(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([_relaxed_field(field) for field in kind])
    if pa.types.is_map(kind):
        key = pa.field(kind.key_field.name, relaxed(kind.key_type), False)
        return pa.map_(key, _relaxed_field(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_relaxed_field(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_relaxed_field(kind.value_field))
    return kind


def _relaxed_field(field: pa.Field) -> pa.Field:
    return field.with_type(relaxed(field.type)).with_nullable(True)
