"""Kernels made by the driver: found in the folder on one machine, sent along to others."""

import pickle
import subprocess
import sys
from types import SimpleNamespace

import numba
import pytest

from penstock.engine import Join, Lookup
from penstock.kernel import jit as jits
from penstock.spark.runtime.kernels import NONE, kernels_for

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="there is no compiled code to send"
)


def session(master):
    return SimpleNamespace(conf=SimpleNamespace(get=lambda name, default: master))


def test_on_one_machine_nothing_is_sent():
    assert kernels_for(Lookup("fifo", 2), session("local[2]")) == NONE


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "local-cluster[2,1,1024]"])
def test_to_other_machines_kernels_travel_with_the_query(master):
    sent = pickle.loads(pickle.dumps(kernels_for(Lookup("fifo", 2), session(master))))
    assert sent.kind == jits.machine_kind()
    assert sent.files
    assert sent.files.keys() == sent.hashes.keys()


def test_another_machine_compiles_nothing(tmp_path, monkeypatch):
    sent = kernels_for(Join("fifo", 2, within=5), session("yarn"))
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path))
    jits.cache_folder.cache_clear()
    try:
        code = (
            "import pickle, sys\n"
            "from penstock.kernel import jit\n"
            "from penstock.engine import Join\n"
            "jit.unpack(pickle.load(sys.stdin.buffer))\n"
            "def fail(*_): raise AssertionError('something was compiled')\n"
            "jit._KernelCache.save_overload = fail\n"
            "print(Join('fifo', 2, within=5).push([0, 1], [7, 7], [0, 1]).rows.tolist())\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], input=pickle.dumps(sent), capture_output=True, check=False
        )
    finally:
        jits.cache_folder.cache_clear()
    assert (done.stdout, done.stderr) == (b"[[0, 1]]\n", b"")
