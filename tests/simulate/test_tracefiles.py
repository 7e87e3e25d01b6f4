"""Trace files: what is read is what was written, and every fault has its sentence."""

import csv
import datetime as dt
import gzip
import os
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.simulate import tracefiles
from penstock.simulate.columns import first_bad
from penstock.simulate.tracefiles import read_join, read_lookup
from tests.marks import UNFIT

ENDINGS = [".csv", ".csv.gz", ".parquet", ".parquet.gz"]


def put(folder, text, name="trace.csv"):
    """Write text or bytes, gzipped where the name says so, and return the path."""
    raw = text if isinstance(text, bytes) else text.encode()
    path = Path(folder, name)
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


def put_table(folder, columns, ending=".parquet", name="trace"):
    """Write columns in the format that the ending names, and return the path."""
    path = Path(folder, name + ending)
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    sink = pa.BufferOutputStream()
    if ".parquet" in ending:
        pq.write_table(table, sink)
    else:
        pa.csv.write_csv(table, sink)
    return put(folder, sink.getvalue().to_pybytes(), path.name)


def same_as(values):
    """The ids that equal values should get: numbered in the order of first appearance."""
    seen = {}
    return [seen.setdefault(value, len(seen)) for value in values]


# What is read


@pytest.mark.parametrize("ending", ENDINGS)
def test_round_trip(tmp_path, ending):
    columns = {"key": [7, -3, 7], "side": ["b", "a", "b"], "time": [5, 5, 9], "other": ["NA"] * 3}
    path = put_table(tmp_path, columns, ending)
    trace = read_join(path)
    assert trace.key.tolist() == trace.value.tolist() == [7, -3, 7]
    assert trace.side.tolist() == [1, 0, 1]
    assert trace.time.tolist() == [5, 5, 9]
    assert (trace.end, trace.together, trace.streams) == (None, False, 2)
    assert trace.name == f"trace{ending}"
    assert read_lookup(path).key.tolist() == [7, -3, 7]
    assert read_lookup(str(path)).name == f"trace{ending}"


@pytest.mark.parametrize("ending", ENDINGS)
def test_keys_of_text(tmp_path, ending):
    trace = read_lookup(put_table(tmp_path, {"key": ["ann", "bob", "ann", "NA"]}, ending))
    assert trace.key.tolist() == [0, 1, 0, 2]
    assert trace.value is None


@pytest.mark.parametrize("ending", ENDINGS)
def test_keys_of_floats(tmp_path, ending):
    trace = read_lookup(put_table(tmp_path, {"key": [38.1, 20.0, 38.1, -0.0, 0.0]}, ending))
    assert trace.key.tolist() == [0, 1, 0, 2, 2]
    assert trace.value.tolist() == [38.1, 20.0, 38.1, 0.0, 0.0]


@pytest.mark.parametrize("ending", ENDINGS)
def test_keys_of_timestamps(tmp_path, ending):
    early, late = dt.datetime(2026, 1, 1, 8), dt.datetime(2026, 1, 1, 8, 0, 1)
    trace = read_lookup(put_table(tmp_path, {"key": [late, early, late]}, ending))
    assert trace.key.tolist() == [0, 1, 0]


@pytest.mark.parametrize("ending", ENDINGS)
def test_composite_keys(tmp_path, ending):
    columns = {"symbol": ["A", "B", "A", "B", "A"], "price": [1.5, 1.5, 1.5, 2.5, 2.5]}
    path = put_table(tmp_path, columns, ending)
    trace = read_lookup(path, key="symbol, price")
    assert trace.key.tolist() == [0, 1, 0, 2, 3]
    assert trace.value is None
    assert read_lookup(path, key="price,symbol").key.tolist() == [0, 1, 0, 2, 3]


@settings(deadline=None, suppress_health_check=UNFIT)
@given(rows=st.lists(st.tuples(*[st.integers(-2, 2)] * 3), min_size=1, max_size=60))
def test_composite_ids_are_equal_where_all_columns_are(tmp_path, rows):
    columns = dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True))
    assert read_lookup(put_table(tmp_path, columns), key="a,b,c").key.tolist() == same_as(rows)


