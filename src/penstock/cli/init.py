"""`penstock init`: a commented pipeline, and small files for it to run on."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ..errors import BadInput

NAME = "pipeline.toml"
ROWS, FILES = 10_000, 5  # of each source: rows in a file, and files
START = 1_800_000_000_000_000  # microseconds: January 2027
GAP = 10_000  # microseconds between two rows, so that a file is 100 seconds

PIPELINE = """\
# A pipeline of Penstock. See it: penstock run pipeline.toml --check
# Run it:                      penstock run pipeline.toml
# Paths are relative to this file. ${NAME} stands for a variable of the environment.

# Sources: parquet, json, csv, kafka or rate, with Spark's own options beside `format`.
[source.views]
format = "parquet"
path = "views"
maxFilesPerTrigger = 1  # a micro-batch takes one file

[source.clicks]
format = "json"
path = "clicks"
schema = "customer bigint, at timestamp, button string"  # inferred from the files if left out
maxFilesPerTrigger = 1

# From Kafka the value is JSON of this schema. `select` takes what is needed, as in SQL.
# [source.orders]
# format = "kafka"
# kafka.bootstrap.servers = "localhost:9092"
# subscribe = "orders"
# schema = "customer bigint, total double"
# select = ["value.customer", "value.total", "timestamp AS at"]

# One of [join], [lookup] and [thin]. The keys are the arguments of the function.
[join]
left = "views"
right = "clicks"
on = "customer"
time = "at"
within = "20 seconds"    # two rows match if their times are at most so far apart
delay = "1 second"       # how late a row may come
budget = 1_500           # rows held at most; without it the join is exact
# policy = "auto"        # what is evicted; `--advise` proposes a policy and a budget
checkpoint = "checkpoint"

# [lookup]
# events = "clicks"
# on = "customer"
# relation = { uri = "postgresql://app:${DB_PASSWORD}@db/shop", table = "customers", key = "id" }
# budget = 50_000
# checkpoint = "checkpoint"

# Where results go: parquet, kafka or console.
[sink]
format = "parquet"
path = "matches"
trigger.availableNow = true  # ends when all files are read; without it the pipeline waits for more
# trigger.processingTime = "10 seconds"

# [monitor]
# port = 8321

# Settings of Spark: jars.packages is spark.jars.packages.
# [spark]
# jars.packages = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"
"""


def init(
    folder: Annotated[
        Path, typer.Argument(help="Where it is written.", metavar="[FOLDER]")
    ] = Path(),
) -> None:
    """Write a commented pipeline that runs as it is, and the files that it reads."""
    for name in (NAME, "views", "clicks"):
        if (folder / name).exists():
            raise BadInput(f"{folder / name} is there already; choose another folder")
    try:
        _write_files(folder)
        (folder / NAME).write_text(PIPELINE, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{folder} cannot be written to: {error.strerror}") from None
    print(f"Wrote {folder / NAME}, and files in {folder / 'views'} and {folder / 'clicks'}.")
    print(f"Next: penstock run {folder / NAME} --check")


def _write_files(folder: Path) -> None:
    """Write views as Parquet, and clicks, a fifth as many, as JSON: a few customers make most."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(1)
    for name in ("views", "clicks"):
        (folder / name).mkdir(parents=True)
    for number in range(FILES):
        customer = (2_000 * random.random(ROWS) ** 3).astype(np.int64)
        at = START + GAP * np.arange(number * ROWS, (number + 1) * ROWS)
        times = pa.array(at, pa.timestamp("us", "UTC"))
        page = pa.array([f"/page/{each}" for each in random.integers(0, 50, ROWS)])
        table = pa.table({"customer": customer, "at": times, "page": page})
        pq.write_table(table, folder / "views" / f"{number}.parquet")
        clicking = random.permutation(customer)[: ROWS // 5].tolist()
        when = [f"{np.datetime64(int(each), 'us')}Z" for each in at[::5]]
        lines = [
            json.dumps({"customer": who, "at": then, "button": "buy"})
            for who, then in zip(clicking, when, strict=True)
        ]
        (folder / "clicks" / f"{number}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")
