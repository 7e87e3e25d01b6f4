"""Queries of bounded size, patience with an end, and answers held against their promise."""

import math
import threading

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import BadInput, Unreachable
from penstock.relations import Fetcher, Patience, as_source
from penstock.relations.fetching import places, said, within
from tests.patience import PATIENCE

PROMISED = pa.schema([("k", pa.int64()), ("name", pa.string())])


class Table:
    """A relation that can be out of order."""

    def __init__(self, rows=100):
        self.rows = {key: f"row {key}" for key in range(rows)}
        self.asked = []
        self.failures = 0

    def __call__(self, keys):
        self.asked.append(keys.to_pylist())
        if self.failures:
            self.failures -= 1
            raise ConnectionError("nobody there")
        known = [key for key in keys.to_pylist() if key in self.rows]
        return pa.table({"k": pa.array(known, pa.int64()), "name": [self.rows[k] for k in known]})


class Sleeps(list):
    """Pauses that are only noted."""

    def __call__(self, seconds):
        self.append(seconds)


def fetcher(function, sleeps=None, promised=PROMISED, **patience):
    source = as_source(function, ("k",))
    pause = Sleeps() if sleeps is None else sleeps
    return Fetcher(source, promised, Patience(**patience), sleep=pause)


def keys(*values):
    return pa.table({"k": pa.array(values, pa.int64())})


def test_queries_are_of_bounded_size():
    table = Table()
    found = fetcher(table, size=3)
    answer = found.fetch(keys(5, 200, 1, 2, 201, 9, 3))
    assert [len(asked) for asked in table.asked] == [3, 3, 1]
    names = [answer.rows["name"][row].as_py() if row >= 0 else None for row in answer.row]
    assert names == ["row 5", None, "row 1", "row 2", None, "row 9", "row 3"]
    assert found.counts == {"calls": 3, "retries": 0, "asked": 7, "fetched": 5}


def test_nothing_is_asked_for_nothing():
    table = Table()
    answer = fetcher(table).fetch(keys())
    assert not table.asked
    assert len(answer.row) == answer.rows.num_rows == 0
    assert answer.rows.schema == PROMISED


def test_it_is_asked_again_with_growing_pauses():
    table, sleeps = Table(), Sleeps()
    table.failures = 4
    found = fetcher(table, sleeps)
    assert found.fetch(keys(1)).row.tolist() == [0]
    assert sleeps == [0.2, 0.4, 0.8, 1.6]
    assert found.counts["retries"] == 4
    assert found.counts["calls"] == 5


def test_patience_ends_with_a_clear_sentence():
    table, sleeps = Table(), Sleeps()
    table.failures = 100
    with pytest.raises(Unreachable) as told:
        fetcher(table, sleeps, retries=10).fetch(keys(1))
    assert "was asked 11 times" in str(told.value)
    assert "ConnectionError: nobody there" in str(told.value)
    assert "start the query again from its checkpoint" in str(told.value)
    assert max(sleeps) == 30.0
    assert len(table.asked) == 11


def test_what_cannot_get_better_is_not_repeated():
    calls = []

    def refuses(keys):
        calls.append(1)
        raise BadInput("no such thing")

    with pytest.raises(BadInput, match="no such thing"):
        fetcher(refuses).fetch(keys(1))
    assert len(calls) == 1


def test_a_slow_answer_is_given_up():
    release, cancelled = threading.Event(), threading.Event()
    with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s"):
        within(0.05, release.wait, cancelled.set)
    release.set()
    assert cancelled.is_set()
    with pytest.raises(ZeroDivisionError):
        within(PATIENCE, lambda: 1 / 0, lambda: None)


def test_a_slow_relation_fails_after_its_retries():
    release = threading.Event()
    with pytest.raises(Unreachable, match=r"asked 2 times.*no answer within 0\.02 s"):
        fetcher(lambda keys: release.wait(), timeout=0.02, retries=1).fetch(keys(1))
    release.set()


def test_new_columns_do_no_harm_and_lost_ones_are_named():
    more = fetcher(lambda k: pa.table({"new": k, "name": ["x"], "k": k}))
    assert more.fetch(keys(1)).rows.column_names == ["k", "name"]
    less = fetcher(lambda k: pa.table({"k": k, "title": ["x"]}))
    with pytest.raises(BadInput, match=r"lacks the column 'name'.*it has k, title"):
        less.fetch(keys(1))


def test_types_are_kept():
    wide = fetcher(lambda k: pa.table({"k": k.cast(pa.int32()), "name": pa.array([7])}))
    assert wide.fetch(keys(1)).rows.to_pylist() == [{"k": 1, "name": "7"}]
    texts = pa.schema([("k", pa.int64()), ("n", pa.int64())])
    odd = fetcher(lambda k: pa.table({"k": k, "n": ["seven"]}), promised=texts)
    with pytest.raises(BadInput, match=r"column 'n' of .* was int64 .* now an answer has string"):
        odd.fetch(keys(1))


