"""The Zipf generator: its popularity keeps the law while its gaps cluster."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest, lomax

from penstock.errors import BadInput
from penstock.simulate.skewed import popularity, zipf
from penstock.simulate.workloads import GENERATED

SHAPES = [None, 0.3, 0.75, 1.2, 2.0]


def gaps(key):
    """The distance from each row to the next with the same key, over that key's mean distance."""
    parts = [np.diff(np.flatnonzero(key == value)) for value in np.unique(key)]
    return np.concatenate([part / part.mean() for part in parts if len(part) > 20])


def short(key):
    """The share of gaps below a tenth of their mean."""
    return np.mean(gaps(key) < 0.1)


@pytest.mark.parametrize("pareto", SHAPES)
@pytest.mark.parametrize("alpha", [0, 0.75, 1.5])
def test_popularity_is_zipf_whatever_the_gaps(alpha, pareto):
    key = GENERATED["zipf"].references(100_000, seed=7, alpha=alpha, pareto=pareto).key
    count = np.bincount(key, minlength=100)
    expected = np.arange(1, 101) ** -float(alpha)
    assert chisquare(count, 100_000 * expected / expected.sum()).pvalue > 1e-3


@given(st.integers(1, 200), st.floats(0, 3))
def test_popularity_sums_to_one_and_falls(domain, alpha):
    share = popularity(domain, alpha)
    assert share.sum() == pytest.approx(1)
    assert (np.diff(share) <= 0).all()


def test_a_hand_worked_popularity():
    assert popularity(3, 1) == pytest.approx([6 / 11, 3 / 11, 2 / 11])
    assert popularity(4, 0) == pytest.approx([0.25] * 4)


def test_gaps_cluster_more_the_smaller_the_shape():
    shares = [
        short(GENERATED["zipf"].references(100_000, seed=2, pareto=p).key)
        for p in (8, 2, 1.2, 0.75)
    ]
    assert shares == sorted(shares)
    assert shares[-1] > 4 * shares[0]


@pytest.mark.parametrize("pareto", [0.75, 1.2])
def test_gaps_cluster_against_a_random_permutation(pareto):
    key = GENERATED["zipf"].references(100_000, seed=2, pareto=pareto).key
    shuffled = np.random.default_rng(0).permutation(key)
    assert short(key) > 2.5 * short(shuffled)
    # And silences are longer: exponential gaps pass ten times their mean 5 times in 100,000.
    assert np.mean(gaps(key) > 10) > 20 * np.mean(gaps(shuffled) > 10)


def test_without_pareto_the_order_is_a_random_permutation():
    key = GENERATED["zipf"].references(100_000, seed=2, pareto=None).key
    shuffled = np.random.default_rng(0).permutation(key)
    assert short(key) == pytest.approx(short(shuffled), rel=0.05)


@pytest.mark.parametrize("pareto", [1.5, 2.5])
def test_gaps_are_pareto(pareto):
    # Equally popular values with a mean gap of 500: whole numbers are then fine enough to compare.
    key = GENERATED["zipf"].references(500_000, seed=1, domain=500, alpha=0, pareto=pareto).key
    assert kstest(gaps(key), lomax(pareto, scale=pareto - 1).cdf).statistic < 0.05


