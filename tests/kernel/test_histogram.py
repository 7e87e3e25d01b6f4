"""The histograms against the twin's, bucket by bucket."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import histogram as histograms
from penstock.kernel.jit import kernel
from tests.naive.histogram_heeb import Histogram as NaiveHistogram


@kernel
def drive(h, which, x, y, out):
    """Add the observations one by one; write what the curve says there just before."""
    for i in range(len(x)):
        out[i] = histograms.at(h, which, x[i])
        histograms.add(h, which, x[i], y[i])


@kernel
def forget(h, which):
    histograms.clear(h, which)


def buckets_of(h, which):
    size = h.size[which]
    edges = h.edge[which, : size + 1].tolist()
    columns = (h.centre, h.weight, h.mean, h.squares)
    return edges, [column[which, :size].tolist() for column in columns]


def naive_buckets_of(naive):
    edges = [bucket.low for bucket in naive.buckets] + [naive.high]
    names = ("centre", "count", "mean", "squares")
    return edges, [[getattr(bucket, name) for bucket in naive.buckets] for name in names]


@given(
    seed=st.integers(0, 999),
    n=st.integers(0, 400),
    buckets=st.integers(2, 12),
    every=st.sampled_from([1, 10, 50]),
    fade=st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    whole=st.booleans(),
    scale=st.sampled_from([0.1, 5.0, 1e17]),
)
def test_keeps_the_buckets_of_its_twin(seed, n, buckets, every, fade, whole, scale):
    random = np.random.default_rng(seed)
    x = random.normal(0, scale, n)
    x = np.round(x) if whole else x
    y = random.poisson(np.exp(-np.abs(x) / scale)).astype(float)
    h = histograms.make_histograms(2, buckets, every, fade)
    naive = NaiveHistogram(buckets, every, fade)
    out, expected = np.zeros(n), []
    drive(h, 1, x, y, out)
    for each in zip(x.tolist(), y.tolist(), strict=True):
        expected.append(naive.at(each[0]))
        naive.add(*each)
    assert out.tolist() == expected
    if naive.buckets:
        assert buckets_of(h, 1) == naive_buckets_of(naive)
        edges, (centres, *_) = buckets_of(h, 1)
        assert edges == sorted(edges)
        assert centres == sorted(centres)
    assert h.size[0] == h.added[0] == 0


def test_follows_a_curve_and_forgets():
    random = np.random.default_rng(1)
    x = random.uniform(-10, 10, 20_000)
    h = histograms.make_histograms(1, 10, 300, 0.9)
    drive(h, 0, x, np.maximum(0, 5 - np.abs(x)) + random.normal(0, 1, len(x)), np.zeros(len(x)))
    probes = np.array([-9.0, -5.0, -2.0, 0.0, 3.0, 8.0])
    said = np.zeros(len(probes))
    copy = histograms.Histograms(*(column.copy() for column in h))
    drive(copy, 0, probes, np.zeros(len(probes)), said)
    # the tip at 0 is cut off: the centre of a bucket stands for all of it
    assert said == pytest.approx(np.maximum(0, 5 - np.abs(probes)), abs=0.8)
    forget(h, 0)
    drive(h, 0, probes, np.zeros(len(probes)), said)
    assert said.tolist() == [0] * len(probes)
