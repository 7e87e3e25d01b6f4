"""Pipelines on Spark: a join, a lookup and a thin give what the library gives."""

import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import BadInput, PenstockError
from penstock.spark import metrics, reconcile
from penstock.spark.pipeline import Pipeline, advised, drive

pytestmark = pytest.mark.spark

START = np.datetime64("2026-01-01T00:00:00", "us")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Write two streams, as Parquet and as JSON, and a table of customers in SQLite."""
    folder = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(1)
    at = START + np.arange(2000) * np.timedelta64(1, "s")
    customer = random.integers(0, 40, 2000)
    (folder / "views").mkdir()
    (folder / "clicks").mkdir()
    times = pa.array(at, pa.timestamp("us", "UTC"))
    table = pa.table({"customer": customer, "at": times, "heat": random.random(2000)})
    pq.write_table(table, folder / "views" / "0.parquet")
    lines = [f'{{"uid": {who}, "at": "{when}Z"}}' for who, when in zip(customer[::-1], at)]
    (folder / "clicks" / "0.json").write_text("\n".join(lines))
    with sqlite3.connect(folder / "shop.db") as shop:
        shop.execute("CREATE TABLE customers (id INTEGER, name TEXT, price INTEGER)")
        rows = [(n, f"c{n}", 1 + n % 3) for n in range(30)]
        shop.executemany("INSERT INTO customers VALUES (?, ?, ?)", rows)
    shop.close()
    return folder


def join_file(data):
    return f"""
[source.views]
format = "parquet"
path = "{data}/views"

[source.clicks]
format = "json"
path = "{data}/clicks"
schema = "uid bigint, at timestamp"

[join]
left = "views"
right = "clicks"
on = {{ customer = "uid" }}
time = "at"
within = "30 seconds"
delay = "1 second"
policy = "lru"
checkpoint = "CHECKPOINT"

[sink]
format = "parquet"
path = "OUT"
trigger.availableNow = true
"""


def pipeline(folder, text):
    folder.mkdir(exist_ok=True)
    file = folder / "shop.toml"
    text = text.replace("CHECKPOINT", str(folder / "checkpoint")).replace("OUT", f"{folder}/out")
    file.write_text(text)
    return Pipeline.read(file)


def run(spark, made):
    """Run a pipeline until all rows are in; return its query and its reports."""
    reports = []
    result, said = made.result(made.frames(spark))
    query = made.start(result)
    drive(query, lambda: False, reports.append)
    return query, reports, said


def test_a_join_finds_the_results_of_spark(spark, data, tmp_path):
    query, reports, _ = run(spark, pipeline(tmp_path, join_file(data)))
    found = spark.read.parquet(f"{tmp_path}/out")
    views = spark.read.parquet(f"{data}/views").alias("v")
    clicks = spark.read.schema("uid bigint, at timestamp").json(f"{data}/clicks").alias("c")
    near = "abs(timestampdiff(MICROSECOND, v.at, c.at)) <= 30000000"
    assert found.count() == views.crossJoin(clicks).where(f"v.customer = c.uid AND {near}").count()
    assert found.columns == ["customer", "at_left", "heat", "uid", "at_right"]
    assert metrics(query).matches == found.count() > 0
    assert sum(report["numInputRows"] for report in reports) == 4000


@pytest.mark.slow
def test_a_join_with_an_archive_is_made_exact(spark, data, tmp_path):
    few = f'budget = 60\narchive = "{tmp_path}/archive"'
    text = join_file(data).replace('policy = "lru"', few)
    query, _, _ = run(spark, pipeline(tmp_path, text))
    live = spark.read.parquet(f"{tmp_path}/out")
    assert 0 < live.count() == metrics(query).matches
    assert metrics(query).owed_bytes > 0
    made = reconcile(spark, tmp_path / "archive", append=True)
    views = spark.read.parquet(f"{data}/views").alias("v")
    clicks = spark.read.schema("uid bigint, at timestamp").json(f"{data}/clicks").alias("c")
    near = "abs(timestampdiff(MICROSECOND, v.at, c.at)) <= 30000000"
    full = views.crossJoin(clicks).where(f"v.customer = c.uid AND {near}").count()
    assert live.count() + made.corrections.count() == full
    console = text.replace('format = "parquet"\npath = "OUT"', 'format = "console"')
    with pytest.raises(PenstockError, match="line 19: a join with archive writes"):
        pipeline(tmp_path, console)
    inside = pipeline(tmp_path, text.replace("OUT", f"{tmp_path}/archive"))
    with pytest.raises(PenstockError, match="mixed with it"):
        run(spark, inside)


def test_a_lookup_asks_a_database(spark, data, tmp_path):
    text = f"""
