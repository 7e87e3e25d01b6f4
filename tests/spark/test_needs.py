"""Without PySpark one sentence says what to install; sessions say what would hurt."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock import PenstockError
from penstock.errors import BadInput
from penstock.spark import checks, session
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


def test_a_harmful_setting_is_reported_once(monkeypatch, recwarn):
    monkeypatch.setattr(session, "_warned", set())
    session.check_settings(Session("10000"))
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r'spark.conf.set\("spark.sql.execution.arrow'):
        session.check_settings(Session("500"))
    recwarn.clear()
    session.check_settings(Session("500"))
    assert not recwarn.list


def test_joins_that_are_made_in_several_threads_leave_the_output_as_it_was(capsys):
    """What comes before a join is read from what Spark prints, which only one may catch."""

    class Frame:
        def __init__(self, name):
            self.name = name

        def explain(self, extended):
            time.sleep(0.001)  # others come in between, if they can
            print(f"== Analyzed Logical Plan ==\n{self.name}\n== Optimized Logical Plan ==")

    before = sys.stdout
    with ThreadPoolExecutor(8) as threads:
        plans = list(threads.map(checks._plan_text, map(Frame, range(40))))
    assert sys.stdout is before
    assert plans == [f"\n{number}\n" for number in range(40)]
    assert not capsys.readouterr().out
