"""Spark's daemon of Python workers, with all that they need imported before it forks them.

Workers then begin at once and share the memory of what is imported. `spark.python.daemon.module`
names it; the Python of the workers must have this package. PySpark itself imports after the fork,
since libraries might start threads, which a fork loses. Those that are imported here start one
alone, of Arrow's allocator, which sees to that by itself.

It also removes the images of buckets (`runtime.image`) that nothing uses any more: those of queries
that have ended, and all that are left when the executor ends.
"""

import contextlib
import gc
import importlib
import os
import signal

NEEDED = (
    "pyspark.worker",
    "pyspark.sql.streaming.stateful_processor_util",
    "pyspark.sql.streaming.proto.StateMessage_pb2",
    "penstock.spark.runtime.operator",
    "penstock.spark.runtime.join_bucket",
)
SWEEP = 60.0  # seconds between looks for images that nothing uses any more


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


def sweep(ending: bool = False) -> None:
    """Remove images that nothing uses any more; those of this executor too, as it ends."""
    with contextlib.suppress(Exception):  # workers must start nevertheless
        from penstock.spark.runtime import image

        image.sweep(ending=image.owner_of(os.getpid()) if ending else None)


def main() -> None:
    """Run Spark's daemon, which ends with the executor. A timer is no thread, so it may fork."""
    from pyspark.daemon import manager

    preload()
    daemon = os.getpid()
    signal.signal(signal.SIGALRM, lambda *_: sweep())
    signal.setitimer(signal.ITIMER_REAL, SWEEP, SWEEP)
    try:
        manager()
    finally:
        if os.getpid() == daemon:
            signal.setitimer(signal.ITIMER_REAL, 0)
            sweep(ending=True)


if __name__ == "__main__":
    main()
