import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.sampling.runs import MOST, Runs, wanted


@given(total=st.integers(1, 3000), seed=st.integers(0, 99), length=st.integers(1, 20))
def test_runs_are_pieces_of_the_stream_evenly_spread(total, seed, length):
    stream = np.arange(total)
    cuts = np.sort(np.random.default_rng(seed).integers(0, total, 5))
    runs, first = Runs(length, length), 0
    for batch in np.split(stream, cuts):
        runs.make_room(first + len(batch))
        for start, end in wanted(first, len(batch), runs.stride, length):
            runs.push(first + start, batch[start:end])
        first += len(batch)
    assert len(runs.held) <= MOST
    assert runs.covers(total) == (total <= MOST * length)
    for run in runs.held:
        assert run.start % runs.stride == 0
        assert run.key.tolist() == list(range(run.start, min(run.start + length, total)))
    assert [run.start // runs.stride for run in runs.held] == list(range(len(runs.held)))
    assert len(runs.held) >= min(MOST // 2, -(-total // length))


def test_short_runs_tell_nothing():
    runs = Runs(100, 100)
    runs.push(0, np.arange(124))
    assert [len(run.key) for run in runs.held] == [100, 24]
    assert [len(run.key) for run in runs.useful()] == [100]
