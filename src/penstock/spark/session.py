"""Spark sessions that suit Penstock."""

import os
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
SETTINGS = {
    "spark.sql.shuffle.partitions": None,  # one per core
    BATCH: "10000",  # as Spark has it; see check_settings
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
}
SMALLEST_BATCH = 10_000
_told: set[str] = set()


def local(cores: int = 2, memory: str = "4g", **settings: Any) -> SparkSession:
    """Return a local session with settings that suit streams of Arrow batches.

    Further settings are given with underscores for dots: `spark_sql_shuffle_partitions=4`.
    """
    builder = SparkSession.builder.master(f"local[{cores}]").appName("penstock")
    builder = builder.config("spark.driver.memory", memory)
    # Workers run in this very environment, also where `python3` on the path is another one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    chosen = dict(SETTINGS) | {"spark.sql.shuffle.partitions": str(cores)}
    chosen |= {name.replace("_", "."): str(value) for name, value in settings.items()}
    for name, value in chosen.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def check_settings(session: Any) -> None:
    """Say once what would slow the join down or fill the memory, with the way out."""
    size = batch_rows(session)
    harm = None
    if size is None:
        harm = f"{BATCH} is 0: all results of a micro-batch then stay in memory until its end"
    elif size < SMALLEST_BATCH:
        harm = f"{BATCH} is {size}: rows come to Python in small batches, which is slow"
    if harm is not None and BATCH not in _told:
        _told.add(BATCH)
        warnings.warn(
            f'{harm}; set it with spark.conf.set("{BATCH}", "{SMALLEST_BATCH}")',
            stacklevel=3,
        )


def batch_rows(session: Any) -> int | None:
    """Return how many rows travel together between Spark and Python, None for no limit."""
    size = int(session.conf.get(BATCH, "10000"))
    return size if size > 0 else None


def partitions(session: Any) -> int:
    """Return how many partitions a shuffle has in this session."""
    return int(session.conf.get("spark.sql.shuffle.partitions", "200"))


def uses_wide_types(session: Any) -> bool:
    """Tell whether Spark hands texts to Python with offsets of 64 bits."""
    wide = session.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")
    return str(wide).lower() == "true"


def watermark_clock(session: Any) -> str:
    """Return which stream sets the clock, as Spark has it for queries of several sources."""
    policy = session.conf.get("spark.sql.streaming.multipleWatermarkPolicy", "min")
    return "fastest" if str(policy).lower() == "max" else "slowest"


def package_zip(folder: str | Path) -> Path:
    """Write the package as a zip file that Spark can ship to its executors, and return its path.

    Pass it to `spark.addArtifacts(path, pyfile=True)`.
    """
    package = Path(__file__).resolve().parents[1]
    target = Path(folder) / "penstock.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(package.parent))
    return target
