"""Without PySpark one sentence says what to install; sessions say what would hurt."""

import subprocess
import sys

import pytest

from penstock import PenstockError
from penstock.errors import BadInput
from penstock.spark import session
from penstock.spark.needs import SparkMissing, check_java

HIDE = """
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "pyspark" else real(name, *more)
import penstock.spark
"""


def test_one_sentence():
    done = subprocess.run([sys.executable, "-c", HIDE], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == (
        "penstock.spark.needs.SparkMissing: penstock.spark needs pyspark, which cannot be "
        "imported; pip install penstock[spark]"
    )
    assert issubclass(SparkMissing, PenstockError)
    assert issubclass(SparkMissing, ImportError)


def test_java_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(SparkMissing, match="there is none on the path; install it"):
        check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkMissing, match="holds none"):
        check_java()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.touch(0o755)
    check_java()


class Session:
    """As much of a session as the check looks at."""

    def __init__(self, size):
        self.conf = {"spark.sql.execution.arrow.maxRecordsPerBatch": size}


def test_streams_need_the_state_store_of_rocksdb():
    mine = Session("10000")
    session.check_settings(mine)  # a batch keeps no state
    with pytest.raises(BadInput, match=r'spark.conf.set\("spark.sql.streaming.stateStore.provider'):
        session.check_settings(mine, streaming=True)
    mine.conf[session.PROVIDER] = session.ROCKSDB
    session.check_settings(mine, streaming=True)


def test_a_setting_that_hurts_is_told_once(monkeypatch, recwarn):
    monkeypatch.setattr(session, "_told", set())
    session.check_settings(Session("10000"))
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r'spark.conf.set\("spark.sql.execution.arrow'):
        session.check_settings(Session("500"))
    recwarn.clear()
    session.check_settings(Session("500"))
    assert not recwarn.list