@settings(deadline=None, suppress_health_check=UNFIT)
@given(names=st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=30))
def test_any_text_is_an_exact_key(tmp_path, names):
    assert read_lookup(put_table(tmp_path, {"key": names})).key.tolist() == same_as(names)


@settings(deadline=None, suppress_health_check=UNFIT)
@given(names=st.lists(st.text('ab,"\n', min_size=1, max_size=3), min_size=1, max_size=30))
def test_any_quoted_text_is_an_exact_key(tmp_path, names):
    path = Path(tmp_path, "trace.csv")
    with path.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["n", "key"], *([1, n] for n in names)])
    assert read_lookup(path).key.tolist() == same_as(names)


def test_a_column_name_with_a_comma_is_one_column(tmp_path):
    assert read_lookup(put(tmp_path, '"a,b",c\n4,1\n5,1\n'), key="a,b").key.tolist() == [4, 5]


def test_numbers_beyond_64_bits_stay_apart(tmp_path):
    text = "key\n18446744073709551615\n18446744073709551614\n18446744073709551615\n"
    assert read_lookup(put(tmp_path, text)).key.tolist() == [0, 1, 0]
    assert read_lookup(
        put(tmp_path, "key\n9007199254740993\n1.5\n9007199254740992\n")
    ).key.tolist() == [0, 1, 2]
    unsigned = pa.array([2**64 - 1, 2**64 - 2, 2**64 - 1], pa.uint64())
    assert read_lookup(put_table(tmp_path, {"key": unsigned})).key.tolist() == [0, 1, 0]
    small = pa.array([3, 250], pa.uint8())
    assert read_lookup(put_table(tmp_path, {"key": small})).key.tolist() == [3, 250]
    assert read_lookup(put(tmp_path, f"key\n{2**63 - 1}\n{-(2**63)}\n")).key.tolist() == [
        2**63 - 1,
        -(2**63),
    ]


def test_words_for_yes_and_the_number_one_are_different_keys(tmp_path):
    assert read_lookup(put(tmp_path, "key\ntrue\n1\nfalse\n0\n")).key.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True, False, True]),
        pa.array([Decimal("1.10"), Decimal("2.20"), Decimal("1.10")]),
        pa.array([b"a\xff", b"a", b"a\xff"]),
        pa.array(["x", "y", "x"]).dictionary_encode(),
        pa.array(["x", "y", "x"], pa.large_string()),
        pa.array([1.5, 2.5, 1.5], pa.float32()),
        pa.array(np.array([1.5, 2.5, 1.5], np.float16)),
        pa.array([b"0" * 16, b"1" * 16, b"0" * 16], pa.uuid()),
        pa.array([b"ab", b"cd", b"ab"], pa.binary(2)),
        pa.array([1, 2, 1], pa.date32()),
        pa.array([1, 2, 1], pa.timestamp("ns", "Europe/Berlin")),
    ],
    ids=lambda column: str(column.type),
)
def test_keys_of_every_parquet_type(tmp_path, column):
    assert read_lookup(put_table(tmp_path, {"key": column})).key.tolist() == [0, 1, 0]


def test_other_columns_may_hold_anything(tmp_path):
    raw = b'key,note,x\n1,NA,\xff\xfe\n2,"two\nlines",\n1,,3\n'
    assert read_lookup(put(tmp_path, raw)).key.tolist() == [1, 2, 1]
    lists = {"key": [1, 2], "x": [[1], None], "y": [None, float("nan")]}
    assert read_lookup(put_table(tmp_path, lists)).key.tolist() == [1, 2]


@pytest.mark.parametrize("name", ["trace.csv", "TRACE.CSV", "a.b.csv.gz", "trace.CSV.gz"])
def test_byte_order_mark_line_ends_and_blank_lines(tmp_path, name):
    raw = "\ufeff\r\nkey,b\r\n1,2\r\n\r\n3,4".encode()
    path = put(tmp_path, raw, name)
    assert read_lookup(path).key.tolist() == [1, 3]


def test_a_late_word_makes_the_whole_column_text(tmp_path, monkeypatch):
    monkeypatch.setattr(tracefiles, "BLOCK", 1000)  # the parser guesses types block by block
    trace = read_lookup(put(tmp_path, "key\n" + "1\n" * 5000 + "x\n"))
    assert (len(trace), trace.key[0], trace.key[-1]) == (5001, 0, 1)


