import numpy as np
import pytest

from penstock.simulate.distortion import _parts, exact_tally, tally
from penstock.simulate.drifting import tower
from penstock.simulate.optimum import full_results
from penstock.simulate.player import play
from penstock.simulate.skewed import gdj, zipf
from penstock.simulate.traces import JoinTrace
from tests.simulate.replay import naive_replay

TRACES = {
    "two streams": zipf(150, 1, domain=12),
    "steps": tower(150, 1),
    "three streams": gdj(70, 1, streams=3, domain=8),
    "pairs": gdj(80, 1, streams=4, pairs=True, domain=8),
    "two attributes": gdj(120, 1, attributes=2, domain=12),
}


@pytest.fixture(params=TRACES)
def trace(request):
    return TRACES[request.param]


def naive_tally(trace, results):
    """Count results by join and value, in that order, with a 0 for values without any."""
    cells = {}
    keys = trace.key.reshape(len(trace), -1)
    for number, join in enumerate(trace.joins):
        attributes = dict(join)
        for row in range(len(trace)):
            if trace.side[row] in attributes:
                cells[number, int(keys[row, attributes[trace.side[row]]])] = 0
    for number, rows in results:
        stream, attribute = trace.joins[number][0]
        assert trace.side[rows[0]] == stream
        cells[number, int(keys[rows[0], attribute])] += 1
    return [cells[cell] for cell in sorted(cells)]


@pytest.mark.parametrize("first", [0, 40])
def test_as_the_twin_counts_them(trace, first):
    options = {"within": 30, "first": first}
    exact = naive_tally(trace, naive_replay(trace, "fifo", None, **options))
    assert exact_tally(trace, **options).tolist() == exact
    options |= {"drop": 0.3, "seed": 5}
    found = naive_tally(trace, naive_replay(trace, "lru", 8, **options))
    assert tally(trace, "lru", 8, **options).tolist() == found
    assert 0 < sum(found) < sum(exact)


def test_counts_what_play_counts(trace):
    options = {"within": 30, "first": 20}
    assert tally(trace, "lru", 10, **options).sum() == play(trace, "lru", 10, **options).results
    assert exact_tally(trace, **options).sum() == full_results(trace, 30, 20)


def test_parts_change_nothing(trace, monkeypatch):
    whole = tally(trace, "lru", 7, within=30)
    monkeypatch.setattr("penstock.simulate.distortion.PART", 7)
    assert tally(trace, "lru", 7, within=30).tolist() == whole.tolist()


def test_rows_of_one_time_are_not_torn_apart(monkeypatch):
    monkeypatch.setattr("penstock.simulate.distortion.PART", 3)
    time = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    assert _parts(time, together=True) == [(0, 2), (2, 6), (6, 8)]
    assert _parts(time, together=False) == [(0, 3), (3, 6), (6, 8)]
    assert _parts(time[:0], together=True) == []


def test_no_rows_no_cells():
    nothing = JoinTrace([], [], [])
    assert exact_tally(nothing).tolist() == tally(nothing, "lru", 2).tolist() == []
