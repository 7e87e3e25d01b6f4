"""Workers are forked from a process that has imported what they need."""

import os
import subprocess
import sys

import numpy as np

from penstock.spark import session
from penstock.spark.runtime import image as images
from tests.patience import PATIENCE

THREADS = """
import os, sys
from penstock.spark.daemon import NEEDED, preload

preload()
assert not [name for name in NEEDED if name not in sys.modules]
import pyarrow as pa, threading
assert threading.active_count() == 1
child = os.fork()
if not child:
    from penstock import Join

    found = Join("fifo", 2, within=5).push([0, 1], [7, 7], [0, 1])
    table = pa.table({"a": range(100_000)})
    counted = len(table.group_by("a").aggregate([])), len(found[0])
    os._exit(0 if counted == (100_000, 1) else 1)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_arrow_works_in_a_process_that_was_forked_after_the_imports():
    subprocess.run([sys.executable, "-c", THREADS], check=True, timeout=120)


def test_images_are_removed_when_the_executor_ends(tmp_path):
    """Its end of the pipe is closed, also where it is killed."""
    environment = os.environ | {images.VARIABLE: str(tmp_path)}
    command = [sys.executable, "-m", session.PRELOADED, "pyspark.worker"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as daemon:
        assert daemon.stdout.read(4)  # its port: it is up
        image = images.Image(images.image_folder("query", 0, tmp_path), images.owner_of(daemon.pid))
        with image.lock():
            image.save(np.arange(10_000), "t")
        daemon.stdin.close()
        daemon.wait(PATIENCE)
    assert not image.is_there


def test_only_a_python_that_finds_this_package_is_preloaded(monkeypatch, tmp_path):
    assert session._can_preload(sys.executable)
    assert not session._can_preload("no-such-python")
    (tmp_path / "penstock").mkdir()
    (tmp_path / "penstock" / "__init__.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # another package of this name
    assert not session._can_preload(sys.executable)


def test_workers_of_a_local_session_are_forked_from_it(spark):
    assert spark.conf.get(session.DAEMON) == session.PRELOADED

    def modules(batches):
        import sys

        import pyarrow as pa

        for batch in batches:
            loaded = "penstock.spark.runtime.operator" in sys.modules
            yield pa.record_batch({"loaded": [loaded] * len(batch)})

    found = spark.range(2).mapInArrow(modules, "loaded boolean").collect()
    assert [row.loaded for row in found] == [True, True]
