import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import BadInput
from penstock.profile.stream_profile import profile
from tests.profile.streams import B, local


def test_everything_is_there_and_is_json():
    keys = local(20_000)
    made = profile([f"k{key}" for key in keys], np.arange(len(keys)) * 2, name="letters")
    report = json.loads(json.dumps(made.to_json(), allow_nan=False))
    assert list(report) == [
        "name",
        "tuples",
        "keys",
        "popularity",
        "distance",
        "lru",
        "locality",
        "horizon",
        "entropy_bits",
        "bursts",
    ]
    assert (report["name"], report["tuples"], report["keys"]) == ("letters", 20_000, made.keys)
    assert report["locality"]["h"] == report["horizon"]["suffices"] == 5
    assert report["locality"]["likelihood"]["b"] == pytest.approx(B, abs=0.03)
    assert report["locality"]["permuted_b"] > 0.98
    assert report["lru"]["hit_ratio"][-1] == pytest.approx(1 - made.keys / 20_000)
    assert report["bursts"]["rate"] == pytest.approx(0.5)


def test_the_names_of_keys_do_not_matter():
    keys = local(5000)
    other = np.random.default_rng(1).permutation(keys.max() + 1)[keys]
    one, two = profile(keys), profile(other)
    assert one.likelihood.b == pytest.approx(two.likelihood.b)
    assert (one.reuse.part == two.reuse.part).all()
    assert one.popularity.exponent == two.popularity.exponent


def test_the_h_asked_for_is_used():
    assert profile(local(5000), h=9).likelihood.h == 9
    assert profile(local(5000), h=50).horizon.h[-1] == 50


def test_a_clock_that_stands_still_tells_nothing():
    assert profile([1, 2, 1, 2], times=[0, 0, 0, 0]).bursts is None


@settings(max_examples=25)
@given(keys=st.lists(st.integers(0, 4), min_size=2, max_size=30).filter(lambda k: len(set(k)) > 1))
def test_short_streams_have_a_profile(keys):
    json.dumps(profile(keys, times=np.arange(len(keys))).to_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"keys": [1, 2, 1], "h": 3}, "h must be below the length of the stream, 3 rows, got 3"),
        ({"keys": [1, 2, 1], "h": 0}, "h must be a whole number of at least 1, got 0"),
        ({"keys": [1, 1, 1]}, "at least two values"),
        ({"keys": [None, None, None]}, "got null in every one of 3 rows"),
        ({"keys": []}, "at least 2 rows, got 0"),
        ({"keys": [1, 2, 1], "times": [1, 2]}, "as many times as keys, got 2 and 3"),
        ({"keys": [1, 2, 1], "times": [1, 3, 2]}, "times must not go back"),
    ],
)
def test_refuses(options, said):
    with pytest.raises(BadInput, match=said) as refusal:
        profile(**options)
    assert "\n" not in str(refusal.value)
