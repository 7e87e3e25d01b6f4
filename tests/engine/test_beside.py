"""Rows that come before their kernel is compiled: plain Python does the same, to the last bit."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from penstock import policies
from penstock.engine import Join, Lookup, base, beside, warm
from penstock.kernel import jit as jits
from penstock.kernel.policy import CACHING, JOINING
from tests.marks import compiled_only, some
from tests.patience import until
from tests.recount import recount

N = 400


def rows(n=N):
    random = np.random.default_rng(5)
    return random.integers(0, 2, n), random.zipf(1.3, n) % 100, np.arange(n)


def fail(*_):
    raise AssertionError("something was compiled")


@pytest.fixture
def awaited(monkeypatch):
    """Let kernels be compiled beside, where they are never ready; return what was asked for."""
    asked = []
    monkeypatch.setattr(base, "_ready", set())
    monkeypatch.setattr(base, "is_ready", lambda *_: False)
    monkeypatch.setattr(
        base, "is_compiled_beside", lambda call: asked.append(*call.arguments) or True
    )
    return asked


def take(engine, until_row=N):
    """Push rows in batches of 100, and return the results and the state after them."""
    side, key, time = rows()
    found = []
    for start in range(0, until_row, 100):
        some = slice(start, start + 100)
        if isinstance(engine, Join):
            found += engine.push(side[some], key[some], time[some]).rows.tolist()
        else:
            found += engine.push(key[some]).hit.tolist()
    recount(engine)
    return found, engine.save()


def assert_same(one, other):
    assert one[0] == other[0]
    assert one[1].keys() == other[1].keys()
    for name, array in one[1].items():
        assert array.tobytes() == other[1][name].tobytes(), name


def engines(problem):
    return [(problem, each.name) for each in policies.BUILT_IN if problem in each.problems]


OFTEN = [(JOINING, name) for name in ("heeb", "lba", "prob", "rate")]
OFTEN += [(CACHING, name) for name in ("lhd", "lru", "wtinylfu")]


@compiled_only
@pytest.mark.parametrize("engine", some(engines(JOINING) + engines(CACHING), OFTEN), ids="-".join)
def test_every_policy_does_the_same_as_plain_python(engine, monkeypatch, request):
    problem, policy = engine
    make = Lookup if problem == CACHING else Join
    given = {} if problem == CACHING else {"within": 50}
    compiled = take(make(policy, 20, **given))
    request.getfixturevalue("awaited")
    monkeypatch.setattr(jits._KernelCache, "save_overload", fail)
    assert_same(take(make(policy, 20, **given)), compiled)


@compiled_only
@pytest.mark.parametrize(
    "given",
    [
        {"within": 50},
        {"within": (0, 50), "how": "left", "policy": "fifo", "budget": 20},
        {"within": 50, "match": "one", "policy": "prob", "budget": 20},
        {"within": 50, "together": True, "policy": "prob", "budget": 20},
    ],
    ids=str,
)
def test_every_kind_of_join_does_the_same_as_plain_python(given, request):
    compiled = take(Join(**given))
    request.getfixturevalue("awaited")
    assert_same(take(Join(**given)), compiled)


@compiled_only
@pytest.mark.parametrize("make", [Join, Lookup])
def test_auto_does_the_same_as_plain_python(make, request):
    given = {"within": 50} if make is Join else {}
    compiled = take(make(budget=20, **given))
    asked = request.getfixturevalue("awaited")
    assert_same(take(make(budget=20, **given)), compiled)
    assert not asked[0]["shadow"], "the engine's own kernel is compiled first"
    assert any(terms["shadow"] for terms in asked)


@compiled_only
def test_kernels_take_over_in_the_middle_of_a_batch(awaited, monkeypatch):
    side, key, time = rows()
    expected = Join("prob", 20, within=50).push(side, key, time).rows.tolist()
    looks = iter(range(N))
    monkeypatch.setattr(base, "is_ready", lambda *_: next(looks) > 2)
    join = Join("prob", 20, within=50)
    assert join.push(side, key, time).rows.tolist() == expected
    assert join._slow_since is None
    assert len(awaited) == N // base.PLAIN + 1 + 3


@compiled_only
def test_after_some_rows_an_engine_waits_for_its_kernel(awaited, monkeypatch):
    side, key, time = rows()
    expected = Join("prob", 20, within=50).push(side, key, time).rows.tolist()
    monkeypatch.setattr(base, "MOST_PLAIN", 2 * base.PLAIN)
    pauses = []
    monkeypatch.setattr(base.time, "sleep", pauses.append)
    monkeypatch.setattr(base, "is_ready", lambda *_: len(pauses) >= 3)
    assert Join("prob", 20, within=50).push(side, key, time).rows.tolist() == expected
    assert pauses == [base.PAUSE] * 3


@compiled_only
def test_a_process_beside_leaves_kernels_in_the_folder_and_ends(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv(beside.WHEN)
    monkeypatch.setattr(beside, "_compilers", {})
    jits.cache_folder.cache_clear()
    try:
        assert beside.is_compiled_beside(*warm.calls_for(Lookup("fifo", 2)))
        (compiler,) = beside._compilers.values()
        until(lambda: any(tmp_path.rglob("*.nbc")))
        compiler.process.stdin.close()
        assert compiler.process.wait() == 0
    finally:
        jits.cache_folder.cache_clear()


FAILS = beside.Call("builtins", "int", ("x",))
NOTHING = beside.Call("builtins", "int", ())


@pytest.fixture
def no_compiler(monkeypatch):
    """Let processes beside be started, of which there is none yet."""
    monkeypatch.delenv(beside.WHEN)
    monkeypatch.setattr(beside, "_compilers", {})
    monkeypatch.setattr(beside, "_elsewhere", set())


@compiled_only
def test_a_process_beside_that_fails_is_not_waited_for(no_compiler):
    assert beside.is_compiled_beside(FAILS)
    (compiler,) = beside._compilers.values()
    assert compiler.process.wait() != 0
    assert not beside.is_compiled_beside(FAILS)


@compiled_only
def test_a_process_beside_that_is_killed_is_not_waited_for(no_compiler):
    assert beside.is_compiled_beside(NOTHING)
    (compiler,) = beside._compilers.values()
    compiler.process.kill()
    compiler.process.wait()
    assert not beside.is_compiled_beside(NOTHING)


@compiled_only
def test_a_process_beside_that_has_nothing_to_do_ends_and_another_takes_over(no_compiler):
    idle = "import penstock.engine.beside as b; b.IDLE = 0.1; b.serve()"
    made = beside.Compiler()
    made.process.kill()
    made.process = subprocess.Popen([sys.executable, "-c", idle], stdin=subprocess.PIPE)
    beside._compilers[beside.os.getpid()] = made
    assert made.process.wait() == 0
    assert beside.is_compiled_beside(NOTHING)
    (compiler,) = beside._compilers.values()
    assert compiler is not made
    compiler.process.kill()


@compiled_only
def test_what_another_process_has_asked_for_is_waited_for_while_its_compiler_lives(
    no_compiler, monkeypatch
):
    monkeypatch.setattr(beside.subprocess, "Popen", no_process)
    here = beside.os.getpid()  # stands for the compiler
    beside.rely_on(beside.Elsewhere(here, frozenset([repr(NOTHING)])))
    assert beside.is_compiled_beside(NOTHING)
    assert not beside.is_compiled_beside(FAILS), "no process was asked for it"


def no_process(*_, **__):
    raise OSError("no process can be started")


@compiled_only
def test_an_engine_whose_kernel_never_comes_compiles_it(awaited, monkeypatch):
    side, key, time = rows()
    expected = Join("prob", 20, within=50).push(side, key, time).rows.tolist()
    monkeypatch.setattr(base, "MOST_PLAIN", base.PLAIN)
    monkeypatch.setattr(base, "PATIENCE", 0.1)
    assert Join("prob", 20, within=50).push(side, key, time).rows.tolist() == expected


@compiled_only
def test_a_line_is_logged_when_rows_wait_for_a_process_beside(awaited, monkeypatch, caplog):
    monkeypatch.setattr(base, "SLOW", 0.0)
    jits.say_compiling.cache_clear()
    take(Join("prob", 20, within=50))
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith("compiling joins under prob: a few seconds, once per machine (kept in ")


@compiled_only
def test_a_policy_that_has_no_name_elsewhere_is_compiled_here(no_compiler, monkeypatch):
    monkeypatch.setattr(beside.subprocess, "Popen", no_process)
    mine = dataclasses.replace(policies.named("fifo"), name="mine")
    found = take(Join(mine, 20, within=50))[0]
    assert not beside._compilers
    assert found == take(Join("fifo", 20, within=50))[0]
    named_alike = dataclasses.replace(mine, name="lru")
    assert not policies.is_named(named_alike)
    assert policies.is_named(policies.named("lru"))


@compiled_only
def test_shadow_caches_whose_kernel_is_ready_start_no_process(no_compiler, monkeypatch):
    engine = Join(budget=20, within=50)
    warm.prepare(Join(budget=20, within=50))
    monkeypatch.setattr(beside.subprocess, "Popen", no_process)
    take(engine)
    assert not beside._compilers


@compiled_only
def test_a_first_result_waits_for_no_kernel(tmp_path):
    """In a new process, with an empty folder."""
    code = (
        "from penstock import Join\n"
        "from penstock.kernel import jit\n"
        "join = Join('prob', 2, within=9)\n"
        "made = jit.used_kernels()\n"
        "print(join.push([0, 1], [7, 7], [0, 1]).rows.tolist(), jit.used_kernels() - made)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        env={"PENSTOCK_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split("\n")[0] == "[[0, 1]] set()"


@compiled_only
def test_a_process_beside_starts_no_other(monkeypatch):
    monkeypatch.setenv(beside.IS_BESIDE, "1")
    monkeypatch.delenv(beside.WHEN)
    assert not beside.is_compiled_beside(NOTHING)


def test_terms_are_all_that_a_kernel_depends_on():
    for terms in (Join(within=3)._terms(), Lookup("fifo", 2)._terms()):
        warm.compile_for(terms)
