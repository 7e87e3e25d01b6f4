"""Sources and sinks of a pipeline, by Spark's own formats and options.

What a format may be given is read from the signatures of Spark's readers and writers; only what
they do not name is listed here.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pyspark import __version__ as spark_version
from pyspark.sql import Column, DataFrame, DataFrameWriter
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

from ...errors import BadInput
from ..frames import find_column, quote

KAFKA = "kafka"
RATE = "rate"
CONSOLE = "console"
CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark_version}"


def _arguments(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "mode")]


OF_FILES = (
    "schema",
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "maxFileAge",
    "maxCachedFiles",
    "latestFirst",
    "fileNameOnly",
    "cleanSource",
    "sourceArchiveDir",
    "ignoreMissingFiles",
    "ignoreCorruptFiles",
    "mode",
)
FILES = {
    "parquet": (*_arguments(DataStreamReader.parquet), *OF_FILES),
    "json": (*_arguments(DataStreamReader.json), *OF_FILES, "timestampNTZFormat", "timeZone"),
    "csv": (*_arguments(DataStreamReader.csv), *OF_FILES, "timestampNTZFormat", "timeZone"),
}
SOURCES = FILES | {
    RATE: ("rowsPerSecond", "rampUpTime", "numPartitions"),
    KAFKA: (
        "schema",
        "subscribe",
        "subscribePattern",
        "assign",
        "startingOffsets",
        "startingTimestamp",
        "startingOffsetsByTimestamp",
        "startingOffsetsByTimestampStrategy",
        "failOnDataLoss",
        "maxOffsetsPerTrigger",
        "minOffsetsPerTrigger",
        "maxRecordsPerPartition",
        "maxTriggerDelay",
        "minPartitions",
        "groupIdPrefix",
        "includeHeaders",
        "kafkaConsumer.pollTimeoutMs",
        "fetchOffset.numRetries",
        "fetchOffset.retryIntervalMs",
        "kafka.*",
    ),
}
SINKS = {
    "parquet": (*_arguments(DataFrameWriter.parquet), "retention"),
    CONSOLE: ("numRows", "truncate"),
    KAFKA: ("topic", "key", "includeHeaders", "kafka.*"),
}
TRIGGERS = _arguments(DataStreamWriter.trigger)
REQUIRED = dict.fromkeys(FILES, ("path",)) | {KAFKA: ("kafka.bootstrap.servers",)}


def read(spark: Any, given: Mapping[str, Any], batch: bool = False) -> DataFrame:
    """Return the frame of a source: a stream, or as a batch what is there already.

    given: the keys of the source, with `format`, and perhaps `schema` and `select`.
    """
    options = {name: each for name, each in given.items() if name not in ("format", "select")}
    kind, schema = given["format"], options.pop("schema", None)
    reader = (spark.read if batch else spark.readStream).format(kind)
    if kind in FILES:
        inferred = {"inferSchema": True, "inferTimestamp": True} | options
        schema = schema or spark.read.format(kind).options(**inferred).load().schema
        frame = reader.schema(schema).options(**options).load()
    else:
        frame = reader.options(**options).load()
    if kind == KAFKA and schema is not None:  # beside key, timestamp and so on
        frame = frame.withColumn("value", F.from_json(F.col("value").cast("string"), schema))
    if "select" in given:
        return frame.selectExpr(*given["select"])
    return frame.select("value.*") if kind == KAFKA and schema else frame


def write(result: DataFrame, given: Mapping[str, Any]) -> Any:
    """Return a writer of results into a sink; Kafka gets them as JSON."""
    special = ("format", "trigger", "partitionBy")
    options = {name: each for name, each in given.items() if name not in special}
    if given["format"] == KAFKA:
        key = options.pop("key", None)
        columns: list[Column] = [F.to_json(F.struct("*")).alias("value")]
        if key is not None:
            find_column(result, "result", key)
            columns.append(F.col(quote(key)).cast("string").alias("key"))
        result = result.select(*columns)
    writer = result.writeStream.format(given["format"]).options(**options)
    if "partitionBy" in given:
        by = given["partitionBy"]
        for name in [by] if isinstance(by, str) else by:
            find_column(result, "result", name)
        writer = writer.partitionBy(by)
    return writer.trigger(**given["trigger"]) if "trigger" in given else writer


def check_options(given: Mapping[str, Any]) -> None:
    """Refuse values that Spark's options cannot have."""
    for name, value in given.items():
        listed = name in ("select", "partitionBy")
        texts = [value] if isinstance(value, str) else value
        if listed and not (isinstance(texts, list) and all(isinstance(t, str) for t in texts)):
            raise BadInput(f"{name} must be a list of texts, got {value!r}")
        if not listed and name != "trigger" and not isinstance(value, str | int | float | bool):
            raise BadInput(f"{name} must be a text, a number, true or false, got {value!r}")
