"""Drifting streams: the noise is the law's, and `end` is the last step at which a tuple matches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, truncnorm

from penstock.errors import BadInput
from penstock.models import Discrete
from penstock.simulate.drifting import drift, floor, noises, roof, tower
from penstock.simulate.workloads import GENERATED

NAMED = {"tower": tower, "roof": roof, "floor": floor}


def later_matches(trace):
    """All (row, later row) of different sides with equal keys, the later one at a later step."""
    rows = list(zip(trace.side.tolist(), trace.key.tolist(), trace.time.tolist(), strict=True))
    seen = {}
    for number, (side, key, _) in enumerate(rows):
        for earlier in seen.get((1 - side, key), ()):
            if rows[earlier][2] < rows[number][2]:
                yield earlier, number
        seen.setdefault((side, key), []).append(number)


@pytest.mark.parametrize(("bound", "sd"), [(10, 1), (15, 2), (10, 3.3), (15, 5), (0, 1), (3, 100)])
def test_normal_mass_is_the_truncated_normals(bound, sd):
    pmf = Discrete.normal(sd, bound=bound).mass
    edge = np.arange(-bound, bound + 2) - 0.5
    law = truncnorm((-bound - 0.5) / sd, (bound + 0.5) / sd, scale=sd)
    assert pmf.sum() == pytest.approx(1)
    assert pmf == pytest.approx(np.diff(law.cdf(edge)), abs=1e-12)
    assert pmf.tolist() == pmf[::-1].tolist()
    assert (pmf > 0).all()  # also far out, where 1 - cdf is rounded to nothing


@given(st.integers(0, 40))
def test_uniform_mass_is_equal(bound):
    pmf = Discrete.uniform(bound).mass
    assert len(pmf) == 2 * bound + 1
    assert pmf.sum() == pytest.approx(1)
    assert set(pmf) == {1 / (2 * bound + 1)}


def test_the_named_noises_are_the_papers():
    made = {
        "tower": (Discrete.normal(1, bound=10), Discrete.normal(2, bound=15)),
        "roof": (Discrete.normal(3.3, bound=10), Discrete.normal(5, bound=15)),
        "floor": (Discrete.uniform(10), Discrete.uniform(15)),
    }
    for name, pair in made.items():
        for got, expected in zip(noises(name), pair, strict=True):
            assert (got.lowest, got.mass.tolist()) == (expected.lowest, expected.mass.tolist())


@pytest.mark.parametrize("name", NAMED)
def test_noise_around_the_trend_follows_its_law(name):
    trace = NAMED[name](50_000, seed=5)
    for side, lag in ((0, 1), (1, 0)):
        noise = noises(name)[side]
        mine = trace.side == side
        drawn = trace.key[mine] - (trace.time[mine] - lag)
        assert np.abs(drawn).max() <= noise.highest
        count = np.bincount(drawn + noise.highest, minlength=2 * noise.highest + 1)
        expected = noise.mass * len(drawn)
        common = expected >= 5  # where the approximation by chi square holds
        share = expected[common] * count[common].sum() / expected[common].sum()
        assert chisquare(count[common], share).pvalue > 1e-3


@pytest.mark.parametrize("name", NAMED)
def test_shape_of_a_named_trace(name):
    trace = NAMED[name](100, seed=1)
    assert (len(trace), len(set(trace.time)), trace.together) == (200, 100, True)
    assert (trace.name, trace.streams) == (name, 2)
    assert trace.side[:4].tolist() == [0, 1, 0, 1]
    assert trace.time[:4].tolist() == [0, 0, 1, 1]
    assert trace.value.tolist() == trace.key.tolist()


@pytest.mark.parametrize("name", NAMED)
def test_end_is_the_designs(name):
    # An R tuple has expired once v <= t - 15 after step t, an S tuple once v <= t - 11.
    trace = NAMED[name](300, seed=1)
    lead = np.where(trace.side == 0, 15, 11)
    assert trace.end.tolist() == (trace.key + lead).tolist()
    for step in range(0, 300, 7):
        expired = np.where(trace.side == 0, trace.key <= step - 15, trace.key <= step - 11)
        assert (expired == (trace.end <= step)).all()


def test_floor_matches_up_to_its_end_and_never_after():
    trace = floor(5000, seed=2)
    at_end = set()
    for earlier, later in later_matches(trace):
        assert trace.time[later] <= trace.end[earlier]
        if trace.time[later] == trace.end[earlier]:
            at_end.add(int(trace.side[earlier]))
    assert at_end == {0, 1}


@settings(max_examples=60, deadline=None)
@given(
    bounds=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    lag=st.integers(-3, 4),
    seed=st.integers(0, 9),
)
def test_end_for_any_lag(bounds, lag, seed):
    noise_r, noise_s = (Discrete.uniform(bound) for bound in bounds)
    trace = drift(60, seed, noise_r=noise_r, noise_s=noise_s, lag=lag)
    for row in range(len(trace)):
        value, other = trace.key[row], 1 - trace.side[row]
        # Tried step by step: can the other side bring this value then?
        centre = [t - lag if other == 0 else t for t in range(-30, 130)]
        possible = [t for t in range(-30, 130) if abs(value - centre[t + 30]) <= bounds[other]]
        assert trace.end[row] == max(possible)
    for earlier, later in later_matches(trace):
        assert trace.time[later] <= trace.end[earlier]


def test_a_hand_worked_drift():
    still = Discrete.uniform(0)
    trace = drift(3, 0, noise_r=still, noise_s=still, lag=2)
    assert trace.key.tolist() == [-2, 0, -1, 1, 0, 2]
    # R's 0 at step 2 was S's at step 0; S's 0 at step 0 is R's at step 2, its 1 at step 3.
    assert trace.end.tolist() == [-2, 2, -1, 3, 0, 4]


@pytest.mark.parametrize("name", NAMED)
def test_references_are_the_s_stream(name):
    references = GENERATED[name].references(50, seed=3)
    assert references.key.tolist() == NAMED[name](50, seed=3).key[1::2].tolist()
    assert (references.name, len(references)) == (name, 50)


@pytest.mark.parametrize("name", NAMED)
def test_seeds(name):
    make = NAMED[name]
    first = make(200, seed=1).key.tolist()
    assert make(200, seed=1).key.tolist() == first
    assert make(200, seed=2).key.tolist() != first
    assert make(900, seed=1).key[:400].tolist() == first  # a longer run only goes on


def test_the_streams_are_independent():
    trace = floor(20_000, seed=4)
    noise_r = trace.key[0::2] - trace.time[0::2]
    noise_s = trace.key[1::2] - trace.time[1::2]
    assert abs(np.corrcoef(noise_r, noise_s)[0, 1]) < 0.03


def test_bad_arguments():
    still = Discrete.uniform(0)
    assert len(drift(1, 0, noise_r=still, noise_s=still)) == 2
    with pytest.raises(BadInput, match="length must be a whole number of at least 1, got 0"):
        tower(0, seed=1)
    with pytest.raises(BadInput, match=r"length must be a whole number of at least 1, got 2\.5"):
        tower(2.5, seed=1)
    with pytest.raises(BadInput, match="seed must be a whole number of at least 0, got -1"):
        tower(1, seed=-1)
    with pytest.raises(BadInput, match="length must be a whole number"):
        GENERATED["tower"].references(0, seed=0)
    with pytest.raises(BadInput, match=r"bound of the noise must be .* at least 0, got -1"):
        Discrete.uniform(-1)
    with pytest.raises(BadInput, match="sd of the noise must be a number above 0, got 0"):
        Discrete.normal(0, bound=1)
