import numpy as np
import pytest

from penstock.errors import BadInput
from penstock.kernel.shape import in_pairs
from penstock.simulate.scenario import TraceFile, choose_source
from penstock.simulate.skewed import gdj
from penstock.simulate.workloads import GENERATED, Generated

CSV = "key,side,time\n7,a,5\n8,b,5\n7,b,6\n9,a,8\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "calls.csv"
    path.write_text(CSV)
    return str(path)


@pytest.mark.parametrize("name", GENERATED)
def test_a_workload_has_as_many_steps_as_it_is_asked_for(name):
    source = choose_source(name, None, length=30)
    assert source == Generated(name, 30)
    join, lookup = source.trace("joining", 1), source.trace("caching", 1)
    assert (len(join), len(lookup)) == (60, 30)


def test_a_workload_may_have_options():
    source = choose_source("gdj: streams=4, pairs=true", None, length=30)
    assert (source.name, source.title) == ("gdj", "gdj: streams=4, pairs=true")
    assert source.options("joining") == {"streams": 4, "pairs": True}
    trace = source.trace("joining", 1)
    assert trace.key.tolist() == gdj(30, 1, streams=4, pairs=True).key.tolist()
    assert trace.joins == in_pairs(4)
    plain = Generated("zipf:alpha=0", 500).trace("caching", 1)
    assert np.bincount(plain.key).max() < 20


def test_a_file_is_read_once_whatever_the_seed(file):
    source = TraceFile(file)
    assert source.trace("joining", 1) is source.trace("joining", 2)
    assert source.title == "calls.csv"


def test_a_file_can_be_cut(file):
    source = choose_source(None, file, length=2)
    assert source.trace("joining", 0).key.tolist() == [7, 8]
    assert source.trace("caching", 0).key.tolist() == [7, 8]
    assert len(source.trace("caching", 0)) == 2
    assert len(choose_source(None, file, length=99).trace("joining", 0)) == 4


def test_columns_can_be_named(file):
    trace = choose_source(None, file, key="time", side="side", time="key")
    with pytest.raises(BadInput, match="must not go back"):
        trace.trace("joining", 0)


@pytest.mark.parametrize(
    ("arguments", "options", "complaint"),
    [
        (("tower", "a.csv"), {}, "exclude each other"),
        ((None, None), {}, "nothing to replay"),
        (("towr", None), {}, "unknown workload 'towr'; did you mean 'tower'"),
        (("tower", None), {"key": "a"}, "--key names a column"),
        (("tower", None), {"time": "a"}, "--time names a column"),
        (("tower", None), {"side": "a"}, "--side names a column"),
        (("tower", None), {"length": 0}, "length must be from 1 to 1000000000, got 0"),
        ((None, "a.csv"), {"length": -1}, "length must be from 1"),
        (("tower", None), {"length": 10**9 + 1}, "length must be from 1"),
    ],
)
def test_nonsense_is_refused(arguments, options, complaint):
    with pytest.raises(BadInput, match=complaint):
        choose_source(*arguments, **options)
