"""Kernels compiled ahead: nothing is left to compile, and results do not depend on it."""

import json

import numba
import numpy as np
import pytest

from penstock.engine import Join, Lookup, base, warm
from penstock.kernel import jit as jits
from penstock.kernel.policy import KEEP_ALL
from tests.patience import until

compiled_only = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="there is nothing to compile"
)


def rows(n=3000):
    random = np.random.default_rng(5)
    return random.integers(0, 2, n), random.zipf(1.3, n) % 100, np.arange(n)


@pytest.mark.parametrize("make", [Join, Lookup])
@pytest.mark.parametrize("policy", ["fifo", "gdj:percentile=auto"])
def test_after_it_is_prepared_an_engine_compiles_nothing(make, policy, monkeypatch):
    given = {"within": 50} if make is Join else {}
    warm.prepare(make(policy, 20, **given))
    monkeypatch.setattr(jits._KernelCache, "save_overload", fail)
    engine = make(policy, 20, **given)
    side, key, time = rows()
    if make is Join:
        engine.push(side, key, time)
    else:
        engine.push(key)
    assert engine.attained > 0


def fail(*_):
    raise AssertionError("something was compiled")


@compiled_only
def test_what_auto_puts_in_force_is_compiled_beside_and_does_the_same(monkeypatch):
    """The kernel of the miniatures serves until the policy's own is there."""
    asked = []
    monkeypatch.setattr(warm, "compile_beside", asked.append)
    monkeypatch.setattr(base, "_ready", set())
    monkeypatch.setattr(base, "_asked_for", set())
    monkeypatch.setattr(base, "is_ready", lambda *_: False)
    side, key, time = rows()
    waiting = Join(budget=20, within=50)
    found = [waiting.push(side, key, time).rows.tolist()]
    assert [terms["policy"] for terms in asked][:1] == ["rate"]
    monkeypatch.setattr(base, "is_ready", lambda *_: True)
    ready = Join(budget=20, within=50)
    assert ready.push(side, key, time).rows.tolist() == found[0]
    assert ready.explain() == waiting.explain()


@compiled_only
def test_a_process_beside_leaves_the_kernel_in_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv(warm.BESIDE, raising=False)
    jits.cache_folder.cache_clear()
    try:
        warm.compile_beside({"engine": "lookup", "policy": "fifo", "sized": False})
    finally:
        until(lambda: len([*tmp_path.rglob("*.nbc")]) > 0)
        jits.cache_folder.cache_clear()


@compiled_only
def test_a_process_beside_starts_no_other(monkeypatch):
    monkeypatch.setenv(warm.BESIDE, "1")
    monkeypatch.setattr(warm.subprocess, "Popen", fail)
    warm.compile_beside({})


def test_the_terms_of_an_engine_are_those_of_its_kernel():
    engine = Join("fifo", 5, within=3, goal="rows", layout="split", sized=True)
    terms = json.loads(json.dumps(engine._terms()))
    assert terms.pop("engine") == "join"
    other = Join(budget=2, **terms)
    assert (other.form, other._pilot.policy) == (engine.form, engine._pilot.policy)
    assert Join(within=3)._pilot.policy is KEEP_ALL
