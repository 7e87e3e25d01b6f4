"""The state as bytes: whatever is wrong with them is told, and nothing is unpickled."""

import json
import struct

import numpy as np
import pyarrow as pa
import pytest

import penstock.spark.store as store
from penstock import BadState
from penstock.spark.bucket import Bucket
from penstock.spark.store import Stored, decode, encode
from tests.spark.plans import Run, drawn, make_plan


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


def test_every_truncation_is_told():
    blob = encode(sample())
    for length in range(0, len(blob), 7):
        with pytest.raises(BadState):
            decode(blob[:length])
    with pytest.raises(BadState, match="damaged"):
        decode(blob + b"\0")


def test_every_changed_byte_is_told():
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


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"within": 101}, "within: 100, and now 101"),
        ({"text_key": True}, "columns"),
        ({"buckets": 2}, "buckets: 1, and now 2"),
        ({"partitions": 3}, "spark.sql.shuffle.partitions"),
        ({"layout": "split"}, "layout"),
        ({"in_bytes": True}, "budget counts: rows, and now bytes"),
    ],
)
def test_another_join(change, named):
    run = Run(make_plan(budget=50))
    run.take(*drawn(np.random.default_rng(0), 200))
    with pytest.raises(BadState, match=named):
        Bucket(make_plan(**({"budget": 50} | change)), 0, run.state)
    Bucket(make_plan(budget=50), 0, run.state)  # as before: the state was not touched
