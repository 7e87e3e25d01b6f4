"""Enrichment on Spark: every event with its row, figures that add up, faults that lose nothing."""

import contextlib
import io
import json
import random
import sqlite3
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from penstock.engine import Lookup
from penstock.errors import PenstockError
from penstock.spark import Relation, lookup, metrics
from penstock.spark.metrics import LOOKUP
from penstock.spark.runtime.labels import sort_by_bucket
from tests.relations.postgres import PASSWORD, VARIABLE, Server, needs_postgres
from tests.spark.streams import Files, committed, results, run

pytest.importorskip("adbc_driver_sqlite", reason="no databases: pip install penstock[databases]")
pytestmark = pytest.mark.spark

SCHEMA = "k int, v long"


def write_table(path: Path, rows: list[tuple], table: str = "customers", key="id INTEGER") -> str:
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE {table} ({key}, name TEXT, score REAL)")
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)
    connection.close()
    return f"sqlite:///{path}"


def customers(count: int) -> list[tuple]:
    return [(key, f"name {key}", key / 2) for key in range(count)]


def write_events(files: Files, seed: int, count: int = 300, parts: int = 3) -> list[list[int]]:
    """Write events by files, some without a key; return the keys of each file."""
    rng = random.Random(seed)
    made, number = [], 0
    for _ in range(parts):
        keys = [int(60 * rng.random() ** 2) if rng.random() > 0.02 else None for _ in range(count)]
        files.add([(key, number + i) for i, key in enumerate(keys)])
        made.append(keys)
        number += count
    return made


def expected(batches: list[list], rows: int) -> Counter:
    """Return what a left join gives: every event once, with or without a row."""
    keys = [key for batch in batches for key in batch]
    known = {key: (name, score) for key, name, score in customers(rows)}
    return Counter(repr((key, v, *known.get(key, (None, None)))) for v, key in enumerate(keys))


def test_a_stream_gets_its_rows_and_the_engine_s_hits(spark, tmp_path):
    uri = write_table(tmp_path / "shop.db", customers(50))
    files = Files(tmp_path / "events", SCHEMA)
    batches = write_events(files, seed=1)
    relation = Relation(uri, table="customers", key="id")
    frame = lookup(files.stream(spark), relation, "k", budget=11, policy="lru", buckets=2)
    assert frame.schema.simpleString() == "struct<k:int,v:bigint,name:string,score:double>"
    query = run(frame, tmp_path)
    assert results(spark, tmp_path) == expected(batches, 50)
    told = metrics(query)
    assert told.events == 900
    assert told.null_keys == sum(batch.count(None) for batch in batches)
    assert told.hits + told.known_missing == hits_of(batches, [6, 5])
    assert told.hits + told.known_missing + told.misses + told.null_keys == 900
    assert told.found + told.unfound + told.null_keys == 900
    assert told.rows_fetched <= told.keys_asked <= told.misses
    assert told.calls == 6  # one per bucket and micro-batch
    assert told.rows_held == 11
    assert told.bytes_held > 0
    assert told.staleness_p50 <= told.staleness_p99
    assert told.alarm is None
    assert LOOKUP in json.loads(query.lastProgress.json)["observedMetrics"]


def hits_of(batches: list[list], budgets: list[int]) -> int:
    """Return the hits of local engines, one per bucket, in the order of the events."""
    keys = np.array([key for batch in batches for key in batch if key is not None], np.int64)
    start, order = np.zeros(len(budgets) + 1, np.int64), np.empty(len(keys), np.int64)
    sort_by_bucket(keys, len(budgets), np.empty(len(keys), np.int64), start, order)
    parts = [order[a:b] for a, b in pairwise(start)]
    return sum(
        int(Lookup("lru", budget).push(keys[part]).hit.sum())
        for budget, part in zip(budgets, parts, strict=True)
    )


