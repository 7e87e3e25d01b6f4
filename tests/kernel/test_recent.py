"""Recent arrivals by key, against a search through all of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.jit import kernel
from penstock.kernel.recent import make_recent, note_arrival, weigh


@kernel
def drive(recent, keys, weight, reach, asked, out, hot):
    for i in range(len(keys)):
        note_arrival(recent, i % 2, keys[i])
        for line in range(2):
            out[i, line], hot[i, line] = weigh(recent, line, asked[i], weight, reach)


@given(
    keys=st.lists(st.sampled_from([0, 1, 2, -5, 2**62]), max_size=60),
    h=st.integers(1, 7),
    seed=st.integers(0, 99),
)
def test_weights_are_summed_over_the_lags_of_a_key(keys, h, seed):
    random = np.random.default_rng(seed)
    weight = random.random((2, h))
    asked = random.choice([0, 1, 2, -5, 2**62], len(keys))
    reach = random.integers(0, h + 1, 2)
    out, hot = np.zeros((len(keys), 2)), np.zeros((len(keys), 2), bool)
    drive(make_recent(2, room=8), np.array(keys, np.int64), weight, reach, asked, out, hot)
    for i in range(len(keys)):
        for line in range(2):
            past = keys[line : i + 1 : 2][::-1][: reach[line]]
            found = sum(weight[line, lag] for lag, key in enumerate(past) if key == asked[i])
            assert hot[i, line] == (asked[i] in past)
            assert abs(out[i, line] - found) < 1e-12
