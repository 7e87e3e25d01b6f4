"""Hooks called by address do what hooks that are compiled into a kernel do, to the last bit."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from penstock import policies
from penstock.engine import Join, Lookup
from penstock.kernel.policy import CACHING, JOINING
from tests.marks import some
from tests.recount import recount

N = 300


ROWS, SPLIT = {"goal": "rows"}, {"layout": "split"}


def rows(seed):
    random = np.random.default_rng(seed)
    return random.integers(0, 2, N), random.zipf(1.4, N) % 60, np.arange(N)


JOINS = [(policy, {}) for policy in ("prob", "rate", "gdj", "life", "fifo")]
LIKEWISE = [(policy, how) for policy in ("prob", "rate") for how in (ROWS, SPLIT)]


@pytest.mark.parametrize("kind", [*JOINS, *some(LIKEWISE, LIKEWISE[:2])], ids=str)
def test_a_join_is_the_same(kind):
    policy, how = kind
    direct, by_address = (Join(policy, 20, within=100, **how) for _ in range(2))
    by_address.is_shadow = True
    side, key, time = rows(1)
    for part in (slice(0, 120), slice(120, N)):
        one, other = (each.push(side[part], key[part], time[part]) for each in (direct, by_address))
        assert one.rows.tolist() == other.rows.tolist()
    recount(by_address)
    assert direct.held_rows.tolist() == by_address.held_rows.tolist()
    same = direct.save(), by_address.save()
    for name, array in same[0].items():
        assert np.array_equal(array, same[1][name]), name


@pytest.mark.parametrize("policy", ["lru", "lfu", "lhd", "s3fifo", "wtinylfu"])
def test_a_cache_is_the_same(policy):
    direct, by_address = (Lookup(policy, 20) for _ in range(2))
    by_address.is_shadow = True
    key = rows(2)[1]
    assert direct.push(key).hit.tolist() == by_address.push(key).hit.tolist()
    recount(by_address)
    assert direct.resident.tolist() == by_address.resident.tolist()


@pytest.mark.parametrize("problem", [JOINING, CACHING])
def test_every_policy_that_auto_tries_can_be_called_by_address(problem):
    side, key, time = rows(3)
    for family in policies.families(problem, plain=True, windowed=True):
        if problem == JOINING:
            engine = Join(family[0], 10, within=50)
        else:
            engine = Lookup(family[0], 10)
        engine.is_shadow = True
        if isinstance(engine, Join):
            engine.push(side[:100], key[:100], time[:100])
        else:
            engine.push(key[:100])
        recount(engine)
        assert engine.attained > 0


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_what_a_kernel_is_made_of_does_not_depend_on_what_was_compiled_before():
    """Else each process would name its kernels in its own way, and find none."""
    code = (
        "from penstock.engine import Lookup\n"
        "from penstock.engine.lookup_kernel import compile_discard, compile_lookup\n"
        "from penstock.kernel.content import content_hash\n"
        "from penstock.kernel.indirect import INDIRECT\n"
        "kernels = compile_discard, compile_lookup\n"
        "def made(): return [content_hash(f(INDIRECT)) for f in kernels]\n"
    )
    use = "cache = Lookup('fifo', 2); cache.push([1]); cache.discard([1])\n"
    said = [
        subprocess.run(
            [sys.executable, "-c", f"{code}{first}print(made())"],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PENSTOCK_CACHE_DIR": ""},
        ).stdout
        for first in ("", use)
    ]
    assert said[0] == said[1]