def test_the_goal_of_costs_saves_more_and_may_come_with_a_restart(spark, tmp_path):
    price = np.where(np.arange(60) % 7 == 3, 1000, 1)
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE parts (k INTEGER, price INTEGER)")
        connection.executemany("INSERT INTO parts VALUES (?, ?)", enumerate(price.tolist()))
    connection.close()
    relation = Relation(f"sqlite:///{tmp_path}/shop.db", table="parts")
    files, told = Files(tmp_path / "events", SCHEMA), {}
    batches = write_events(files, seed=6, parts=2)

    def go(goal, name):
        options = {"budget": 8, "policy": "gdsf", "buckets": 1, "goal": goal, "cost": "price"}
        frame = lookup(files.stream(spark), relation, "k", **options)
        assert frame.columns == ["k", "v", "price"]
        return metrics(run(frame, tmp_path, name))

    told = {goal: go(goal, goal) for goal in ("hits", "costs")}
    costs, hits = told["costs"], told["hits"]
    assert costs.cost_saved > 1.2 * hits.cost_saved
    assert costs.cost_fetched < hits.cost_fetched
    assert costs.cost_saved_ratio > hits.cost_saved_ratio
    assert costs.hits < hits.hits
    batches += write_events(files, seed=7, parts=1)
    local, saved = Lookup("gdsf", 8), 0
    for number, batch in enumerate(batches):
        keys = np.array([key for key in batch if key is not None])
        if number == 2:
            local = Lookup.restore(local.save(), goal="costs", cost=price[local.resident])
        hit = local.push(keys, cost=price[keys] if number == 2 else None).hit
        saved += price[keys][hit].sum()
    again = go("costs", "hits")
    assert (again.goal, again.events) == ("costs", 900)
    assert (again.hits, again.cost_saved) == (local.hits, saved)


def test_batches_text_keys_and_inner(spark, tmp_path):
    rows = [(f"c{key}", name, score) for key, name, score in customers(40)]
    uri = write_table(tmp_path / "shop.db", rows, key="code TEXT PRIMARY KEY")
    frame = spark.range(500).select(
        F.concat(F.lit("c"), F.col("id") % 60).alias("code"), F.col("id").alias("name")
    )
    relation = Relation(uri, table="customers", columns=["name"])
    both = frame.transform(lookup, relation, "code", budget="200 KB", how="inner")
    assert both.columns == ["code", "name", "name_relation"]
    found = both.collect()
    assert len(found) == sum(number % 60 < 40 for number in range(500))
    assert all(row.name_relation == f"name {row.code[1:]}" for row in found)


def test_keys_of_two_columns_and_a_function(spark):
    def fetch(keys):
        shops, numbers = keys.field("shop").to_pylist(), keys.field("number").to_pylist()
        made = [f"{shop}-{number}" for shop, number in zip(shops, numbers, strict=True)]
        return pa.table(
            {"shop": shops, "number": numbers, "label": made},
            schema=pa.schema(
                [("shop", pa.string()), ("number", pa.int64()), ("label", pa.string())]
            ),
        )

    frame = spark.range(200).selectExpr("string(id % 7) AS shop", "id % 3 AS number")
    found = lookup(frame, fetch, ["shop", "number"], budget=50).collect()
    assert len(found) == 200
    assert all(row.label == f"{row.shop}-{row.number}" for row in found)


@pytest.mark.slow
def test_changes_reach_the_cache(spark, tmp_path):
    path = tmp_path / "shop.db"
    uri = write_table(path, customers(5))
    streams = [Files(tmp_path / name, kind) for name, kind in (("e", SCHEMA), ("c", "k int"))]
    relation = Relation(uri, table="customers", key="id", columns=["name"])

    def go(events, changed):
        streams[0].add(events)
        streams[1].add(changed)
        frames = [files.stream(spark) for files in streams]
        return run(lookup(frames[0], relation, "k", budget=9, changes=frames[1]), tmp_path)

    go([(1, 0), (2, 1)], [])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE customers SET name = 'new' WHERE id <= 2")
    connection.close()
    told = metrics(go([(1, 2), (2, 3)], [(1,)]))
    assert results(spark, tmp_path) == Counter(
        map(repr, [(1, 0, "name 1"), (2, 1, "name 2"), (1, 2, "new"), (2, 3, "name 2")])
    )
    assert (told.changes, told.invalidated) == (1, 1)


