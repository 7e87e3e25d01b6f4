"""The streams of the comparison: what they are named, what changes in them, what is recorded."""

import gzip

import numpy as np
import pytest

from papers.quality import everything, plan, recorded
from papers.quality.plan import AUTO, cells, contenders
from papers.quality.streams import WINDOW, arriving
from penstock.errors import BadInput
from penstock.simulate.traces import JoinTrace, LookupTrace

MADE = {stream.name: stream for stream in everything() if not stream.recorded}


@pytest.mark.parametrize("name", MADE)
def test_a_generated_stream_is_what_it_says(name):
    trace, within = arriving(name, 500)
    assert isinstance(trace, LookupTrace if MADE[name].caching else JoinTrace)
    assert len(trace) >= 1000
    if isinstance(trace, JoinTrace):
        assert len(set(trace.time)) == 500
        assert (within == WINDOW) == (trace.end is None)
        assert (trace.streams == 2) == MADE[name].plain


def test_popularity_jumps_half_way():
    trace, _ = arriving("join: zipf that jumps", 2000)
    early, late = (trace.key[trace.time // 1000 == half] for half in (0, 1))
    assert np.bincount(early).argmax() == trace.key.max() - np.bincount(late).argmax()


def test_a_trend_turns_half_way():
    trace, _ = arriving("join: trend that turns", 2000)
    mean = [trace.key[trace.time == at].mean() for at in (0, 999, 1999)]
    assert mean[1] > mean[0] + 900
    assert mean[1] > mean[2] + 900


def test_an_unknown_stream():
    with pytest.raises(BadInput, match="unknown stream 'join: nothing'; choose of join: tower,"):
        arriving("join: nothing", 10)


def test_what_was_recorded_is_left_out_where_it_is_not(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_DATA", str(tmp_path))
    assert recorded.joins() == recorded.caches() == {}
    assert [stream.name for stream in everything()] == list(MADE)


def test_references_that_were_recorded(tmp_path, monkeypatch):
    (tmp_path / "cache").mkdir()
    for name, text in (
        ("lirs_cpp.trace.gz", "7\n\n8\n*\n7\n"),
        ("cloudPhysicsIO.csv.gz", "time,lbn\n1,5\n2,6\n"),
        ("arc_P3.lis.gz", "10 3 0 0\n5 1 0 1\n"),
    ):
        (tmp_path / "cache" / name).write_bytes(gzip.compress(text.encode()))
    monkeypatch.setenv("PENSTOCK_DATA", str(tmp_path))
    read = {name: make().tolist() for name, make in recorded.caches().items()}
    assert read == {"lirs_cpp": [7, 8, 7], "cloudPhysicsIO": [5, 6], "arc_P3": [10, 11, 12, 5]}


def test_two_recorded_streams_become_one():
    rows = recorded.merged((["b", "a"], [3, 5]), (["c", "b"], [3, 4]), within=9)
    assert rows.side.tolist() == [0, 1, 1, 0]
    assert rows.key.tolist() == [1, 2, 1, 0]
    assert (rows.time.tolist(), rows.within) == ([3, 3, 4, 5], 9)


def test_costly_policies_only_where_order_means_something():
    assert {"heeb", "hist", "age"} <= set(contenders(MADE["join: tower"]))
    assert not {"heeb", "hist", "age"} & set(contenders(MADE["join: zipf"]))
    assert "hist" not in contenders(MADE["join: gdj, 3 streams"])
    assert not {"life", "lba"} & set(contenders(MADE["cache: zipf"]))


def test_cells_are_all_policies_sizes_and_layouts_and_the_best():
    stream = MADE["join: zipf"]
    policies = len(contenders(stream))
    assert len(cells([stream])) == 5 * (2 * policies + 1)
    assert len(cells([stream], quick=True)) == 2 * (policies + 1)
    assert cells([MADE["join: walk"]], quick=True) == []
    assert set(plan.QUICK) <= set(MADE)
    assert len(cells([MADE["cache: zipf"]])) == 5 * (len(contenders(MADE["cache: zipf"])) + 1)


def test_auto_runs_as_soon_as_there_is_one(monkeypatch):
    monkeypatch.setattr(plan.policies, "choose", lambda policy: policy)
    assert contenders(MADE["join: zipf"])[-1] == AUTO