[source.views]
format = "parquet"
path = "{data}/views"
select = ["customer AS id", "heat"]

[lookup]
events = "views"
on = "id"
budget = 20
policy = "lru"
goal = "costs"
cost = "price"
how = "inner"
checkpoint = "CHECKPOINT"

[lookup.relation]
uri = "sqlite:///{data}/shop.db"
table = "customers"

[sink]
format = "parquet"
path = "OUT"
trigger.availableNow = true
"""
    made = pipeline(tmp_path, text)
    query, _, _ = run(spark, made)
    found = spark.read.parquet(f"{tmp_path}/out")
    assert found.where("name != concat('c', id)").count() == 0
    known = spark.read.parquet(f"{data}/views").where("customer < 30").count()
    told = metrics(query)
    assert found.count() == told.found == known
    paid = found.selectExpr("sum(price)").first()[0]
    assert 0 < told.cost_saved < paid <= told.cost_saved + paid  # hits alone
    assert told.goal == "costs"
    made = pipeline(tmp_path, text.replace('cost = "price"', 'cost = "prize"'))
    with pytest.raises(PenstockError, match=r"line 13: .*'prize'; did you mean 'price'"):
        made.result(made.frames(spark))
    wrong = text.replace('table = "customers"', 'table = "custmers"')
    made = pipeline(tmp_path, wrong)
    with pytest.raises(PenstockError, match=r"shop\.toml, line \d+: .*custmers"):
        made.result(made.frames(spark))


def test_a_thin_sends_fewer_rows_and_says_what_it_warns_of(spark, data, tmp_path):
    text = f"""
[source.heat]
format = "parquet"
path = "{data}/views"

[thin]
updates = "heat"
key = "customer"
value = "heat"
time = "at"
checkpoint = "CHECKPOINT"

[sink]
format = "parquet"
path = "OUT"
trigger.availableNow = true
"""
    query, _, said = run(spark, pipeline(tmp_path, text))
    found = spark.read.parquet(f"{tmp_path}/out")
    assert metrics(query).readings == 2000
    assert 40 <= metrics(query).sent == found.count() < 2000
    assert len(said) == 1
    assert "nothing narrows an interval" in said[0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('customer = "uid"', 'customr = "uid"', "line 14: the left frame has no column 'customr'"),
        ('time = "at"', 'time = ["at", "when"]', "line 15: the right frame has no column 'when'"),
        ("at timestamp", "at string", "line 15: time column 'at' of the right frame must be a tim"),
        ('"30 seconds"', '"30 parsecs"', "line 16: within must be a span of time"),
        ('policy = "lru"', 'policy = "lur"', "line 18: unknown policy 'lur'; did you mean 'lru'?"),
        ('policy = "lru"', "budget = 0", "line 18: budget must be at least 1 per bucket"),
        ('delay = "1 second"\n', "", "line 11: a join of streams must know how late rows may come"),
        ("/views", "/vews", "line 4: the source 'views': Path does not exist"),
        ("uid bigint, at", "uid bgint, at", "line 9: the source 'clicks': Unsupported data type"),
        ('/views"', '/views"\nselect = ["none"]', "line 5: the source 'views': A column"),
        (
            'path = "OUT"',
            'path = "OUT"\npartitionBy = "day"',
            "line 24: the result frame has no col",
        ),
    ],
)
def test_a_mistake_against_the_schemas_names_its_line(spark, data, tmp_path, old, new, said):
    text = join_file(data)
    assert old in text
    made = pipeline(tmp_path, text.replace(old, new, 1))
    with pytest.raises(BadInput) as found:
        made.writer(made.result(made.frames(spark))[0])
    assert str(found.value).startswith(f"shop.toml, {said}")
    assert "\n" not in str(found.value)


def test_kafka_without_its_connector_says_how_to_get_it(spark, data, tmp_path):
    kafka = 'format = "kafka"\nkafka.bootstrap.servers = "localhost:1"\nsubscribe = "views"'
    text = join_file(data).replace(f'format = "parquet"\npath = "{data}/views"', kafka)
    with pytest.raises(
        BadInput, match=r"line 2: .*no connector for Kafka here; set jars\.packages"
    ):
        pipeline(tmp_path, text).frames(spark)


def test_the_plan_names_columns_and_no_secrets(spark, data, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_DATA", str(data))
    text = join_file(data).replace(f'path = "{data}/views"', 'path = "${SHOP_DATA}/views"')
    made = pipeline(tmp_path, text + '\n[spark]\nhadoop.fs.s3a.secret.key = "abc"\n')
    frames = made.frames(spark)
    result, said = made.result(frames)
    plan = made.describe(frames, result, said)
    assert plan["sources"]["views"]["columns"] == {
        "customer": "bigint",
        "at": "timestamp",
        "heat": "double",
    }
    assert plan["sources"]["views"]["path"] == "${SHOP_DATA}/views"
    assert list(plan["result"]) == result.columns
    assert plan["spark"] == {"hadoop": {"fs": {"s3a": {"secret": {"key": "***"}}}}}


@pytest.mark.slow
def test_it_ends_after_the_batch_and_goes_on_from_there(spark, tmp_path):
    text = """