def test_an_empty_relation_is_alarming(spark, tmp_path):
    uri = write_table(tmp_path / "shop.db", [])
    files = Files(tmp_path / "events", SCHEMA)
    files.add([(key % 3, key) for key in range(30)])
    with pytest.warns(UserWarning, match="table 'customers' of the relation is empty"):
        frame = lookup(
            files.stream(spark), Relation(uri, table="customers", key="id"), "k", budget=9
        )
    told = metrics(run(frame, tmp_path))
    assert told.hits == told.found == 0
    assert told.keys_missing == 3
    assert told.hit_ratio == 0
    assert "none of 30 events found a row" in told.alarm
    assert sum(results(spark, tmp_path).values()) == 30


def fails(frame, folder) -> str:
    """Run a query that must fail, and return the sentence that says why."""
    with pytest.raises(StreamingQueryException) as told:
        run(frame, folder)
    text = str(told.value)
    sentences = [line for line in text.splitlines() if line.startswith("penstock.errors.")]
    assert sentences, text[-2000:]
    return sentences[-1]


def test_two_rows_for_a_key_fail_the_first_batch(spark, tmp_path):
    uri = write_table(tmp_path / "shop.db", [*customers(3), (2, "again", 0.0)])
    files = Files(tmp_path / "events", SCHEMA)
    files.add([(key, key) for key in range(3)])
    relation = Relation(uri, table="customers", key="id")
    said = fails(lookup(files.stream(spark), relation, "k", budget=9), tmp_path)
    assert "table 'customers' has 2 rows for the key id = 2; a lookup needs one at most" in said
    assert committed(tmp_path) == 0  # another task may have left a file that counts for nothing


@pytest.mark.slow
def test_a_missing_row_can_fail_the_query(spark, tmp_path):
    uri = write_table(tmp_path / "shop.db", customers(3))
    files = Files(tmp_path / "events", SCHEMA)
    files.add([(1, 0), (7, 1)])
    relation = Relation(uri, table="customers", key="id")
    frame = lookup(files.stream(spark), relation, "k", budget=9, on_missing="error")
    assert "has no row for the key k = 7" in fails(frame, tmp_path)


@pytest.mark.slow
def test_a_slow_relation_fails_after_its_time(spark, tmp_path):
    def naps(keys):
        import time

        if len(keys):
            time.sleep(3600)  # in a thread that ends with its process
        return pa.table({"k": keys, "name": keys})

    files = Files(tmp_path / "events", SCHEMA)
    files.add([(1, 0)])
    frame = lookup(files.stream(spark), naps, "k", budget=9, timeout="2 seconds", retries=1)
    assert "asked 2 times" in (said := fails(frame, tmp_path))
    assert "no answer within 2 s" in said


@pytest.mark.slow
def test_other_memory_policy_and_columns_after_a_restart(spark, tmp_path):
    uri = write_table(tmp_path / "shop.db", customers(60))
    files = Files(tmp_path / "events", SCHEMA)
    relation = Relation(uri, table="customers", key="id")
    batches = write_events(files, seed=2, parts=1)
    assert metrics(run(lookup(files.stream(spark), relation, "k", budget=20), tmp_path))
    batches += write_events(files, seed=3, parts=1)
    frame = lookup(files.stream(spark), relation, "k", budget=8, policy="lru")
    told = metrics(run(frame, tmp_path))
    assert told.rows_held == 8
    assert told.events == 600
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("ALTER TABLE customers ADD COLUMN born INTEGER")
    connection.close()
    write_events(files, seed=4, parts=1)
    wide = lookup(files.stream(spark), relation, "k", budget=8)
    assert wide.columns[-1] == "born"
    query = (
        wide.writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "out-checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert metrics(query).events == 900


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("postgres"))
    server.run(
        "CREATE TABLE customers (id BIGINT PRIMARY KEY, name TEXT, score DOUBLE PRECISION)",
        "INSERT INTO customers SELECT k, 'name ' || k, k / 2.0 FROM generate_series(0, 49) AS k",
    )
    yield server
    server.cleanup()


