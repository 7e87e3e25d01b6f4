"""A policy of another package: installed as one is, and found wherever the built-in ones are."""

import json

import pytest

from penstock.errors import BadInput
from penstock.policies import choose_on_executor
from tests.lean.packages import install, offer, run

COMMAND = "import sys; from penstock.cli import main; sys.argv[1:] = {!r}; main()"
ENGINES = """
import numpy as np
from penstock.engine import Join, Lookup
from penstock import policies

class Naive:
    def __init__(self, budget, spare):
        self.budget, self.spare, self.held = budget, spare, []
    def push(self, key):
        if key in self.held:
            return True
        if len(self.held) == self.budget:
            self.held.pop(max(0, len(self.held) - 1 - self.spare))
        self.held.append(key)
        return False

key = np.random.default_rng(1).integers(0, 30, 400)
naive, cache = Naive(10, 3), Lookup("newest:spare=3", 10)
assert cache.push(key[:200]).hit.tolist() == [naive.push(each) for each in key[:200]]
cache = Lookup.restore(cache.save())
assert str(cache.chosen) == "newest:spare=3"
assert cache.push(key[200:]).hit.tolist() == [naive.push(each) for each in key[200:]]

def results(join):
    row = np.arange(4000)
    return join.push(row % 2, np.random.default_rng(2).integers(0, 40, 4000), row)

whole, fixed = Join("newest:spare=1", 20, within=100), Join("fifo", 20, within=100)
assert len(results(whole).join) != len(results(fixed).join)
restored = Join.restore(whole.save())
assert str(restored.in_force) == "newest:spare=1"

tuned = Join("newest:spare=auto", 20, within=100)
results(tuned)
assert tuned.in_force.params["spare"] in (0, 1, 4, 16)
assert Join.restore(tuned.save()).in_force == tuned.in_force

auto = Join("auto", 20, within=100)
assert policies.tried_by_auto("joining")[-1] == "newest"
assert policies.tried_by_advise("caching")[-1] == "newest"
assert "newest" in auto.explain()["in_force"] or "newest" in str(auto.chooser.candidates)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return install(tmp_path_factory.mktemp("newest"))


def said(done):
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line_lists_it(installed):
    listed = json.loads(said(run(COMMAND.format(["policies", "--json"]), installed)))["policies"]
    mine = next(each for each in listed if each["policy"] == "newest")
    assert (mine["problems"], mine["params"]) == (["joining", "caching"], {"spare": 0})
    assert "newest" not in said(run(COMMAND.format(["policies"])))


def test_engines_run_restore_tune_and_try_it(installed):
    assert said(run(ENGINES, installed)) == ""


def test_it_is_simulated_beside_others(installed):
    words = "simulate --workload zipf --length 300 --memory 10 --json"
    words += " --policy newest:spare=2 --policy fifo"
    found = json.loads(said(run(COMMAND.format(words.split()), installed)))
    assert {"newest", "fifo"} <= set(_texts(found))


def _texts(value):
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [value]


def test_advise_tries_it(installed, tmp_path):
    trace = tmp_path / "keys.csv"
    trace.write_text("key\n" + "\n".join(str(n * n % 97 % 50) for n in range(3000)))
    words = ["advise", str(trace), "--lookup", "--on", "key", "--json"]
    words += ["--policy", "newest", "--policy", "fifo"]
    found = json.loads(said(run(COMMAND.format(words), installed)))
    assert {"newest", "fifo"} <= set(_texts(found))


FIFO = """from dataclasses import replace
from penstock.kernel.policy import Trial
from penstock.policies.baselines import FIFO
"""
BROKEN = {
    "failing": ("failing:POLICY", "raise RuntimeError('no luck')", "no luck"),
    "missing": ("missing_one:POLICY", "", "POLICY"),
    "wrong": ("wrong_one:POLICY", "POLICY = 3", "got int"),
    "unfit": (
        "unfit_one:POLICY",
        FIFO + "TRIALS = {'joining': Trial(options=('k=2',))}\n"
        "POLICY = replace(FIFO, name='unfit', auto=TRIALS, advise=TRIALS)",
        "parameter 'k'",
    ),
    "pushing": (
        "pushing_one:POLICY",
        FIFO + "POLICY = replace(FIFO, name='pushing', auto={'joining': Trial(0)}, advise={})",
        "at least 100",
    ),
    "renamed": ("renamed_one:FIFO", "from penstock.policies.baselines import FIFO", "got 'fifo'"),
}
USED = """
import warnings
from penstock import policies
from penstock.engine import Lookup
from penstock.errors import BadInput
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    Lookup("lru", 5).push([1, 2, 1])
    assert not caught
    assert [each.name for each in policies.known()] == [each.name for each in policies.BUILT_IN]
    policies.known()
[warning] = caught
print(warning.message)
try:
    policies.choose({name!r})
    print("found")
except BadInput as error:
    print(error)