def test_two_rows_for_a_key_are_refused_by_name():
    twice = fetcher(lambda k: pa.table({"k": [7, 8, 7], "name": ["a", "b", "c"]}))
    with pytest.raises(BadInput, match="has 2 rows for the key k = 7; a lookup needs one at most"):
        twice.fetch(keys(7, 8))


def test_an_answer_must_be_a_table():
    with pytest.raises(BadInput, match="must return a pyarrow Table, got dict for 1 keys"):
        fetcher(lambda k: {"k": 1}).fetch(keys(1))


def test_rows_that_were_not_asked_for_are_passed_over():
    table = pa.table({"k": [1, 2, 3], "name": ["a", "b", "c"]})
    found = fetcher(lambda k: table)
    assert found.fetch(keys(3)).row.tolist() == [2]
    assert found.counts["fetched"] == 1


def test_several_key_columns_travel_as_structs():
    def fetch(given):
        shops, ids = given.field("shop"), given.field("id")
        return pa.table({"shop": shops, "id": ids, "sum": pa.array([len(given)] * len(given))})

    promised = pa.schema([("shop", pa.string()), ("id", pa.int64()), ("sum", pa.int64())])
    found = Fetcher(as_source(fetch, ("shop", "id")), promised, Patience())
    answer = found.fetch(pa.table({"shop": ["a", "b"], "id": [1, 1]}))
    assert answer.row.tolist() == [0, 1]


def test_places_of_odd_keys():
    asked = pa.table({"k": pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])})
    assert places(asked, asked.slice(1)).tolist() == [-1, 0]
    narrow = pa.table({"k": pa.array([5, 6], pa.int16())})
    wide = pa.table({"k": pa.array([6, 2**40], pa.int64())})
    assert places(narrow, wide).tolist() == [-1, 0]
    assert places(narrow, wide).dtype == np.int64


def times(zone, *at):
    return pa.array(at, pa.timestamp("us", zone))


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "GMT+01:00"])
def test_times_are_one_key_in_any_zone(zone):
    far = 2**60  # of a year that Python has not
    asked = pa.table({"shop": [1, 1, 2], "at": times(zone, 10, far, 10)})
    answered = pa.table({"shop": [2, 1], "at": times("UTC", 10, far)})
    assert places(asked, answered).tolist() == [-1, 1, 0]
    inside = [pa.table({"k": t.to_struct_array().combine_chunks()}) for t in (asked, answered)]
    assert places(*inside).tolist() == [-1, 1, 0]
    lists = [pa.table({"k": pa.array([[each] for each in t["at"]])}) for t in (asked, answered)]
    assert places(lists[0], lists[1].slice(1)).tolist() == [-1, 0, -1]


@pytest.mark.parametrize("more", [{}, {"shop": ["a", "a", "a"]}])
def test_numbers_are_keys_as_spark_takes_them_for_equal(more):
    other_nan = np.array([0x7FF8000000000001]).view(np.float64)[0]
    asked = pa.table({"k": [0.0, other_nan, 2.0], **more})
    answered = pa.table({"k": [math.nan, 1.0, -0.0], **more})
    assert places(asked, answered).tolist() == [2, 0, -1]


def test_missing_parts_and_the_ends_of_lists_count():
    asked = pa.table({"k": pa.array([[1, None], [None, 1], [1], [], None])})
    answered = pa.table({"k": pa.array([[], [1], [None, 1], [1, None], [0]])})
    assert places(asked, answered).tolist() == [3, 2, 1, 0, -1]
    parts = pa.table({"k": pa.array([{"a": None, "b": 1}, {"a": 1, "b": None}, {"a": 1, "b": 1}])})
    assert places(parts, parts.take(pa.array([2, 0]))).tolist() == [1, -1, 0]


def test_structs_may_be_keys_of_several_rows():
    promised = pa.schema([("k", pa.struct({"a": pa.int64()})), ("name", pa.string())])
    asked = pa.table({"k": pa.array([{"a": 1}, {"a": 2}], promised.field("k").type)})
    found = fetcher(lambda k: pa.table({"k": k, "name": ["one", "two"]}), promised=promised)
    assert found.fetch(asked).row.tolist() == [0, 1]
    twice = pa.table({"k": asked["k"].take(pa.array([1, 1])), "name": ["two", "too"]})
    with pytest.raises(BadInput, match=r"has 2 rows for the key k = \{'a': 2\}; a lookup needs"):
        fetcher(lambda k: twice, promised=promised).fetch(asked)


def test_a_key_that_python_cannot_show_is_told_by_its_type():
    key = pa.table({"id": [7], "at": times("UTC", 2**60)})
    assert said(key, 0) == "id = 7, at = of type timestamp[us, tz=UTC], which Python cannot show"
