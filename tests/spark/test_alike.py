"""Rows held since before a restart, and new ones of which Spark says the same in other words."""

from dataclasses import replace

import pyarrow as pa
import pytest

from penstock.spark.frames import KEY, Input
from penstock.spark.runtime.arrow import concatenated, fitted, from_ipc, relaxed, to_ipc
from penstock.spark.runtime.join_bucket import JoinBucket
from tests.spark.plans import make_plan, take

BERLIN, UTC = pa.timestamp("us", "Europe/Berlin"), pa.timestamp("us", "UTC")
PROMISED = pa.struct([pa.field("a", pa.int32(), False)])
OPEN = pa.struct([pa.field("a", pa.int32())])

TYPES = {
    "time zone": (BERLIN, UTC, [1, None]),
    "nested time zone": (pa.list_(BERLIN), pa.list_(UTC), [[1], None]),
    "promised field": (OPEN, PROMISED, [{"a": 1}, {"a": None}]),
    "broken promise": (PROMISED, OPEN, [{"a": 1}, None]),
    "promised element": (
        pa.list_(pa.field("element", pa.int8())),
        pa.list_(pa.field("element", pa.int8(), False)),
        [[1, None], None],
    ),
    "promised value": (
        pa.map_(pa.string(), pa.field("value", OPEN)),
        pa.map_(pa.string(), pa.field("value", PROMISED, False)),
        [[("x", {"a": None})], []],
    ),
    "wide offsets": (pa.string(), pa.large_string(), ["x", None]),
    "narrow offsets": (pa.large_string(), pa.string(), ["x", None]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), pa.string(), ["x", None]),
}


@pytest.mark.parametrize("case", TYPES)
def test_both_ways(case):
    old, new, some = TYPES[case]
    tables = [pa.table({"x": pa.array(some, old)}), pa.table({"x": pa.array(some[:1], new)})]
    for pair in (tables, tables[::-1]):
        both = concatenated(pair)
        expected = [
            value for table in pair for value in fitted(table, both.schema)["x"].to_pylist()
        ]
        assert both["x"].to_pylist() == expected
        assert both.num_rows == 3
        assert relaxed(both.schema.field("x").type) == both.schema.field("x").type


def test_columns_in_another_order():
    both = concatenated([pa.table({"a": [1], "b": ["x"]}), pa.table({"b": ["y"], "a": [2]})])
    assert both.to_pydict() == {"b": ["x", "y"], "a": [1, 2]}


@pytest.mark.parametrize("kind", [pa.null(), OPEN, PROMISED])
def test_nulls_of_structs_whose_parts_are_promised(kind):
    """Spark promises the parts of every variant, also of one that is null."""
    rows = [None, {"a": 1}, None, {"a": 2}, None]
    rows = [None, None] if pa.types.is_null(kind) else rows
    column = pa.concat_arrays([pa.array([row], kind) if row else pa.nulls(1, kind) for row in rows])
    marked = pa.struct([pa.field("a", pa.int32(), False, {"variant": "true"})])
    for some in (column, column[:0], column[:1], column[1:2]):
        found = fitted(pa.table({"v": some}), pa.schema([("v", marked)]))
        assert found.schema.field("v").type.field("a").metadata == {b"variant": b"true"}
        assert from_ipc(to_ipc(found))["v"].to_pylist() == some.to_pylist()


def test_equal_types_stay_as_they_are():
    table = pa.table({"x": pa.array([{"a": 1}], PROMISED)})
    assert concatenated([table, table]).schema.equals(table.schema)


SOURCE = Input(("k",), "ts", ("k", "ts", "x"), ("bigint", "timestamp", "any"), True)
OUTPUT = (((0, "k", "k"), (0, "x", "x0"), (1, "x", "x1")),)
PLAN = replace(make_plan(), inputs=(SOURCE, SOURCE), output=OUTPUT)


def packet(key: int, time: int, value, kind: pa.DataType) -> bytes:
    columns = {
        KEY: pa.array([key], pa.int64()),
        "ts": pa.array([time], pa.int64()).cast(UTC),
        "x": pa.array([value], kind),
    }
    return to_ipc(pa.table(columns))


@pytest.mark.parametrize("case", TYPES)
def test_a_bucket_goes_on(case):
    old, new, some = TYPES[case]
    first = take(JoinBucket(PLAN, 0), [(0, packet(1, 0, some[1], old))])
    second = take(
        JoinBucket(PLAN, 0, first.state),
        [(0, packet(1, 1, some[0], new)), (1, packet(1, 2, some[0], new))],
    )
    third = take(JoinBucket(PLAN, 0, second.state), [(1, packet(1, 3, some[0], new))])
    for outcome in (second, third):  # with the row held since before the restart, and the new one
        tables = [from_ipc(packet.rows) for packet in outcome.packets]
        found = [repr(value) for table in tables for value in table.column("x0").to_pylist()]
        assert sorted(found) == sorted(map(repr, held(some, old, new)))


def held(some: list, old: pa.DataType, new: pa.DataType) -> list:
    """Return the two values as they are read from a column of the new type."""
    parts = [pa.table({"x": pa.array([some[1]], old)}), pa.table({"x": pa.array(some[:1], new)})]
    return concatenated(parts)["x"].to_pylist()
