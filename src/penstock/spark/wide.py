"""Columns of more than 2 GB: Arrow's usual types for texts and lists count in 32 bits.

Such columns are held in the types that count in 64 bits, and marked. What leaves again, to Spark or
into the state, is of the usual types wherever it fits.
"""

from typing import Any

import pyarrow as pa

MOST = 2**31 - 1  # bytes, or list items, in one array of a usual type
MARK = {b"penstock": b"wide"}


def widened(tables: list[pa.Table]) -> list[pa.Table]:
    """Return tables that can be put together: columns too long for their type get a wide one."""
    if sum(table.nbytes for table in tables) <= MOST and not any(map(_is_marked, tables)):
        return tables
    wide = [
        name
        for name in tables[0].column_names
        if sum(table.column(name).nbytes for table in tables) > MOST
        or any(is_wide(table.schema.field(name)) for table in tables)
    ]
    return [_recast(table, wide, _widen, MARK) for table in tables]


def narrowed(table: pa.Table) -> pa.Table:
    """Return a table with the usual types again where they suffice."""
    marked = [field.name for field in table.schema if is_wide(field)]
    fitting = [name for name in marked if table.column(name).nbytes <= MOST]
    return _recast(table, fitting, _narrow, None) if fitting else table


def take_column(table: pa.Table, column: str | int, rows: pa.Array) -> pa.ChunkedArray:
    """Return some rows of a column, few enough for its usual type."""
    taken = table.column(column).take(rows)
    return taken.cast(_narrow(taken.type)) if is_wide(table.schema.field(column)) else taken


def is_wide(field: pa.Field) -> bool:
    """Tell whether a column was widened here."""
    return field.metadata is not None and MARK.items() <= field.metadata.items()


def _is_marked(table: pa.Table) -> bool:
    return any(map(is_wide, table.schema))


def _recast(table: pa.Table, names: list[str], change: Any, mark: Any) -> pa.Table:
    for place, field in enumerate(table.schema):
        if field.name in names:
            kind = change(field.type)
            new = pa.field(field.name, kind, field.nullable, mark)
            table = table.set_column(place, new, table.column(place).cast(kind))
    return table


def _widen(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_binary(kind):
        return pa.large_binary()
    if pa.types.is_list(kind):
        return pa.large_list(_inside(kind.value_field, _widen))
    return _nested(kind, _widen)


def _narrow(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_large_list(kind):
        return pa.list_(_inside(kind.value_field, _narrow))
    return _nested(kind, _narrow)


def _nested(kind: pa.DataType, change: Any) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_inside(field, change) for field in kind])
    if pa.types.is_map(kind):  # its entries are counted in 32 bits in any case
        return pa.map_(_inside(kind.key_field, change), _inside(kind.item_field, change))
    return kind


def _inside(field: pa.Field, change: Any) -> pa.Field:
    return field.with_type(change(field.type))