[source.ticks]
format = "rate"
rowsPerSecond = 20
select = ["value % 5 AS k", "timestamp AS at", "value"]

[thin]
updates = "ticks"
key = "k"
value = "value"
time = "at"
rule = "static:width=10"
checkpoint = "CHECKPOINT"

[sink]
format = "parquet"
path = "OUT"
"""
    reports = []
    for _ in range(2):
        made, before = pipeline(tmp_path, text), len(reports)
        query = made.start(made.result(made.frames(spark))[0])
        drive(query, lambda start=before: len(reports) > start + 1, reports.append)
        assert not query.isActive
        assert query.exception() is None
        # What was told of is committed: the next run does not do it again.
        committed = {int(each.name) for each in (tmp_path / "checkpoint/commits").glob("[0-9]*")}
        assert reports[-1]["batchId"] in committed
    batches = [each["batchId"] for each in reports]
    assert batches == sorted(set(batches))
    values = spark.read.parquet(f"{tmp_path}/out")
    assert values.groupBy("k", "at").count().where("count > 1").count() == 0


@pytest.mark.slow
def test_a_query_that_fails_says_why_in_one_sentence(spark, data, tmp_path):
    run(spark, pipeline(tmp_path, join_file(data)))
    (data / "views" / "1.parquet").write_bytes(b"not Parquet")
    try:
        with pytest.raises(PenstockError) as found:
            run(spark, pipeline(tmp_path, join_file(data)))
    finally:
        (data / "views" / "1.parquet").unlink()
    assert str(found.value).startswith("the query failed: ")
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 500


@pytest.mark.slow
def test_advice_comes_from_the_sources(spark, data, tmp_path):
    made = advised(pipeline(tmp_path, join_file(data)), spark)
    assert made.streams.rows == (2000, 2000)
    assert "within='30 seconds', delay='1 second'" in made.code
    assert not any("both sides" in each for each in made.said)
    one_sided = join_file(data).replace('"30 seconds"', '["-5 seconds", "30 seconds"]')
    wider = advised(pipeline(tmp_path / "one", one_sided), spark)
    assert (wider.answer, wider.budget) == (made.answer, made.budget)
    assert "within=('-5 seconds', '30 seconds'), delay='1 second'" in wider.code
    assert "30 seconds to both sides" in wider.said[0]
    rate = """
[source.ticks]
format = "rate"
rowsPerSecond = 100
select = ["value % 50 AS k", "timestamp AS at"]

[lookup]
events = "ticks"
on = "k"
budget = 10
relation = { uri = "sqlite:///shop.db", table = "customers" }

[sink]
format = "console"
"""
    assert advised(pipeline(tmp_path / "rate", rate), spark).streams.keys == 50
