"""The state as bytes: whatever is wrong with them is told, and nothing is unpickled."""

import json
import struct

import numpy as np
import pyarrow as pa
import pytest

import penstock.spark.runtime.store as store
from penstock import BadState
from penstock.spark.frames import MARKED
from penstock.spark.runtime.fingerprint import check_fingerprint
from penstock.spark.runtime.join_bucket import JoinBucket
from penstock.spark.runtime.store import Stored, decode, encode
from tests.spark.plans import SECOND, Run, drawn, make_plan


def sample() -> Stored:
    arrays = {
        "plain": np.arange(6, dtype=np.int32).reshape(2, 3),
        "empty": np.zeros((0, 2)),
        "fields": np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
    }
    tables = [pa.table({"s": ["x", None], "l": [[1], None]}), pa.table({})]
    return Stored({"within": 5}, arrays, tables, {"matched": 3.0})


def test_there_and_back():
    stored = sample()
    back = decode(encode(stored))
    assert back.fingerprint == stored.fingerprint
    assert back.totals == stored.totals
    assert [t.to_pydict() for t in back.payloads] == [t.to_pydict() for t in stored.payloads]
    for name, array in stored.arrays.items():
        assert back.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(back.arrays[name], array)


@pytest.mark.parametrize("blob", [b"", b"x", b"\x80\x04K\x01.", b"PENSTOCK", b"PK\x03\x04" * 40])
def test_foreign_bytes(blob):
    with pytest.raises(BadState, match="not written by Penstock"):
        decode(blob)


def test_every_truncation_is_detected():
    blob = encode(sample())
    for length in range(0, len(blob), 7):
        with pytest.raises(BadState):
            decode(blob[:length])
    with pytest.raises(BadState, match="damaged"):
        decode(blob + b"\0")


def test_every_changed_byte_is_detected():
    blob = encode(sample())
    for place in range(len(blob)):
        changed = bytearray(blob)
        changed[place] ^= 0x10
        with pytest.raises(BadState):
            decode(bytes(changed))


def test_another_version():
    blob = bytearray(encode(sample()))
    struct.pack_into("<I", blob, 8, store.FORMAT + 1)
    with pytest.raises(BadState, match=f"format {store.FORMAT + 1}.*reads format {store.FORMAT}"):
        decode(bytes(blob))


def test_objects_are_refused():
    header = json.dumps(
        {"fingerprint": {}, "arrays": [["a", "|O", [1], 0, 8]], "payloads": [], "totals": {}}
    ).encode()
    body = b"\0" * 8
    blob = store.seal(header, [body])
    with pytest.raises(BadState):
        decode(blob)


WITHIN = 300 * SECOND


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            {"within": 360 * SECOND},
            "join with within='5 minutes', and now with within='6 minutes'; pass within='5",
        ),
        ({"within": None}, "join with within='5 minutes', and now with no within; pass within="),
        ({"text_key": True}, "left frame had the column 'k' of type bigint, and now it has the"),
        ({"buckets": 2}, "join with buckets=1, and now with buckets=2; pass buckets=1, or start"),
        ({"partitions": 3}, "now with spark.sql.shuffle.partitions=3; set spark.sql.shuffle.part"),
        # Both may be the consequence of one setting: that is named.
        ({"partitions": 3, "buckets": 3}, "partitions=3; set spark.sql.shuffle.partitions=1, or"),
        ({"layout": "split"}, "with layout='unified', and now with layout='split'; pass layout="),
    ],
)
def test_another_join(change, named):
    run = Run(make_plan(budget=50, within=WITHIN))
    run.take(*drawn(np.random.default_rng(0), 200))
    with pytest.raises(BadState, match=named):
        JoinBucket(make_plan(**({"budget": 50, "within": WITHIN} | change)), 0, run.state)
    JoinBucket(make_plan(budget=50, within=WITHIN), 0, run.state)  # the state was not touched


def test_another_operator():
    run = Run(make_plan())
    run.take(*drawn(np.random.default_rng(0), 20))
    found = decode(run.state).fingerprint
    with pytest.raises(BadState, match="written by a join, and now it is a thin; run a join again"):
        check_fingerprint(found, {"operator": "thin", "buckets": 1}, "thin")
    with pytest.raises(BadState, match="written by a lookup, and now it is a join"):
        check_fingerprint({"operator": "lookup"}, found, "join")


PRINT = {
    "columns": [["k: int", "a: b: string"], ["k: int"]],
    "keys": [["k"], ["k"]],
    "time": ["ts", "ts"],
    "joins": [[0, 1]],
}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            {"columns": [["k: int", "a: b: string"], ["k: int", "v: int"]]},
            "a join whose right frame had no column 'v', and now it has the column 'v' of type int",
        ),
        ({"columns": [["k: int"], ["k: int"]]}, "left frame had the column 'a: b' of type string"),
        ({"columns": [["k: int"]] * 3}, "a join of 2 frames, and now of 3; pass the same frames"),
        ({"keys": [["k", "v"]] * 2}, "with on='k', and now with on=.'k', 'v'.; pass on='k'"),
        ({"time": ["ts", "at"]}, "with time='ts', and now with time=.'ts', 'at'.; pass time='ts'"),
        (
            {MARKED: 1},
            "of an earlier Penstock, for which some structs and arrays were one key, and",
        ),
        ({"joins": [[0, 1], [2, 3]]}, "joins of the frames 1 and 2, and now with joins of the fra"),
    ],
)
def test_differences_in_words(change, named):
    with pytest.raises(BadState, match=named):
        check_fingerprint(PRINT, PRINT | change)


def test_harmless_differences():
    columns = [["a: b: string", "k: int"], ["k: int"]]
    check_fingerprint(PRINT | {"budget counts": "rows"}, PRINT | {"columns": columns})
