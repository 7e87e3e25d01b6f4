"""The count-min sketch against the twin's, and against exact counts."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import keycounts
from penstock.kernel.jit import kernel
from tests.kernel.draws import runs
from tests.naive.policies.wtinylfu import Sketch as NaiveSketch

KEYS = st.one_of(st.integers(0, 20), st.integers(-(2**63), 2**63 - 1))


@kernel
def drive(sketch, keys, out):
    """Add the keys one by one; write what is thought of each just after."""
    for i in range(len(keys)):
        keycounts.add(sketch, keys[i])
        out[i] = keycounts.estimate(sketch, keys[i])


def run(keys, room):
    sketch, out = keycounts.make_sketch(room), np.zeros(len(keys), np.int64)
    drive(sketch, np.array(keys, np.int64), out)
    return sketch, out.tolist()


@given(keys=runs(KEYS, 200), room=st.sampled_from([1, 64, 65, 200]))
def test_never_too_low_before_it_forgets(keys, room):
    _, estimates = run(keys, room)
    exact = Counter()
    for key, estimate in zip(keys, estimates, strict=True):
        exact[key] += 1
        assert min(exact[key], keycounts.HIGHEST) <= estimate <= keycounts.HIGHEST


@pytest.mark.parametrize("room", [1, 100])
def test_counts_and_forgets_as_its_twin(room):
    # counters for 64 or 128 keys are halved after 640 or 1280 additions, and then sooner
    random = np.random.default_rng(4)
    keys = [*(random.zipf(1.3, 1500) % 300).tolist(), *random.integers(-9, 9, 500).tolist()]
    twin, expected = NaiveSketch(room), []
    for key in keys:
        twin.add(key)
        expected.append(twin.estimate(key))
    sketch, estimates = run(keys, room)
    assert estimates == expected
    assert sketch.added[0] == twin.additions < len(keys)


def test_a_lone_key_saturates_and_is_halved():
    _, estimates = run([-5] * 641, 1)
    assert estimates[:16] == [*range(1, 16), 15]
    assert estimates[638:] == [15, 15 // 2, 15 // 2 + 1]


@pytest.mark.parametrize(("room", "width"), [(1, 256), (64, 256), (65, 512), (129, 1024)])
def test_width_is_a_power_of_two_of_at_least_four_times_the_keys(room, width):
    assert keycounts.make_sketch(room).counter.shape == (keycounts.ROWS, width)
