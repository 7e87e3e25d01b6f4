"""Kernels compiled ahead: nothing is left to compile, and results do not depend on it."""

import json

import numpy as np
import pytest

from penstock.engine import Join, Lookup, warm
from penstock.kernel import jit as jits
from penstock.kernel.policy import KEEP_ALL


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


def test_the_terms_of_an_engine_are_those_of_its_kernel():
    engine = Join("fifo", 5, within=3, goal="rows", layout="split", sized=True)
    terms = json.loads(json.dumps(engine._terms()))
    assert (terms.pop("engine"), terms.pop("bounded"), terms.pop("shadow")) == (
        "join",
        True,
        False,
    )
    other = Join(budget=2, within=1, **terms)
    assert (other.form, other._pilot.policy) == (engine.form, engine._pilot.policy)
    assert Join(within=3)._pilot.policy is KEEP_ALL