def test_a_row_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(tracefiles, "BLOCK", 1000)
    path = put(tmp_path, f"key,note\n1,{'x' * 900}\n2,y\n")
    assert read_lookup(path).key.tolist() == [1, 2]
    path = put(tmp_path, f"key,note\n1,{'x' * 5000}\n2,y\n")
    assert "cannot be read as csv, it may be cut off or damaged" in refused(read_lookup, path)


def test_arrays_can_be_written_to(tmp_path):
    path = put_table(tmp_path, {"key": [1, 2], "side": [0, 1], "time": [1, 2]})
    trace = read_join(path)
    for column in (trace.side, trace.key, trace.time, read_lookup(path).key):
        assert column.flags.writeable
    assert trace.value is trace.key


@pytest.mark.parametrize(
    ("label", "side"),
    [
        ([0, 1, 0], [0, 1, 0]),
        ([10, 9, 10], [1, 0, 1]),
        (["R", "S", "R"], [0, 1, 0]),
        (["trades", "orders", "orders"], [1, 0, 0]),
        ([True, False, True], [1, 0, 1]),
        ([1.0, 0.0, 0.0], [1, 0, 0]),
    ],
)
@pytest.mark.parametrize("ending", ENDINGS)
def test_sides(tmp_path, label, side, ending):
    trace = read_join(put_table(tmp_path, {"key": [1, 2, 3], "which": label}, ending), side="which")
    assert trace.side.tolist() == side


def test_sides_as_a_dictionary(tmp_path):
    path = put_table(tmp_path, {"key": [1, 2], "side": pa.array(["b", "a"]).dictionary_encode()})
    assert read_join(path).side.tolist() == [1, 0]


def timed(folder, times, ending=".parquet", name="at"):
    path = put_table(folder, {"key": [1, 2], "side": [0, 1], name: times}, ending)
    return read_join(path, time=name).time.tolist()


@pytest.mark.parametrize("ending", ENDINGS)
def test_times(tmp_path, ending):
    second = 1_767_225_600  # 2026-01-01
    day, noon = dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, 12, 0, 0, 250_000)
    assert timed(tmp_path, [5, 7], ending) == [5, 7]
    assert timed(tmp_path, [5.0, 7.0], ending) == [5, 7]
    assert timed(tmp_path, [5.0, 7.5], ending) == [5_000_000, 7_500_000]
    assert timed(tmp_path, [second + 0.125, second + 0.25], ending) == [
        second * 10**6 + 125_000,
        second * 10**6 + 250_000,
    ]
    assert timed(tmp_path, [day, noon], ending) == [
        second * 10**6,
        (second + 12 * 3600) * 10**6 + 250_000,
    ]
    assert timed(tmp_path, [day.date(), day.date()], ending) == [second * 10**6] * 2
    texts = ["2026-01-01T00:00:00Z", "2026-01-01T02:00:00+01:00"]
    assert timed(tmp_path, texts, ending) == [second * 10**6, (second + 3600) * 10**6]
    assert timed(tmp_path, ["00:01:00", "00:02:00"], ".csv") == [60 * 10**6, 120 * 10**6]


