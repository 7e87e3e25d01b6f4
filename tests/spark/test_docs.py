"""The guides run as they are written."""

import re
from pathlib import Path

import pytest

from tests.marks import some

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "docs/index.md",
    "docs/advice.md",
    "docs/archive.md",
    "docs/counting.md",
    "docs/join.md",
    "docs/lookup.md",
    "docs/profiling.md",
    "docs/quickstart.md",
    "docs/simulate.md",
]

LONG = ("docs/advice.md", "docs/join.md", "docs/archive.md", "docs/lookup.md", "docs/quickstart.md")
TAKE_STREAMS = ("README.md", "docs/index.md")


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


@pytest.mark.parametrize("page", some(PAGES, {*PAGES} - {*LONG}))
def test_every_block_runs(spark, page, tmp_path):
    names = streams(spark, tmp_path) if page in TAKE_STREAMS else {}
    found = blocks(page)
    assert found
    for number, block in enumerate(found):
        exec(compile(block, f"{page}, block {number + 1}", "exec"), names)


def test_the_blocks_on_spark_of_the_guide_to_precision(spark):
    page = "docs/precision.md"  # its other blocks are run in tests/precision
    found = [block for block in blocks(page) if "penstock.spark" in block]
    assert found
    for block in found:
        exec(compile(block, page, "exec"), {})
