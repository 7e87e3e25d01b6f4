"""The guides run as they are written."""

import re
from pathlib import Path

import pytest

from penstock.spark import join
from tests.marks import some
from tests.patience import until

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "docs/index.md",
    "docs/advice.md",
    "docs/archive.md",
    "docs/clusters.md",
    "docs/counting.md",
    "docs/join.md",
    "docs/lookup.md",
    "docs/operating.md",
    "docs/profiling.md",
    "docs/quickstart.md",
    "docs/simulate.md",
    "docs/upgrading.md",
]

LONG = ("docs/advice.md", "docs/join.md", "docs/archive.md", "docs/lookup.md", "docs/quickstart.md")
# Pages that begin where a reader has a session, and two streams, their join and its query.
TAKE_STREAMS = ("README.md", "docs/index.md", "docs/clusters.md")
TAKE_QUERY = ("docs/operating.md", "docs/upgrading.md")
# What would take long, or may be taken.
CHANGED = {"port=9108": "port=0", "awaitTermination(120)": "awaitTermination(10)"}


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def streams(spark, folder: Path) -> dict:
    """Return the two streams that front pages take for granted."""
    columns = ["id % 97 AS customer", "timestamp_millis(1700000000000 + 40 * id) AS at", "id"]
    events = spark.range(3_000).selectExpr(*columns)
    events.write.parquet(f"{folder}/events")
    stream = spark.readStream.schema(events.schema).parquet(f"{folder}/events")
    return {
        "spark": spark,
        "views": stream.withColumnRenamed("id", "view"),
        "clicks": stream.where("id % 3 = 0").withColumnRenamed("id", "click"),
    }


def running(spark, folder: Path) -> dict:
    """Return the streams, their join, and a query that has found all."""
    names = streams(spark, folder)
    options = {"on": "customer", "time": "at", "within": "5 seconds", "delay": "1 second"}
    joined = join(names["views"], names["clicks"], **options)
    query = joined.writeStream.format("noop").trigger(availableNow=True).start()
    query.awaitTermination()
    return names | {"joined": joined, "query": query}


@pytest.mark.parametrize("page", some(PAGES, {*PAGES} - {*LONG}))
def test_every_block_runs(spark, page, tmp_path):
    names = streams(spark, tmp_path) if page in TAKE_STREAMS else {}
    names = running(spark, tmp_path) if page in TAKE_QUERY else names
    found = blocks(page)
    assert found
    for number, block in enumerate(found):
        for written, instead in CHANGED.items():
            block = block.replace(written, instead)
        exec(compile(block, f"{page}, block {number + 1}", "exec"), names)
    if page == "docs/operating.md":
        assert listened(spark, names["Alert"], names["joined"]) > 0


def listened(spark, kind: type, joined) -> int:
    """Return how many reports a listener was given, none of which made it fail."""

    class Counting(kind):
        seen = 0

        def onQueryProgress(self, event):
            super().onQueryProgress(event)
            self.seen += 1

    listener = Counting()
    spark.streams.addListener(listener)
    try:
        query = joined.writeStream.format("noop").trigger(availableNow=True).start()
        query.awaitTermination()
        until(lambda: listener.seen)
    finally:
        spark.streams.removeListener(listener)
    return listener.seen


def test_the_blocks_on_spark_of_the_guide_to_precision(spark):
    page = "docs/precision.md"  # its other blocks are run in tests/precision
    found = [block for block in blocks(page) if "penstock.spark" in block]
    assert found
    for block in found:
        exec(compile(block, page, "exec"), {})
