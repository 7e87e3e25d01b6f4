"""Workers import PySpark from where it is installed, and not from Spark's archive of it."""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from penstock.spark.session import STARTUP
from penstock.spark.startup.sitecustomize import without_archive

PACKAGE = Path(pyspark.__file__).parent
ARCHIVE = PACKAGE / "python" / "lib" / "pyspark.zip"


def run(path, program):
    """Return what a Python says that starts with a path, as Spark starts its workers."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_worker_imports_the_installed_package():
    where = "import pyspark; print(pyspark.__file__)"
    assert run([ARCHIVE], where) == [str(ARCHIVE / "pyspark" / "__init__.py")]
    assert run([ARCHIVE, STARTUP], where) == [str(PACKAGE / "__init__.py")]


def test_another_module_of_this_name_is_imported_too(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('the other one')")
    assert run([STARTUP, tmp_path], "print('then')") == ["the other one", "then"]
    assert run([STARTUP], "import sitecustomize; print('then')") == ["then"]


def test_the_archive_of_another_installation_stays(tmp_path):
    site = tmp_path / "site"
    (site / "pyspark").mkdir(parents=True)
    mine, other = (f"{each}/pyspark/python/lib/pyspark.zip" for each in (site, "/opt/spark"))
    assert without_archive([mine, str(site), "/x"]) == [str(site), "/x"]
    assert without_archive([mine, "/x"]) == [mine, "/x"]  # no PySpark is installed beside
    assert without_archive([other, str(site)]) == [other, str(site)]


@pytest.mark.spark
def test_the_workers_of_a_session_do_so(spark):
    def where(batches):
        import pandas as pd

        for _ in batches:
            yield pd.DataFrame({"file": [sys.modules["pyspark"].__file__]})

    [row] = spark.range(1).repartition(1).mapInPandas(where, "file string").collect()
    assert row.file == str(PACKAGE / "__init__.py")
