"""Kernels made by the driver: found in the folder on one machine, sent along to others."""

import pickle
import subprocess
import sys
from types import SimpleNamespace

import numba
import pytest

from penstock.engine import beside
from penstock.kernel import jit as jits
from penstock.spark.runtime import rehearsal
from penstock.spark.runtime.kernels import Kernels
from tests.marks import some
from tests.spark.plans import make_plan

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="there is no compiled code to send"
)

PLAN = {"policy": "fifo", "budget": 20, "buckets": 2, "sample": 0.05}
# A query in a process that has made nothing yet, after a rehearsal in it, or with what was sent.
QUERY = """
import pickle, sys
import numpy as np
from penstock.kernel import jit
from penstock.spark.runtime.join_bucket import JoinBucket
from tests.spark.plans import cuts, drawn, make_plan, packets, take

made, given = pickle.load(sys.stdin.buffer)
plan = make_plan(**given)
if made is None:
    from penstock.spark.runtime.rehearsal import rehearse_join, rehearsed
    rehearse_join(rehearsed(plan))
else:
    made.use()
    def fail(*_): raise AssertionError("something was compiled")
    jit._KernelCache.save_overload = fail
before = jit.used_kernels()
random, state = np.random.default_rng(1), None
for batch in cuts(random, drawn(random, 6_000, delay=given["delay"]), 5):
    state = take(JoinBucket(plan, 0, state), packets(*batch)).state
print(len(before), len(jit.used_kernels() - before))
"""

# Another operator, after the driver has made what it sends. Columns of packets cannot be written.
OTHERS = """
import sys
from types import SimpleNamespace

from penstock.kernel import jit
from penstock.spark.runtime.rehearsal import lookup_kernels
from penstock.spark.runtime.thin_bucket import thin_kernels
from tests.spark import test_operator
from tests.spark.lookup_plans import changes
from tests.spark.plans import take

cluster = SimpleNamespace(conf=SimpleNamespace(get=lambda *_: "spark://host:7077"))
plan, bucket, _, batches = getattr(test_operator, sys.argv[1])()
if "lookup" in sys.argv[1]:
    sent = lookup_kernels(plan, cluster).sent
    batches.append([changes([1, 2])])
else:
    sent = thin_kernels(plan, cluster).sent
assert sent.files
state = None
for batch in batches:
    state = take(bucket(plan, 0, state), batch).state or state
print(len(jit.used_kernels() - sent.files.keys()))
"""


def run_query(made, given, **environment):
    """Return how many kernels there were before a query, and how many came with it."""
    done = subprocess.run(
        [sys.executable, "-c", QUERY],
        input=pickle.dumps((made, given | {"delay": 20})),
        env=beside.os.environ | environment | {"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return [int(number) for number in done.stdout.split()]


def session(master):
    return SimpleNamespace(conf=SimpleNamespace(get=lambda name, default: master))


@pytest.fixture
def asked(monkeypatch):
    """Let a process beside be asked, which is there in name only; return what it was asked for."""
    calls = []
    monkeypatch.setattr(rehearsal, "is_compiled_beside", lambda *more: calls.extend(more) or True)
    monkeypatch.setattr(rehearsal, "is_made", lambda what: False)
    return calls


def test_on_one_machine_a_process_beside_rehearses_and_nothing_is_sent(asked):
    assert rehearsal.join_kernels(make_plan(**PLAN), session("local[2]")).sent is None
    assert [call.function for call in asked] == ["compile_for", "rehearse_join", "note_made"]
    assert pickle.loads(pickle.dumps(asked)) == asked


def test_what_is_made_is_not_asked_for_again(asked, monkeypatch):
    monkeypatch.setattr(rehearsal, "is_made", lambda what: True)
    assert rehearsal.join_kernels(make_plan(**PLAN), session("local[2]")) == Kernels()
    assert not asked


def test_queries_that_differ_in_nothing_compiled_share_a_rehearsal(asked):
    for number in range(2):
        plan = make_plan(**PLAN, seed=number, checkpoint=f"/somewhere/{number}")
        rehearsal.join_kernels(plan, session("local[2]"))
    assert asked[:3] == asked[3:]


PLANS = [
    PLAN,
    PLAN | {"policy": "auto", "budget": 400},
    PLAN | {"budget": 200_000, "in_bytes": True},
    {"how": "full"},
    {"archived": True, "policy": "fifo", "budget": 50, "watermark": True},
]


@pytest.mark.parametrize("given", some(PLANS, PLANS[1:3] + PLANS[4:]), ids=str)
def test_after_a_rehearsal_a_query_needs_no_other_kernel(given):
    before, more = run_query(None, given)
    assert before > 0
    # `auto` may change to another policy: its kernel, its hooks, and what hands the rows over to it
    # are compiled beside while the query runs.
    assert more <= 4 * (given.get("policy") == "auto")


MASTERS = ["spark://host:7077", "yarn", "local-cluster[2,1,1024]"]


@pytest.mark.parametrize("master", some(MASTERS, MASTERS[:1]))
def test_another_machine_compiles_nothing(master, tmp_path):
    made = rehearsal.join_kernels(make_plan(**PLAN), session(master))
    assert made.sent.kind == jits.machine_kind()
    assert made.sent.files.keys() == made.sent.hashes.keys()
    _, came = run_query(made, PLAN, PENSTOCK_CACHE_DIR=str(tmp_path))
    assert came > 0
    kept = {path.name for path in tmp_path.rglob("*.nbc")}
    assert len(kept) == came
    assert kept <= made.sent.files.keys()


@pytest.mark.parametrize("case", ["lookup_case", "thin_case"])
def test_what_is_sent_for_another_operator_is_all_that_it_needs(case):
    code = [sys.executable, "-c", OTHERS, case]
    done = subprocess.run(
        code, env=beside.os.environ | {"PYTHONPATH": ":".join(sys.path)}, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.split() == [b"0"]


def test_code_whose_hash_is_another_is_not_loaded(monkeypatch):
    made = rehearsal.join_kernels(make_plan(**PLAN), session("yarn"))
    name, *_ = made.sent.files
    monkeypatch.setattr(jits, "_sent", {})
    Kernels(made.sent._replace(files=made.sent.files | {name: b"other code"})).use()
    assert jits._sent.keys() == made.sent.files.keys() - {name}
