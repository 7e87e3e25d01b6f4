"""Lookups in processes of their own: killed and started anew, and over Spark Connect."""

import pytest

from penstock.spark import Relation, lookup, metrics
from tests.spark.processes import figures, kill, run_and_kill, start_driver
from tests.spark.streams import Files, results, run
from tests.spark.test_lookup import SCHEMA, customers, expected, write_events, write_table

pytest.importorskip("adbc_driver_sqlite", reason="no databases: pip install penstock[databases]")
pytestmark = pytest.mark.spark

DRIVER = "tests.spark.lookup_driver"
OPTIONS = {"budget": 11, "policy": "lru"}


@pytest.mark.slow  # a server of its own; that of the join is tried always
def test_over_connect(spark, tmp_path):
    uri = write_table(tmp_path / "shop.db", customers(50))
    batches = write_events(Files(tmp_path / "events", SCHEMA), seed=8, parts=2)
    options = OPTIONS | {"goal": "bytes"}
    given = {"folder": str(tmp_path), "uri": uri, "master": "connect", "options": options}
    driver = start_driver(given, tmp_path / "log", DRIVER)
    try:
        told = figures(driver, tmp_path / "log")
    finally:
        kill(driver)
    assert results(spark, tmp_path) == expected(batches, 50)
    assert told["events"] == told["batch_rows"] == 600
    assert told["hits"] + told["known_missing"] + told["misses"] + told["null_keys"] == 600
    assert told["rows_held"] == 11
    assert told["bytes_saved"] > told["bytes_fetched"] > 0
    assert (told["goal"], told["cost_saved"]) == ("bytes", None)


@pytest.mark.slow  # a Spark process of its own, killed on its way
def test_killed_and_started_anew(spark, tmp_path):
    uri = write_table(tmp_path / "shop.db", customers(50))
    files = Files(tmp_path / "events", SCHEMA)
    batches = write_events(files, seed=9, parts=12)
    run_and_kill(tmp_path, {"uri": uri, "options": OPTIONS}, DRIVER)
    relation = Relation(uri, table="customers", key="id")
    query = run(lookup(files.stream(spark), relation, "k", **OPTIONS), tmp_path)
    assert results(spark, tmp_path) == expected(batches, 50)
    calm = run(lookup(files.stream(spark), relation, "k", **OPTIONS), tmp_path, "calm")
    told, undisturbed = metrics(query), metrics(calm)
    assert told.events == 3600
    assert (told.hits, told.misses) == (undisturbed.hits, undisturbed.misses)