@pytest.mark.parametrize("pareto", [None, 0.1, 0.75, 1000.0])
def test_no_part_of_the_circle_is_special(pareto):
    # Where the most popular value lies: over many seeds the parts of the stream have equal shares.
    part = np.zeros(4)
    for seed in range(200):
        place = np.flatnonzero(
            GENERATED["zipf"].references(400, seed, domain=10, pareto=pareto).key == 0
        )
        part += np.bincount(place // 100, minlength=4) / len(place) / 200
    assert part == pytest.approx([0.25] * 4, abs=0.09)


def test_shape_of_a_trace():
    trace = zipf(100, seed=1)
    assert (len(trace), len(set(trace.time)), trace.together, trace.end) == (200, 100, False, None)
    assert trace.side[:4].tolist() == [0, 1, 0, 1]
    assert trace.time[:4].tolist() == [0, 0, 1, 1]
    assert trace.value is trace.key  # the rank, so order means something


@settings(deadline=None)
@given(
    length=st.integers(1, 50),
    domain=st.integers(1, 60),
    streams=st.integers(2, 4),
    attributes=st.integers(1, 3),
    pareto=st.sampled_from([None, 0.1, 0.75, 2.0, 1e9]),
    correlation=st.sampled_from(["direct", "inverse", "independent"]),
)
def test_any_shape(length, domain, streams, attributes, pareto, correlation):
    trace = zipf(
        length,
        0,
        domain=domain,
        streams=streams,
        attributes=attributes,
        pareto=pareto,
        correlation=correlation,
    )
    rows = length * streams
    assert trace.key.shape == ((rows,) if attributes == 1 else (rows, attributes))
    assert ((trace.key >= 0) & (trace.key < domain)).all()
    assert (len(set(trace.time)), trace.streams) == (length, streams)


def counts(correlation, streams=2):
    trace = zipf(50_000, seed=3, domain=50, correlation=correlation, streams=streams)
    return [np.bincount(trace.key[trace.side == s], minlength=50) for s in range(streams)]


def test_direct_streams_rank_alike():
    first, second = counts("direct")
    assert np.corrcoef(first, second)[0, 1] > 0.99
    assert (first.argmax(), second.argmax()) == (0, 0)


def test_inverse_streams_rank_the_other_way_round():
    first, second, third = counts("inverse", streams=3)
    assert (first.argmax(), second.argmax(), third.argmax()) == (0, 49, 0)
    assert np.corrcoef(first, second[::-1])[0, 1] > 0.99


def test_independent_streams_rank_at_random():
    first, second, third = counts("independent", streams=3)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.6
    assert abs(np.corrcoef(second, third)[0, 1]) < 0.6
    assert np.corrcoef(np.sort(first), np.sort(second))[0, 1] > 0.99


def test_streams_and_attributes_are_drawn_apart():
    trace = zipf(1000, seed=1, attributes=2)
    first, second = trace.key[trace.side == 0], trace.key[trace.side == 1]
    assert first.tolist() != second.tolist()
    assert first[:, 0].tolist() != first[:, 1].tolist()


def test_each_attribute_has_its_skew():
    key = zipf(20_000, seed=1, attributes=2, alphas=[0, 1.5]).key
    top = [np.bincount(key[:, column]).max() / len(key) for column in (0, 1)]
    assert top == pytest.approx([0.01, popularity(100, 1.5)[0]], rel=0.2)


def test_each_stream_has_its_skews():
    # Section 5.3.4 of the paper: one stream skewed, more so with each attribute, the other uniform.
    trace = zipf(20_000, seed=1, attributes=2, alphas=[[0.5, 1.5], [0, 0]])
    top = [
        np.bincount(trace.key[trace.side == side, column]).max() / 20_000
        for side in (0, 1)
        for column in (0, 1)
    ]
    law = [popularity(100, alpha)[0] for alpha in (0.5, 1.5, 0, 0)]
    assert top == pytest.approx(law, rel=0.25)


def test_references_are_the_first_stream():
    key = zipf(300, seed=4).key[0::2]
    assert GENERATED["zipf"].references(300, seed=4).key.tolist() == key.tolist()


def test_seeds():
    first = zipf(200, seed=1).key.tolist()
    assert zipf(200, seed=1).key.tolist() == first
    assert zipf(200, seed=2).key.tolist() != first


@pytest.mark.parametrize(
    ("good", "bad", "says"),
    [
        ({"domain": 1}, {"domain": 0}, "domain must be a whole number of at least 1, got 0"),
        ({"alpha": 0}, {"alpha": -0.1}, r"alpha must be a number of at least 0, got -0\.1"),
        ({"alpha": 0}, {"alpha": float("nan")}, "alpha must be a number of at least 0, got nan"),
        ({"pareto": 0.1}, {"pareto": 0.09}, r"at least 0\.1, got 0\.09; None gives independent"),
        ({"pareto": 9}, {"pareto": float("inf")}, r"at least 0\.1, got inf"),
        ({"attributes": 1}, {"attributes": 0}, "attributes must be .* at least 1, got 0"),
        ({"streams": 2}, {"streams": 1}, "streams must be a whole number of at least 2, got 1"),
        ({"alphas": [1]}, {"alphas": [1, 2]}, r"must hold 1 skew\(s\), or 2 rows of them"),
        (
            {"correlation": "direct"},
            {"correlation": "inverce"},
            "unknown correlation 'inverce'; did you mean 'inverse'.* Known: direct, inverse, indep",
        ),
        ({}, {"correlation": "x"}, "unknown correlation 'x'; known: direct"),
    ],
)
def test_bad_arguments(good, bad, says):
    assert len(zipf(10, 0, **good)) == 20
    with pytest.raises(BadInput, match=says):
        zipf(10, 0, **bad)


def test_bad_length_and_seed():
    assert len(zipf(1, 0)) == 2
    with pytest.raises(BadInput, match="length must be a whole number of at least 1, got 0"):
        zipf(0, 0)
    with pytest.raises(BadInput, match="seed must be a whole number of at least 0, got -1"):
        zipf(10, -1)
