import numpy as np
from hypothesis import given

from penstock.profiling import permuted
from penstock.profiling.links import previous
from tests.profiling.streams import few_keys


@given(keys=few_keys)
def test_previous_is_the_last_with_the_same_key(keys):
    before = previous(np.array(keys))
    for now, key in enumerate(keys):
        earlier = [place for place in range(now) if keys[place] == key]
        assert before[now] == (earlier[-1] if earlier else -1)


def test_a_permutation_has_the_same_tuples_and_a_seed():
    keys = np.arange(100) % 7
    mixed = permuted(keys, 3)
    assert sorted(mixed) == sorted(keys)
    assert (mixed != keys).any()
    assert (mixed == permuted(keys, 3)).all()
    assert (mixed != permuted(keys, 4)).any()