@pytest.mark.slow
@needs_postgres
def test_a_database_that_goes_away_and_comes_back(spark, tmp_path, server):
    """It fails with a clear sentence; from the checkpoint it goes on, nothing lost or doubled."""
    files = Files(tmp_path / "events", SCHEMA)
    relation = Relation(server.uri, table="customers", key="id")

    def start():
        return lookup(files.stream(spark), relation, "k", budget=11, retries=1)

    batches = write_events(files, seed=5, parts=2)
    run(start(), tmp_path)
    batches += write_events_from(files, 600)
    frame = start()
    server.stop()
    try:
        said = fails(frame, tmp_path)
    finally:
        server.start()
    assert "table 'customers' was asked 2 times" in said
    assert "start the query again from its checkpoint" in said
    query = run(start(), tmp_path)
    assert results(spark, tmp_path) == expected(batches, 50)
    assert metrics(query).events == 900


def write_events_from(files: Files, number: int) -> list[list[int]]:
    rng = random.Random(number)
    keys = [rng.randrange(60) for _ in range(300)]
    files.add([(key, number + i) for i, key in enumerate(keys)])
    return [keys]


@pytest.mark.slow
@needs_postgres
def test_a_new_column_while_the_query_runs(spark, tmp_path, server):
    files = Files(tmp_path / "events", SCHEMA)
    batches = write_events(files, seed=6, parts=2)
    relation = Relation(server.uri, query="SELECT * FROM customers", key="id")
    frame = lookup(files.stream(spark), relation, "k", budget=3)  # columns are those of now
    server.run("ALTER TABLE customers ADD COLUMN mood TEXT DEFAULT 'good'")
    try:
        run(frame, tmp_path)
    finally:
        server.run("ALTER TABLE customers DROP COLUMN mood")
    assert results(spark, tmp_path) == expected(batches, 50)


@needs_postgres
def test_secrets_are_written_nowhere(spark, tmp_path, server, capfd):

    def provider():
        import os

        return {"user": "postgres", "password": os.environ[VARIABLE]}

    files = Files(tmp_path / "events", SCHEMA)
    write_events(files, seed=7, parts=1)
    bare = server.uri.replace(f"postgres:${{{VARIABLE}}}@", "")
    relations = [
        Relation(server.uri, table="customers", key="id"),
        Relation(bare, table="customers", key="id", credentials=provider),
    ]
    spark.sparkContext.setLogLevel("INFO")
    plans = io.StringIO()
    try:
        for number, relation in enumerate(relations):
            frame = lookup(files.stream(spark), relation, "k", budget=11)
            with contextlib.redirect_stdout(plans):
                frame.explain(extended=True)
            query = run(frame, tmp_path, f"good-{number}")
            plans.write(repr(relation) + query.lastProgress.json)
        broken = lookup(files.stream(spark), relations[0], "k", budget=11, retries=0)
        server.stop()
        try:
            with pytest.raises(StreamingQueryException) as told:
                run(broken, tmp_path, "broken")
        finally:
            server.start()
        plans.write(str(told.value))
    finally:
        spark.sparkContext.setLogLevel("ERROR")
    said = capfd.readouterr()
    everything = plans.getvalue() + said.out + said.err
    assert "was asked once and did not answer" in everything
    assert "MapInArrow" in everything
    assert PASSWORD not in everything
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("checkpoint" in str(path) for path in written)
    assert not [path for path in written if PASSWORD.encode() in path.read_bytes()]


def test_a_warning_is_not_given_for_a_table_with_rows(spark, tmp_path):
    uri = write_table(tmp_path / "shop.db", customers(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lookup(spark.range(1), Relation(uri, table="customers"), "id", budget=9)


def test_an_unknown_variable_is_reported_before_the_start(spark, monkeypatch):
    monkeypatch.delenv(VARIABLE)
    uri = f"postgresql://app:${{{VARIABLE}}}@127.0.0.1:1/shop"
    with pytest.raises(PenstockError, match=f"names the variable {VARIABLE}"):
        lookup(spark.range(1), Relation(uri, table="t"), "id", budget=9)
