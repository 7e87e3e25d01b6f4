"""Every mistake about a lookup is told before the query starts, by name, with the way out."""

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from penstock import PenstockError
from penstock.spark import Relation, lookup
from tests.spark.streams import Files, at
from tests.spark.test_lookup import customers, write_table

pytest.importorskip("adbc_driver_sqlite", reason="no databases: pip install penstock[databases]")
pytestmark = pytest.mark.spark

GOOD = {"on": "k", "budget": 20}


@pytest.fixture(scope="module")
def uri(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("bad") / "shop.db", customers(5))


@pytest.fixture(scope="module")
def stream(spark, tmp_path_factory):
    files = Files(tmp_path_factory.mktemp("bad") / "events", "k int, ts timestamp, s string")
    files.add([(1, at(0), "x")])
    return files.stream(spark)


ARGUMENTS = {
    "missing key": ({"on": "kk"}, "events frame has no column 'kk'; did you mean 'k'"),
    "no key": ({"on": []}, "on must name"),
    "key twice": ({"on": ["k", "k"]}, "each column once"),
    "budget zero": ({"budget": 0}, "budget must be at least 1 per bucket"),
    "budget below buckets": ({"budget": 3, "buckets": 4}, "budget must be at least 1 per bucket"),
    "budget below a row": ({"budget": "200 B"}, "bytes with a single row"),
    "budget none": ({"budget": None}, "budget must be rows"),
    "budget text": ({"budget": "lots"}, "budget must be rows"),
    "policy unknown": ({"policy": "heep"}, "did you mean 'heeb'"),
    "policy for joins": ({"policy": "life"}, "not defined for caching"),
    "policy by order": ({"policy": "heeb", "on": "s"}, "goes by the order of keys"),
    "budget too large": ({"budget": 10**30}, "budget must be at most 2**53 rows"),
    "policy none": ({"policy": None}, "policy must be the name of a policy"),
    "policy by case": ({"policy": "LRU"}, "did you mean 'lru'"),
    "ttl too long": ({"ttl": "99999999999 days"}, "ttl must be at most 3652425 days"),
    "suffix none": ({"suffix": None}, "suffix must be a text, got None"),
    "how none": ({"how": None}, "how must be one of left, inner, got None"),
    "buckets too many": ({"buckets": 10**9}, "buckets must be at most 100000"),
    "checkpoint": ({"checkpoint": 5}, "checkpoint must be the path"),
    "goal": ({"goal": "rows"}, "goal must be one of hits, bytes, costs, got 'rows'"),
    "goal of costs": ({"goal": "costs"}, "goal='costs' needs what a row costs to fetch; pass cost"),
    "cost": ({"cost": 3}, "cost must be a text, got 3"),
    "cost unknown": ({"cost": "scor"}, "got 'scor'; did you mean 'score'? Known: name, score"),
    "cost of a key": ({"cost": "id"}, "a column of table 'customers' beside its key, got 'id'"),
    "cost no number": ({"cost": "name"}, "'name' of table 'customers' has the type string"),
    "cost not whole": ({"cost": "score", "goal": "costs"}, "cost must name a column of whole"),
    "how": ({"how": "outer"}, "how must be one of left, inner, got 'outer'"),
    "on_missing": ({"on_missing": "drop"}, "on_missing must be one of null, error"),
    "ttl": ({"ttl": "ten"}, "ttl must be a span of time"),
    "ttl negative": ({"ttl": "-1 seconds"}, "ttl must not be negative"),
    "timeout": ({"timeout": "0 seconds"}, "timeout must be greater than 0"),
    "retries": ({"retries": -1}, "retries must be a whole number of at least 0"),
    "fetch_size": ({"fetch_size": 0}, "fetch_size must be a whole number of at least 1"),
    "buckets": ({"buckets": "two"}, "buckets must be a whole number"),
    "seed": ({"seed": -1}, "seed must be a whole number"),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments(stream, uri, case):
    changed, said = ARGUMENTS[case]
    relation = Relation(uri, table="customers", key="id")
    with pytest.raises(PenstockError) as told:
        lookup(stream, relation, **(GOOD | changed))
    assert said in str(told.value)


RELATIONS = {
    "no table": ({"table": "nowhere"}, "no such table: nowhere"),
    "no column": ({"table": "customers", "columns": ["nam"]}, "no column 'nam'; it has id, name"),
    "no key": ({"table": "customers", "key": "number"}, "no column 'number'"),
    "bad query": ({"query": "SELEKT 1"}, "cannot be asked"),
    "only the key": ({"query": "SELECT id FROM customers"}, "no column beside its key"),
    "other key type": (
        {"table": "customers", "key": "name"},
        "got int in column 'k' of the events frame and string in column 'name'",
    ),
    "too many keys": ({"table": "customers", "key": ["id", "name"]}, "as many columns as on"),
}


@pytest.mark.parametrize("case", RELATIONS)
def test_relations(stream, uri, case):
    given, said = RELATIONS[case]
    with pytest.raises(PenstockError) as told:
        lookup(stream, Relation(uri, **({"key": "id"} | given)), **GOOD)
    assert said in str(told.value)


def test_an_unreachable_database(stream, tmp_path):
    with pytest.raises(PenstockError, match=r"asked once and did not answer.*before the query"):
        lookup(stream, Relation(f"sqlite:///{tmp_path}/no.db", table="t", key="id"), **GOOD)
    with pytest.raises(PenstockError, match="must begin with one of"):
        lookup(stream, Relation("mysql://db/shop", table="t", key="id"), **GOOD)


def test_functions(stream):
    for function, said in [
        (lambda keys: None, "must return a pyarrow Table, got NoneType"),
        (lambda keys: pa.table({"key": keys}), "lacks the key column 'k'; it has key"),
        (lambda keys: pa.table({"k": keys}), "no column beside its key"),
        (lambda keys: pa.table({"k": keys.cast(pa.string()), "v": keys}), "the key must have one"),
        (lambda keys: pa.table({"k": keys, "v": pa.nulls(len(keys), pa.month_day_nano_interval())}),
         "which Spark does not have"),
        ("customers", "must be a Relation, or a function"),
    ]:  # fmt: skip
        with pytest.raises(PenstockError, match=said):
            lookup(stream, function, **GOOD)


def test_result_columns_twice(stream, uri):
    relation = Relation(uri, table="customers", key="id")
    named = stream.withColumn("name", F.lit(1)).withColumn("name_relation", F.lit(2))
    with pytest.raises(PenstockError, match="the column 'name_relation' twice"):
        lookup(named, relation, **GOOD)
    assert lookup(named, relation, suffix="_of_customer", **GOOD).columns[-2] == "name_of_customer"


def test_frames(spark, stream, uri):
    relation = Relation(uri, table="customers", key="id")
    still = spark.createDataFrame([], "k int")
    for events, changes, said in [
        ("table", None, "the events frame must be a Spark DataFrame, got str"),
        (stream, still, "changes= needs streams"),
        (still, stream, "changes= needs streams"),
        (stream, stream.drop("k"), "changes frame has no column 'k'"),
        (stream, stream.withColumn("k", F.col("k").cast("long")), "one type in all frames"),
    ]:
        with pytest.raises(PenstockError, match=said):
            lookup(events, relation, changes=changes, **GOOD)
    with pytest.raises(PenstockError, match="penstock_lookup"):
        lookup(lookup(stream, relation, **GOOD), relation, suffix="_2", **GOOD)