@pytest.mark.parametrize(
    ("column", "time"),
    [
        (pa.array([1, 2], pa.timestamp("s", "UTC")), [10**6, 2 * 10**6]),
        (pa.array([1, 2_999], pa.timestamp("ns")), [0, 2]),
        (pa.array([1, 2], pa.duration("ms")), [1000, 2000]),
        (pa.array([0, 86_400_000], pa.date64()), [0, 86_400 * 10**6]),
        (pa.array([1, 2], pa.time32("s")), [10**6, 2 * 10**6]),
        (pa.array([Decimal("0.5"), Decimal("1.0")]), [500_000, 10**6]),
        (pa.array([1, 2], pa.uint64()), [1, 2]),
        (pa.array(["3", "4"]), [3, 4]),
        (pa.array(["3", "4.5"]).dictionary_encode(), [3 * 10**6, 4_500_000]),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_times_of_parquet_types(tmp_path, column, time):
    assert timed(tmp_path, column) == time


def test_which_column_is_the_time(tmp_path):
    path = put(tmp_path, "key,side,time,at\n1,0,5,50\n2,1,6,60\n")
    assert read_join(path).time.tolist() == [5, 6]
    assert read_join(path, time="at").time.tolist() == [50, 60]
    path = put(tmp_path, "key,side,at\n1,0,5\n2,1,4\n")
    assert read_join(path).time.tolist() == [0, 1]
    assert read_join(path, time="key").time.tolist() == [1, 2]


# What is refused


def refused(read, *args, **options):
    """Return the one sentence with which the reader refuses."""
    with pytest.raises(BadInput) as caught:
        read(*args, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("read", [read_join, read_lookup])
def test_missing_file(tmp_path, read):
    path = tmp_path / "absent.csv"
    assert refused(read, path) == f"there is no file {path}; check the path"


def test_folder(tmp_path):
    folder = tmp_path / "parts.parquet"
    folder.mkdir()
    assert "must be one file, got a folder" in refused(read_lookup, folder)


@pytest.mark.parametrize(
    "name", ["trace.txt", "trace", "trace.gz", "trace.csv.zip", "trace.txt.gz"]
)
def test_unknown_ending(tmp_path, name):
    message = refused(read_lookup, put(tmp_path, "key\n1\n", name))
    endings = ".csv, .parquet, .json, .jsonl or .ndjson"
    assert message.startswith(f"a trace file must end in {endings}, then perhaps in .gz")
    assert repr(name) in message


@pytest.mark.parametrize("ending", ENDINGS)
def test_empty_file(tmp_path, ending):
    path = put(tmp_path, b"", "trace" + ending)
    assert refused(read_lookup, path) == f"{path} must hold a table, got an empty file"
    path.write_bytes(b"")
    assert refused(read_lookup, path) == f"{path} must hold a table, got an empty file"


def test_blank_lines_only(tmp_path):
    assert "got only blank lines" in refused(read_lookup, put(tmp_path, "\n\n"))


@pytest.mark.parametrize("ending", ENDINGS)
def test_header_without_rows(tmp_path, ending):
    none = pa.array([], pa.int64())
    path = put_table(tmp_path, {"key": none, "side": none}, ending)
    for read in (read_join, read_lookup):
        assert refused(read, path) == f"{path} must hold at least one row, got a header and no rows"


def test_header_without_line_end(tmp_path):
    assert "got a header and no rows" in refused(read_lookup, put(tmp_path, "key,side"))


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet", ".parquet.gz"])
def test_truncated_file(tmp_path, ending):
    columns = {"key": np.random.default_rng(0).integers(0, 10**9, 5000)}
    path = put_table(tmp_path, columns, ending)
    whole = path.read_bytes()
    for kept in [*range(1, 40), *range(40, len(whole), 1009), *range(len(whole) - 12, len(whole))]:
        path.write_bytes(whole[:kept])
        message = refused(read_lookup, path)
        assert message.startswith(f"{path} cannot be read as ")
        assert message.endswith("write or fetch it again")
        assert "cut off or damaged" in message
    path.write_bytes(whole)
    assert len(read_lookup(path)) == 5000


def test_wrong_contents(tmp_path):
    path = put(tmp_path, "key\n1\n", "trace.parquet")
    assert "cannot be read as parquet, " in refused(read_lookup, path)
    for ending in ("csv", "parquet"):
        path = Path(tmp_path, f"trace.{ending}.gz")
        path.write_text("key\n1\n")
        assert f"cannot be read as gzipped {ending}, " in refused(read_lookup, path)


def test_absent_column(tmp_path):
    path = put(tmp_path, "Date,Temperature\n1,2\n")
    assert refused(read_lookup, path) == (
        f"{path} has no column 'key' for the key; choose one with key=."
        " Its columns: Date, Temperature"
    )
    assert (
        "no column 'Temprature' for the key; did you mean 'Temperature'? Its columns: "
        in refused(read_lookup, path, key="Temprature")
    )
    wide = put(tmp_path, ",".join(f"c{n}" for n in range(40)) + "\n" + ",".join("1" * 40), "w.csv")
    assert refused(read_lookup, wide).endswith(" c28, c29, ...")
    assert "no column 'Year' for the key" in refused(read_lookup, path, key="Date,Year")
    assert "no column 'when' for the time" in refused(read_lookup, path, key="Date", time="when")
    assert "no column 'side' for the side" in refused(read_join, path, key="Date")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_column_twice(tmp_path, ending):
    table = pa.table([pa.array([1]), pa.array([2])], names=["key", "key"])
    path = put_table(tmp_path, table, ending)
    assert f"{path} must have one column 'key' for the key, got 2" in refused(read_lookup, path)


@pytest.mark.parametrize(
    ("text", "got", "row"),
    [
        ("key,b\n1,2\n,2\n", "null", 2),
        ("key,b\n1,2\n2,2\nNA,2\n", "null", 3),
        ("key,b\nNaN,2\n1.5,2\n", "null", 1),
        ("key,b\nx,2\n,2\n", "an empty text", 2),
        ('key\nx\n""\n', "an empty text", 2),
        ("key,b\n,2\n7,2\n", "null", 1),
        (f"key,b\n{2**64},2\nNA,2\n", "null", 2),
    ],
)
def test_key_without_value_in_csv(tmp_path, text, got, row):
    path = put(tmp_path, text)
    assert refused(read_lookup, path) == (
        f"the key column 'key' of {path} must have a value in every row,"
        f" got {got} at row {row}; fill it in or drop the row"
    )


def test_key_without_any_value(tmp_path):
    path = put(tmp_path, "key,b\n,2\n,2\n")
    assert refused(read_lookup, path) == (
        f"the key column 'key' of {path} must hold values, got nothing but gaps; choose another one"
    )


@pytest.mark.parametrize(
    ("column", "got"),
    [
        ([1, None], "null"),
        ([1.5, float("nan")], "NaN"),
        (["a", None], "null"),
        (["a", ""], "an empty text"),
        ([b"a", b""], "empty bytes"),
        (pa.array(["a", None]).dictionary_encode(), "null"),
        ([dt.date(2026, 1, 1), None], "null"),
    ],
)
@pytest.mark.parametrize("role", ["key", "side", "time"])
def test_no_value_in_parquet(tmp_path, column, got, role):
    columns = {"key": [1, 2], "side": [0, 1], "time": [1, 2], role: column}
    message = refused(read_join, put_table(tmp_path, columns))
    assert f"the {role} column '{role}'" in message
    assert f"got {got} at row 2" in message


def test_no_value_in_a_composite_key(tmp_path):
    path = put(tmp_path, "a,b\n1,2\n1,\n")
    assert "the key column 'b'" in refused(read_lookup, path, key="a,b")


def test_nested_key(tmp_path):
    path = put_table(tmp_path, {"key": [[1], [2]]})
    assert "must hold plain values, got list" in refused(read_lookup, path)


@pytest.mark.parametrize("read", [read_join, read_lookup])
def test_time_going_back(tmp_path, read):
    path = put(tmp_path, "key,side,time\n1,0,5\n2,1,5\n3,0,4\n")
    assert refused(read, path) == (
        f"the time column 'time' of {path} must not go back, got 4 after 5 at row 3;"
        " sort the file by time"
    )


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("2026-01-01", "2026-01-02"),
        ("2026-01-01 10:00:00", "2026-01-01 10:00:01"),
        ("0.25", "0.5"),
    ],
)
def test_time_going_back_is_shown_as_written(tmp_path, early, late):
    assert len(read_lookup(put(tmp_path, f"key,time\n1,{early}\n2,{late}\n"))) == 2
    message = refused(read_lookup, put(tmp_path, f"key,time\n1,{late}\n2,{early}\n"))
    assert f"got {early} after {late} at row 2" in message


def test_zoned_time_going_back(tmp_path):
    path = put(tmp_path, "key,time\n1,2026-01-01T00:00:00Z\n2,2025-01-01T00:00:00Z\n")
    assert "got 2025-01-01 00:00:00 after 2026-01-01 00:00:00" in refused(read_lookup, path)


@pytest.mark.parametrize(
    ("times", "got"),
    [
        (["10", "11", "soon", "12"], "'soon' at row 3"),
        (["monday", "tuesday"], "'monday' at row 1"),
        (["2026-01-01", "2026-01-02", "2026-13-01"], "'2026-13-01' at row 3"),
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_text_is_no_time(tmp_path, times, got, ending):
    path = put_table(tmp_path, {"key": times, "time": times}, ending)
    assert refused(read_lookup, path) == (
        f"the time column 'time' of {path} must hold numbers, timestamps or dates, got {got};"
        " choose another column or write times as 2026-01-31T12:00:00"
    )


def test_other_types_are_no_time(tmp_path):
    path = put_table(tmp_path, {"key": [1, 2], "time": [False, True]})
    assert "must hold numbers, timestamps or dates, got bool" in refused(read_lookup, path)
    path = put_table(tmp_path, {"key": [1, 2], "time": [b"a", b"b"]})
    assert "must hold numbers, timestamps or dates, got binary" in refused(read_lookup, path)


def test_time_beyond_64_bits(tmp_path):
    assert timed(tmp_path, pa.array([0, 2**63 - 1], pa.uint64())) == [0, 2**63 - 1]
    for column in (pa.array([0, 2**63], pa.uint64()), [0.0, 2.0**63], [0.5, float("inf")]):
        path = put_table(tmp_path, {"key": [1, 2], "time": column})
        assert "must fit in 64 bits, got " in (message := refused(read_lookup, path))
        assert "at row 2" in message
    path = put_table(tmp_path, {"key": [1, 2], "time": pa.array([0, 2**62], pa.timestamp("ms"))})
    assert "must fit in 64 bits" in refused(read_lookup, path)


def test_one_side_or_more_than_two(tmp_path):
    path = put(tmp_path, "key,side\n1,L\n2,L\n")
    assert "must hold two labels, one for each stream, got 1: L" in refused(read_join, path)
    path = put(tmp_path, "key,side\n1,L\n2,R\n3,M\n")
    assert "got 3: L, M, R; keep the rows of two" in refused(read_join, path)
    path = put(tmp_path, "key,side\n" + "".join(f"1,{n}\n" for n in range(40)))
    assert "got 40: 0, 1, 2, 3, 4, ...; keep" in refused(read_join, path)


def test_other_encodings(tmp_path):
    path = put(tmp_path, "key,b\nok,1\ncafé,2\n".encode("latin-1"))
    assert refused(read_lookup, path) == (
        f"{path} must be UTF-8 text, got other bytes in column 'key' at row 2; save it as UTF-8"
    )
    assert read_lookup(path, key="b").key.tolist() == [1, 2]
    for raw in ("clé,b\nx,1\n".encode("latin-1"), "key\n1\n".encode("utf-16")):
        path = put(tmp_path, raw)
        assert refused(read_lookup, path) == (
            f"{path} must be UTF-8 text, got other bytes; save it as UTF-8"
        )
    assert read_lookup(put(tmp_path, "clé\ncafé\n"), key="clé").key.tolist() == [0]


@pytest.mark.parametrize(("row", "columns"), [("3", 1), ("3,4,5", 3)])
def test_uneven_row(tmp_path, row, columns):
    path = put(tmp_path, f"key,b\n1,2\n{row}\n5,6\n")
    assert refused(read_lookup, path) == (
        f"every row of {path} must have 2 columns as its header has, got {columns} at row 2;"
        " quote values that hold commas"
    )


@given(st.lists(st.sampled_from(["1", "2.5", "x", "2026-01-01"]), max_size=20))
def test_first_bad_row(texts):
    def naive():
        for row, text in enumerate(texts):
            try:
                float(text)
            except ValueError:
                return row
        return len(texts)

    assert first_bad(pa.chunked_array([texts], pa.string()), pa.float64()) == naive()


# Real data

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("PENSTOCK_DATA", ROOT.parent / "shared" / "data"))
MELBOURNE = DATA / "temps" / "melbourne_daily_max_temperatures.csv"


@pytest.mark.skipif(not MELBOURNE.exists(), reason=f"no {MELBOURNE}; set PENSTOCK_DATA")
def test_melbourne_temperatures():
    trace = read_lookup(MELBOURNE, key="Temperature", time="Date")
    assert len(trace) == 3650
    assert trace.value[:3].tolist() == [38.1, 32.4, 34.5]
    assert trace.key.tolist() == same_as(trace.value.tolist())
    # The paper's own fit: X(t) = 0.72 X(t-1) + 5.59.
    slope, level = np.polyfit(trace.value[:-1], trace.value[1:], 1)
    assert (slope, level) == pytest.approx((0.72, 5.59), abs=0.005)