"""


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_package_is_named_and_the_built_in_policies_work(name, tmp_path):
    value, module, why = BROKEN[name]
    folder = offer(tmp_path, "unlucky", name, value, module)
    warning, error = said(run(USED.format(name=name), folder)).splitlines()
    for text in (warning, error):
        assert name in text
        assert "'unlucky'" in text
        assert why in text
        assert "uninstall" in text


@pytest.mark.parametrize("name", ["lru", "auto", "keep", "opt", "not:valid", "A B"])
def test_a_name_that_is_taken_or_cannot_be_written_is_left_out(name, tmp_path):
    folder = offer(tmp_path, "greedy", name.replace(":", "-"), "greedy:FIFO")
    (folder / "greedy.py").write_text("from penstock.policies.baselines import FIFO")
    warning, error = said(run(USED.format(name=name), folder)).splitlines()
    assert "'greedy'" in warning
    assert "uninstall" in warning
    assert (error == "found") == (name in ("lru", "auto"))
    assert error == "found" or "unknown policy" in error


def test_of_two_packages_with_one_name_the_first_is_used(tmp_path):
    module = "from dataclasses import replace\nfrom penstock.policies.baselines import FIFO\n"
    module += "NEW = replace(FIFO, name='new', summary=__name__, auto={}, advise={})"
    for package in ("alpha", "beta"):
        offer(tmp_path, package, "new", f"{package}:NEW", module)
    done = run("from penstock.policies import named; print(named('new').summary)", tmp_path)
    assert said(done) == "alpha\n"
    assert "'beta'" in done.stderr
    assert "'alpha'" in done.stderr


PLAIN = {"NUMBA_DISABLE_JIT": "1"}  # `auto` would compile all that it tries
RESTORED = """
import sys
import numpy as np
from penstock.engine import Join
row, key = np.arange(600), np.random.default_rng(2).integers(0, 40, 600)
if sys.argv[1:] == []:
    join = Join("auto", 30, within=100)
    join.push(row % 2, key, row)
    np.savez({file!r}, **join.save())
else:
    with np.load({file!r}) as saved:
        join = Join.restore(dict(saved))
    assert join.held == 30
    join.push(row % 2, key, row + 600)
    assert join.held == 30
"""


@pytest.mark.slow
def test_auto_goes_on_where_a_package_was_removed(installed, tmp_path):
    code = RESTORED.format(file=str(tmp_path / "state.npz"))
    again = "import sys; sys.argv = ['', 'restore']" + code
    said(run(code, installed, **PLAIN))
    said(run(again, installed, **PLAIN))
    said(run(again, **PLAIN))


KEYS = """
from penstock.kernel.content import content_hash
from penstock.policies import named
print(content_hash(named("mine").choose_victim))
"""
MINE = """
from dataclasses import replace
from penstock.kernel.jit import jit
from penstock.policies.baselines import FIFO, orders
STEPS = {steps}
{comment}
@jit
def choose_victim(state, held, newcomer, now):
    return orders.front(state.order, 0) + STEPS - STEPS
MINE = replace(FIFO, name="mine", choose_victim=choose_victim, auto={{}}, advise={{}})
"""


def test_compiled_code_of_another_package_is_kept_by_its_content(tmp_path):
    found = []
    for number, (steps, comment) in enumerate([(1, ""), (1, "# another line"), (2, "")]):
        folder = tmp_path / str(number)
        offer(folder, "mine", "mine", "mine:MINE", MINE.format(steps=steps, comment=comment))
        found.append(said(run(KEYS, folder)))
    assert found[0] == found[1] != found[2]


ON_SPARK = """
import tempfile
from penstock.spark import join, metrics
from penstock.spark.session import local
spark, folder = local(), tempfile.mkdtemp()
columns = ["id % 7 AS customer", "timestamp_millis(1700000000000 + id) AS at", "id"]
spark.range(1000).selectExpr(*columns).write.parquet(f"{folder}/events")
stream = spark.readStream.schema("customer long, at timestamp, id long").parquet(f"{folder}/events")
views, clicks = (stream.withColumnRenamed("id", name) for name in ("view", "click"))
found = join(
    views, clicks, on="customer", time="at", within="5 seconds", delay="1 second",
    budget=100, policy="newest:spare=2",
)
query = found.writeStream.format("noop").trigger(availableNow=True).start()
query.awaitTermination()
figures = metrics(query)
assert figures.matches > 0
assert set(figures.in_force.buckets) == {"newest"}, figures.in_force
"""


@pytest.mark.slow
@pytest.mark.spark
def test_it_joins_on_spark(installed):
    said(run(ON_SPARK, installed))


def test_an_executor_without_the_package_says_so():
    with pytest.raises(BadInput, match="'newest' is not installed on this Spark executor") as told:
        choose_on_executor("newest:spare=2", "joining")
    assert str(told.value).count(". ") == 0
