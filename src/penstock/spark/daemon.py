"""Spark's daemon of Python workers, with all that they need imported before it forks them.

Workers then begin at once and share the memory of what is imported. `spark.python.daemon.module`
names it; the Python of the workers must have this package. PySpark itself imports after the fork,
since libraries might start threads, which a fork loses. Those that are imported here start one
alone, of Arrow's allocator, which sees to that by itself.
"""

import contextlib
import gc
import importlib

NEEDED = (
    "pyspark.worker",
    "pyspark.sql.streaming.stateful_processor_util",
    "pyspark.sql.streaming.proto.StateMessage_pb2",
    "penstock.spark.runtime.operator",
    "penstock.spark.runtime.join_bucket",
)


def preload() -> None:
    """Import what workers need, as far as it is there: a worker says itself what it lacks."""
    for name in NEEDED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    _prepare_numba()
    gc.collect()
    gc.freeze()  # a collection would write to the pages that are shared


def _prepare_numba() -> None:
    """Fill the tables that Numba needs before it loads a kernel: half a second, and 20 MB."""
    with contextlib.suppress(ImportError):
        from numba.core.registry import cpu_target

        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()
