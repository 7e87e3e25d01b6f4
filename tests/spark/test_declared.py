"""Spark asks a processor which state there is where Penstock may not be installed."""

import os
import subprocess

import pytest
from pyspark import cloudpickle
from pyspark.sql.streaming import stateful_processor_util

from penstock.spark.runtime.declared import declared
from penstock.spark.runtime.join_bucket import JoinBucket, counter_names
from penstock.spark.runtime.operator import Processor, Work
from tests.spark.bare import bare_python
from tests.spark.plans import make_plan

# What Spark's transform_with_state_driver_worker does with it; this client notes what it is asked.
DRIVER_WORKER = """
import pickle, sys
from importlib.util import find_spec

from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasFuncMode

assert find_spec("penstock") is None

class Client:
    def set_handle_state(self, state):
        print("handle", state.name)

    def get_map_state(self, name, key, value, *rest):
        print("map", name, key.simpleString(), value.simpleString())

called = pickle.load(sys.stdin.buffer)
called(Client(), TransformWithStateInPandasFuncMode.PRE_INIT, None, iter([]))
assert not [name for name in sys.modules if name.startswith(("penstock", "numba"))]
"""


@pytest.mark.skipif(
    not hasattr(stateful_processor_util, "TransformWithStateInPandasUdfUtils"),
    reason="Spark 4.0 has this function inside of another one",
)
def test_the_state_is_declared_without_the_package(tmp_path):
    plan = make_plan(budget=60, policy="prob")
    processor = declared(Processor(Work(JoinBucket, plan, counter_names(2), event_time=True)))
    kind = stateful_processor_util.TransformWithStateInPandasUdfUtils
    called = kind(processor, "EventTime").transformWithStateUDF
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [bare_python(tmp_path), "-c", DRIVER_WORKER],
        input=cloudpickle.dumps(called),
        capture_output=True,
        cwd=tmp_path,
        env=env,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().splitlines() == [
        "handle PRE_INIT",
        "map base struct<number:bigint> struct<chunk:binary>",
    ]
