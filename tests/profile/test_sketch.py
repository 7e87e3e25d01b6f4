import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadState
from penstock.profile.sketch import (
    MOST,
    SampledStretches,
    Sketch,
    Survey,
    pack,
    stretch_bounds,
    survey,
    take,
    unpack,
)
from tests.profile.streams import local, sketched


@given(st.lists(st.integers(-50, 50), max_size=30), st.integers(0, 30), st.integers(0, 5))
def test_surveys_add_up(times, cut, skipped):
    times = np.array(times, np.int64)
    cut = min(cut, len(times))
    parts = survey(times[:cut], skipped).plus(survey(times[cut:], 1))
    assert parts == survey(times, skipped + 1)


def test_of_times_that_are_not_whole_no_tick_is_known():
    found = survey(np.array([0.5, 3.0]), 0).plus(survey(np.array([2.5]), 0))
    assert found == Survey(3, 0, 0.5, 3.0, 0)


def test_chunks_and_cuts_do_not_matter():
    keys, times = local(30_000), np.arange(30_000) // 3
    whole = sketched(keys, times, rows=5000, counting=False, sampled=10**6)
    sketch = Sketch(5000, 10**6, counting=False)
    plan = sketch.plan(survey(times, 0), most=5000)
    chunks, first = [], 0
    for part in np.array_split(np.arange(30_000), 7):
        found = take(plan._replace(near=0), keys[part], times[part], first)
        chunks.append(unpack(pack(found)))
        first += len(part)
    sketch.push(chunks)
    assert sketch.seen == whole.seen
    assert (sketch.keys.count == whole.keys.count).all()
    assert (sketch.keys.depth[:, 2:] == whole.keys.depth[:, 2:]).all()
    assert sketch.arrivals.count.tolist() == whole.arrivals.count.tolist()
    assert [run.start for run in sketch.stretches.held] == [
        run.start for run in whole.stretches.held
    ]
    assert all((a.key == b.key).all() for a, b in zip(sketch.stretches.held, whole.stretches.held))


def test_the_state_does_not_grow():
    draw = np.random.default_rng(1)
    sizes = []
    sketch = Sketch(2000, 500, bins=1000)
    for batch in range(40):
        keys, times = draw.integers(0, 10**6, 3000), np.arange(3000) + batch * 3000
        plan = sketch.plan(survey(times, 0), most=10_000)
        sketch.push([take(plan, keys, times, sketch.seen)])
        sizes.append(len(sketch.save()))
    assert len(sketch.keys.key) <= 500
    assert sum(len(run.key) for run in sketch.stretches.held) <= 32 * sketch.stretches.length
    assert max(sizes[20:]) < 1.5 * sizes[20]


def test_refuses_a_format_it_does_not_know():
    saved = unpack(Sketch(1000, 10).save())
    saved["totals"][0] = 99
    with pytest.raises(BadState, match="must be of format 1, got 99"):
        Sketch.restore(pack(saved))


@given(total=st.integers(1, 3000), seed=st.integers(0, 99), length=st.integers(1, 20))
def test_runs_are_pieces_of_the_stream_evenly_spread(total, seed, length):
    stream = np.arange(total)
    cuts = np.sort(np.random.default_rng(seed).integers(0, total, 5))
    runs, first = SampledStretches(length, length), 0
    for batch in np.split(stream, cuts):
        runs.make_room(first + len(batch))
        for start, end in stretch_bounds(first, len(batch), runs.stride, length):
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
    runs = SampledStretches(100, 100)
    runs.push(0, np.arange(124))
    assert [len(run.key) for run in runs.held] == [100, 24]
    assert [len(run.key) for run in runs.useful()] == [100]
