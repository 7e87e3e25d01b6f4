import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadState
from penstock.sampling import Sketch, Survey, pack, survey, take, unpack
from tests.profiling.streams import local
from tests.sampling.streams import sketched


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
    assert sketch.clock.count.tolist() == whole.clock.count.tolist()
    assert [run.start for run in sketch.runs.held] == [run.start for run in whole.runs.held]
    assert all((a.key == b.key).all() for a, b in zip(sketch.runs.held, whole.runs.held))


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
    assert sum(len(run.key) for run in sketch.runs.held) <= 32 * sketch.runs.length
    assert max(sizes[20:]) < 1.5 * sizes[20]


def test_refuses_a_format_it_does_not_know():
    saved = unpack(Sketch(1000, 10).save())
    saved["totals"][0] = 99
    with pytest.raises(BadState, match="must be of format 1, got 99"):
        Sketch.restore(pack(saved))
