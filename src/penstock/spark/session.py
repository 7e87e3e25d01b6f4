"""Spark sessions that suit Penstock, and the Python that their workers run."""

import os
import re
import shutil
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ..errors import BadInput
from .checks import warn_user
from .needs import SparkMissing

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SETTINGS = {
    "spark.sql.shuffle.partitions": None,  # one per core
    BATCH: "10000",  # as Spark has it; see check_settings
    PROVIDER: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
}
DAEMON = "spark.python.daemon.module"
PRELOADED = "penstock.spark.daemon"  # by its name: it is run, and not imported
WORKER_PATH = "spark.executorEnv.PYTHONPATH"
STARTUP = str(Path(__file__).with_name("startup"))  # workers start sooner with it
SMALLEST_BATCH = 10_000
_warned: set[str] = set()


def local(cores: int = 2, memory: str = "4g", **settings: object) -> SparkSession:
    """Return a local session with settings that suit streams of Arrow batches.

    Further settings are given by their names, or with underscores for dots:
    `spark_sql_shuffle_partitions=4`.
    """
    builder = SparkSession.builder.master(f"local[{cores}]").appName("penstock")
    builder = builder.config("spark.driver.memory", memory)
    # Workers run in this very environment, also where `python3` on the path is another one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    chosen = dict(SETTINGS) | {"spark.sql.shuffle.partitions": str(cores)}
    if _can_preload(os.environ["PYSPARK_PYTHON"]):
        chosen[DAEMON] = PRELOADED
    chosen |= {
        name if "." in name else name.replace("_", "."): str(value)
        for name, value in settings.items()
    }
    if re.match(r"local(\[|$)", chosen.get("spark.master") or "local"):
        chosen.setdefault(WORKER_PATH, STARTUP)  # of executors elsewhere it would replace their own
    for name, value in chosen.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _can_preload(python: str) -> bool:
    """Tell whether workers of a Python find this very package, as their daemon must."""
    if shutil.which(python) != sys.executable:
        return False
    question = "from importlib.util import find_spec; print(find_spec('penstock').origin)"
    asked = subprocess.run([python, "-c", question], capture_output=True, text=True)
    package = Path(__file__).resolve().parents[1] / "__init__.py"
    return Path(asked.stdout.strip()).resolve() == package


def check_settings(session: Any, streaming: bool = False) -> None:
    """Refuse a state store that cannot be used; say once what would slow a query down."""
    provider = str(session.conf.get(PROVIDER, ""))
    if streaming and "RocksDB" not in provider:
        raise BadInput(
            f"streams of Penstock keep their state in RocksDB, and this session in "
            f"{provider.rpartition('.')[2] or 'another store'}; set it before the query starts: "
            f'spark.conf.set("{PROVIDER}", "{ROCKSDB}")'
        )
    size = int(session.conf.get(BATCH, "10000"))
    if 0 < size < SMALLEST_BATCH and BATCH not in _warned:
        _warned.add(BATCH)
        warnings.warn(
            f"{BATCH} is {size}: rows come to Python in small batches, which is slow; set it with "
            f'spark.conf.set("{BATCH}", "{SMALLEST_BATCH}")',
            stacklevel=3,
        )


def partitions(session: Any) -> int:
    """Return how many partitions a shuffle has in this session."""
    return int(session.conf.get("spark.sql.shuffle.partitions", "200"))


def uses_wide_types(session: Any) -> bool:
    """Tell whether Spark hands texts to Python with offsets of 64 bits."""
    wide = session.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")
    return str(wide).lower() == "true"


def wants_wide_groups(session: Any) -> bool:
    """Tell whether `applyInArrow` takes texts with such offsets back: before Spark 4.3 it did not.

    It checked the types of results as if the setting were not there.
    """
    version = tuple(map(int, session.version.split(".")[:2]))
    return uses_wide_types(session) and version >= (4, 3)


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


NEEDED = ("numba", "numpy", "pandas", "pyarrow", "penstock")
_checked: set[str] = set()  # applications whose workers have what they need


def check_workers(session: Any) -> None:
    """Refuse workers whose Python lacks what we need, and say which Python to choose."""
    application = str(session.conf.get("spark.app.id", "")) or str(id(session))
    if application in _checked:
        return
    if not _run_this_python(session):
        _judge(*_ask(session))
    _checked.add(application)


def _run_this_python(session: Any) -> bool:
    """Tell whether workers are known to run what runs here: in a local session made by it."""
    try:
        named = session.sparkContext.pythonExec
        is_local = str(session.conf.get("spark.master", "")).startswith("local")
    except Exception:  # Spark Connect has no context
        return False
    # The Python of a virtual environment links to the one that it was made from: compare by name.
    return bool(is_local and sys.executable and shutil.which(named) == sys.executable)


def _ask(session: Any) -> tuple[str, list[str]]:
    """Return which Python a worker runs and what it lacks, from what it says or how it fails."""

    def missing_there(_: int) -> str:  # it travels by value: the workers may lack this package
        import sys
        from importlib.util import find_spec

        return "\n".join([sys.executable, *(name for name in NEEDED if find_spec(name) is None)])

    question = F.udf(missing_there, "string", useArrow=False)
    try:
        row = session.range(0, 1, 1, 1).select(question("id")).first()
    except Exception as error:
        return "", _reasons(str(error))
    python, *missing = row[0].split("\n")
    return python, missing


def _reasons(error: str) -> list[str]:
    """Return what a failure says about the Python of the workers; it may have other causes."""
    lacks = re.search(r"No module named '(\w+)", error)
    if lacks:
        return [lacks.group(1)]
    if "PYTHON_VERSION_MISMATCH" in error:
        return ["version"]
    return ["program"] if "Cannot run program" in error else []


def _judge(python: str, missing: list[str]) -> None:
    which = f"the Python that Spark's workers run{f', {python},' if python else ''}"
    way_out = (
        f"set the environment variable PYSPARK_PYTHON to the Python that they should run (here "
        f"{sys.executable}) before the session starts"
    )
    if missing == ["version"]:
        here = ".".join(map(str, sys.version_info[:2]))
        raise SparkMissing(f"{which} is of another version than {here}, which runs here; {way_out}")
    if missing == ["program"]:
        named = os.environ.get("PYSPARK_PYTHON", "python3")
        raise SparkMissing(f"{which} cannot be started ({named}); {way_out}")
    if missing == ["penstock"]:  # it may still come, with the job
        warn_user(
            f"{which} cannot import penstock yet; install it there, or ship it before the query "
            "starts: spark.addArtifacts(penstock.spark.session.package_zip(folder), pyfile=True)"
        )
    elif missing:
        raise SparkMissing(
            f"{which} cannot import {', '.join(missing)}; {way_out}, or install penstock[spark] "
            "there"
        )
