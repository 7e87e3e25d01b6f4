"""Profiles from samples, beside those of the whole stream."""

import json

import numpy as np
import pytest

from penstock import BadInput
from penstock.profile.distances import distances, reuse
from penstock.profile.sampled_profile import describe
from penstock.profile.sketch import Sketch
from penstock.profile.stream_profile import profile
from penstock.profile.summary import rows, verdict
from penstock.report.profile_page import as_html
from penstock.simulate.skewed import popularity, zipf
from tests.profile.streams import exactly, local, sketched

SIZES = np.array([1, 10, 100, 500, 2000, 4000])
GAPS = np.array([1, 10, 100, 1000, 10_000])


def skewed(length, seed):
    return np.random.default_rng(seed).choice(5000, length, p=popularity(5000, 1.4))


def clustered(length, seed):
    return zipf(length, seed, domain=5000, alpha=0.8).key[::2]


def drawn(length, seed):
    return local(length, keys=8000, seed=seed)


STREAMS = [skewed, clustered, drawn]


@pytest.fixture(scope="module")
def made():
    keys = drawn(120_000, 1)
    return profile(keys, np.arange(len(keys))), describe(
        sketched(keys, rows=20_000, counting=False), counted=exactly(keys)
    )


def test_what_was_counted_is_equal(made):
    true, found = made
    assert (found.length, found.keys) == (true.length, true.keys)
    assert found.popularity.exponent == pytest.approx(true.popularity.exponent)
    assert found.popularity.misfit == pytest.approx(true.popularity.misfit, rel=1e-3)
    assert found.entropy.popularity == pytest.approx(true.entropy.popularity)
    assert found.bursts.rate == pytest.approx(true.bursts.rate)


def test_what_was_estimated_is_near(made):
    true, found = made
    off = found.sampling
    assert found.likelihood.h == true.likelihood.h == 5
    assert found.likelihood.b == pytest.approx(true.likelihood.b, abs=2 * off.b_error)
    assert found.likelihood.a == pytest.approx(true.likelihood.a, abs=0.02)
    assert found.squares.b == pytest.approx(true.squares.b, abs=0.1)
    assert found.permuted_b == pytest.approx(true.permuted_b, abs=0.01)
    assert found.entropy.stream == pytest.approx(true.entropy.stream, abs=2 * off.entropy_error)
    assert found.entropy.permuted == pytest.approx(true.entropy.permuted, abs=0.01)
    assert 0 < off.b_error < 0.03
    assert found.reuse.size_for(0.5) == pytest.approx(true.reuse.size_for(0.5), rel=0.2)
    assert found.distances.median == pytest.approx(true.distances.median, abs=1)
    assert found.permuted.median == pytest.approx(true.permuted.median, rel=0.05)


def test_the_same_report_and_page(made):
    true, found = made
    report = json.loads(json.dumps(found.to_json(), allow_nan=False))
    sample = report.pop("sample")
    assert list(report) == list(true.to_json())
    assert len(sample["hit_ratio_error"]) == len(report["lru"]["hit_ratio"])
    assert len(sample["distance_error"]) == len(report["distance"]["stream"])
    assert verdict(found) == verdict(true)
    assert {row.part for row in rows(found)} - {row.part for row in rows(true)} == {"Sample"}
    assert as_html(found).count('class="chart"') == 5


def coverage(stream, streams, length, sample, known):
    """Return how often the truth lay within the error, by size and by gap, and how wide it was."""
    inside, width = [], []
    for seed in range(streams):
        keys = stream(length, seed)
        sketch = sketched(keys, rows=sample, seed=seed, cuts=1 if known else 5, sampled=sample // 4)
        found = describe(sketch, h=1, counted=exactly(keys) if known else None)
        truth = reuse(keys).hit_ratio(SIZES), distances(keys).within(GAPS)
        value = found.reuse.hit_ratio(SIZES), found.distances.within(GAPS)
        error = found.reuse.error(SIZES), found.distances.error(GAPS)
        off = np.abs(np.concatenate(truth) - np.concatenate(value))
        inside.append(off <= np.concatenate(error) + 2 / length)
        width.append(np.concatenate(error))
    return np.mean(inside, axis=0), np.mean(width, axis=0)


@pytest.mark.parametrize(("stream", "known"), [(clustered, True), (drawn, False)])
def test_the_truth_lies_within_the_error(stream, known):
    part, width = coverage(stream, streams=8, length=40_000, sample=10_000, known=known)
    assert part.mean() > 0.85  # 0.95 in the long run; see below
    assert width.max() < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False], ids=["batch", "stream"])
@pytest.mark.parametrize("stream", STREAMS)
def test_the_truth_lies_within_the_error_95_times_of_100(stream, known):
    part, _ = coverage(stream, streams=100, length=100_000, sample=20_000, known=known)
    assert part.mean() > 0.92
    assert part.min() > 0.83


def test_a_stream_that_fits_is_known_exactly():
    keys = drawn(9000, 1)
    times = np.arange(len(keys)) * 3
    true = profile(keys, times)
    found = describe(sketched(keys, times, rows=10_000, cuts=4))
    assert found.sampling is None
    assert (found.reuse.part == true.reuse.part).all()
    assert found.likelihood.b == pytest.approx(true.likelihood.b)
    assert found.bursts.rate == pytest.approx(true.bursts.rate)


def test_popular_keys_of_a_stream_are_counted():
    keys = skewed(60_000, 3)
    found = describe(sketched(keys, rows=10_000, cuts=6, sampled=300), h=1)
    true = profile(keys, h=1)
    assert found.sampling.rate < 0.5
    assert found.popularity.share([1, 2, 3]) == pytest.approx(
        true.popularity.share([1, 2, 3]), rel=0.01
    )
    assert found.keys == pytest.approx(true.keys, abs=2 * found.sampling.keys_error)
    z, error = found.popularity.exponent
    assert z == pytest.approx(true.popularity.exponent.value, abs=4 * error)


def test_a_restored_sketch_says_the_same():
    one = sketched(drawn(50_000, 2), rows=20_000, cuts=4, sampled=5000)
    again = Sketch.restore(one.save())
    assert again.save() == one.save()
    assert describe(again, h=2).to_json() == describe(one, h=2).to_json()


@pytest.mark.parametrize("rows", [1000, 100_000])
def test_refuses_a_constant_stream(rows):
    keys = np.full(20_000, 7)
    with pytest.raises(
        BadInput, match="at least two values to have a profile, got one and the same"
    ):
        describe(sketched(keys, rows=rows))


def test_refuses_to_look_back_further_than_the_runs_go():
    with pytest.raises(BadInput, match="h must be below the length of the sampled stretches"):
        describe(sketched(drawn(50_000, 1), rows=10_000), h=5000)
