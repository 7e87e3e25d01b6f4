"""Without PySpark one sentence says what to install; sessions say what would hurt."""

import subprocess
import sys

import pytest

from penstock import PenstockError
from penstock.spark import session
from penstock.spark.needs import SparkMissing

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


class Session:
    """As much of a session as the check looks at."""

    def __init__(self, size):
        self.conf = {"spark.sql.execution.arrow.maxRecordsPerBatch": size}


def test_a_setting_that_hurts_is_told_once(monkeypatch, recwarn):
    monkeypatch.setattr(session, "_told", set())
    session.check_settings(Session("200000"))
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r'spark.conf.set\("spark.sql.execution.arrow'):
        session.check_settings(Session("500"))
    recwarn.clear()
    session.check_settings(Session("500"))
    assert not recwarn.list
