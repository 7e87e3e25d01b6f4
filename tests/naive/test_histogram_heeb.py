"""Histogram HEEB on cases worked by hand, and against HEEB and RAND on trends."""

import math
import random
import statistics
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .heeb import exponential
from .histogram_heeb import FIRST, Bucket, Histogram, Position
from .join import TWO_WAY, NaiveJoin
from .models import Trend, Walk, normal, sample
from .policies import factory
from .policies.heeb import Heeb
from .tuples import FOREVER, Tuple

NUMBERS = st.lists(st.floats(-100, 100), min_size=1, max_size=20)


def bucket_of(numbers, low=0.0):
    bucket = Bucket(low, low)
    for x in numbers:
        bucket.add(low, x)
    return bucket


def histogram_of(buckets, high, **options):
    histogram = Histogram(len(buckets), **options)
    histogram.buckets, histogram.high = buckets, high
    return histogram


def lows(histogram):
    return [bucket.low for bucket in histogram.buckets]


# Buckets


@given(numbers=NUMBERS)
def test_the_recurrence_gives_mean_and_deviation(numbers):
    bucket = bucket_of(numbers)
    assert bucket.count == len(numbers)
    assert bucket.mean == pytest.approx(statistics.fmean(numbers), abs=1e-9)
    assert bucket.deviation == pytest.approx(statistics.pstdev(numbers), abs=1e-6)


@given(left=NUMBERS, right=NUMBERS)
def test_merged_buckets_know_what_both_knew(left, right):
    merged = bucket_of(left, 0.0).merged(bucket_of(right, 4.0))
    both = bucket_of(left + right)
    assert (merged.low, merged.count) == (0, both.count)
    assert merged.centre == pytest.approx(4 * len(right) / both.count)
    assert merged.mean == pytest.approx(both.mean, abs=1e-9)
    assert merged.squares == pytest.approx(both.squares, abs=1e-6)
    assert Bucket(0, 1).merged(Bucket(2, 3)) == Bucket(0, 1)


def test_halves_share_the_count():
    whole = Bucket(0.0, 2.0, count=4, mean=4, squares=20)
    left, right = whole.halves(6.0)
    assert (left.low, left.centre, right.low, right.centre) == (0, 1, 2, 4)
    assert left.count == right.count == 2
    assert left.mean == right.mean == 4
    assert left.deviation == right.deviation == whole.deviation == math.sqrt(5)
    assert Bucket(0, 1).deviation == 0


def test_fading_makes_room_for_the_new():
    bucket = bucket_of([1, 3, 1, 3])
    bucket.fade(0.5)
    assert (bucket.count, bucket.mean, bucket.deviation) == (2, 2, 1)
    bucket.add(0, 5)
    assert bucket.mean == 3  # one third of the way instead of one fifth


# Histograms


def test_the_first_observations_are_cut_into_equal_counts():
    histogram = Histogram(buckets=2)
    for i in range(FIRST):
        assert histogram.at(0.0) == 0
        histogram.add(float((7 * i) % FIRST), float(i % 2))
    assert lows(histogram) == [0, FIRST / 2]
    assert [bucket.count for bucket in histogram.buckets] == [FIRST / 2, FIRST / 2]


def test_equal_offsets_are_in_one_bucket():
    histogram = Histogram(buckets=4)
    for i in range(FIRST):
        histogram.add(0.0 if i < 50 else 1.0, 1.0)
    assert lows(histogram) == [0, 1]
    assert [bucket.count for bucket in histogram.buckets] == [50, FIRST - 50]


def test_the_curve_is_straight_between_centres_and_flat_outside():
    histogram = histogram_of([Bucket(0, 1, 9, 2.0), Bucket(2, 3, 9, 4.0)], 4)
    assert [histogram.at(offset) for offset in (-9, 1, 1.5, 2, 3, 9)] == [2, 2, 2.5, 3, 4, 4]


def test_an_observation_outside_stretches_the_nearest_bucket():
    histogram = histogram_of([Bucket(0, 1, 1), Bucket(2, 3, 1)], 4)
    histogram.add(-5.0, 1.0)
    histogram.add(9.0, 1.0)
    assert lows(histogram) == [-5, 2]
    assert histogram.high == 9
    assert [bucket.centre for bucket in histogram.buckets] == [-2, 6]


def test_likes_are_merged_and_unlikes_split():
    buckets = [Bucket(0, 1, 4, 1, 1), Bucket(2, 3, 4, 1, 1), Bucket(4, 5, 4, 1, 8)]
    histogram = histogram_of(buckets, 7, every=1, decay=1.0)
    histogram.add(5.0, 1.0)
    assert lows(histogram) == [0, 4, 5]
    assert [bucket.count for bucket in histogram.buckets] == [8, 2.5, 2.5]


def test_many_that_deviate_little_are_split_before_few_that_deviate_much():
    buckets = [Bucket(0, 1, 90, 1, 90), Bucket(2, 3, 4, 1, 36), Bucket(4, 5, 9, 1, 1)]
    histogram = histogram_of(buckets, 6, every=1, decay=1.0)
    histogram.add(5.0, 1.0)
    assert lows(histogram) == [0, 1, 2]


def test_alikes_stay_as_they_are():
    buckets = [Bucket(0, 1, 4, 1, 2), Bucket(2, 3, 4, 1, 2), Bucket(4, 5, 4, 1, 2)]
    histogram = histogram_of(buckets, 6, every=1)
    histogram.add(5.0, 1.0)
    assert lows(histogram) == [0, 2, 4]


def test_buckets_are_cut_between_whole_numbers():
    assert Bucket(3.0, 3.4).cut(5.0) == 4
    assert Bucket(3.0, 4.6).cut(4.9) == 4
    assert Bucket(3.0, 6.0).cut(9.0) == 6
    assert Bucket(-4.5, -3.2).cut(-2.0) == -3
    assert Bucket(3.0, 3.0).cut(4.0) is None
    assert Bucket(3.0, 3.0).cut(3.0) is None
    assert Bucket(3.2, 3.5).cut(3.9) is None


def test_a_bucket_of_one_offset_is_not_split():
    buckets = [Bucket(0, 0.0, 4, 1, 9), Bucket(1, 1.0, 4, 1, 1), Bucket(2, 2.0, 4, 1, 1)]
    histogram = histogram_of(buckets, 2, every=1)
    histogram.add(1.0, 1.0)
    assert lows(histogram) == [0, 1, 2]


def test_only_large_counts_fade():
    histogram = histogram_of([Bucket(0, 1, 1), Bucket(2, 3, 9)], 4, every=2, decay=0.5)
    for _ in range(2):
        histogram.add(3.0, 0.0)
    assert [bucket.count for bucket in histogram.buckets] == [1, 5.5]


# Positions


def test_a_walk_is_where_it_was_last():
    position = Position("walk")
    for v in (3, 8):
        position.see(v)
    assert position.offset(7) == -1


def test_a_line_is_followed_without_a_lag():
    position = Position("trend", smoothing=0.25)
    for t in range(60):
        position.see(3 * t + 5)
    assert position.value == pytest.approx(3 * 59 + 5)
    assert position.slope == pytest.approx(3)


@given(values=st.lists(st.integers(-50, 50), min_size=2, max_size=15))
def test_a_line_through_few_points_is_that_of_least_squares(values):
    position = Position("trend", smoothing=0.05)
    for v in values:
        position.see(v)
    slope, start = statistics.linear_regression(range(len(values)), values)
    assert position.slope == pytest.approx(slope, abs=1e-9)
    assert position.value == pytest.approx(start + slope * (len(values) - 1), abs=1e-9)


@pytest.mark.parametrize(
    ("stream", "form"),
    [
        (Trend(1, 0, normal(1, 5)), "trend"),
        (Trend(-3, 9, normal(8, 40)), "trend"),
        (Walk(normal(1, 5)), "walk"),
        (Walk(normal(2, 10, mean=3.0)), "walk"),
    ],
)
def test_the_form_is_found_out(stream, form):
    position = Position("auto")
    changes = [position.see(v) for v in sample(stream, 500, random.Random(3))]
    assert position.form == form
    assert sum(changes) == (form == "walk")


def test_form_is_checked():
    with pytest.raises(ValueError, match="'trend', 'walk' or 'auto', got 'wave'"):
        Position("wave")


# The policy


def arrival(stream, key, time):
    return Tuple(stream, (key,), time, FOREVER, 2 * time + stream)


def test_a_match_counts_by_the_chance_to_be_held():
    policy = factory("hist", form="walk", watch=1)(0, 8)
    for i in range(8):
        policy.insert(arrival(0, 100 + i, 0), 0)
    policy.arrive(arrival(1, 3, 0), 0)
    policy.watched[0].clear()
    policy.arrive(arrival(0, 5, 0), 0)
    for time, v in enumerate((5, 4, 5), start=1):
        policy.arrive(arrival(1, v, time), time)
    # held 8; at first 2 of 3 arrivals are of stream 1, then 3 of 4, then 4 of 5
    keep = [life / (1 + life) for life in (8 * 2 / 3, 6, 8 * 4 / 5)]
    (watched,) = policy.watched[0]
    assert (watched.offset, watched.steps) == (2, 3)
    assert watched.worth == pytest.approx(keep[0] + keep[0] * keep[1] * keep[2])


def test_of_a_cache_only_the_next_reference_counts():
    policy = factory("hist", form="walk", watch=1)(0, 8)
    policy.caching = True
    for i in range(8):
        policy.insert(arrival(0, 100 + i, 0), 0)
    for time, v in enumerate((3, 4, 3, 3)):
        policy.arrive(arrival(1, v, time), time)
    assert policy.worth[0].first == [(0, pytest.approx((8 / 9) ** 2)), (0, pytest.approx(8 / 9))]


def results(make, rows, memory=10):
    join = NaiveJoin(make, memory, together=True)
    warmup = 2 * 4 * memory
    join.push(rows[:warmup])
    return len(join.push(rows[warmup:]))


@pytest.mark.parametrize(("sd", "share"), [(1, 0.95), (8, 0.9)])
def test_it_comes_close_to_heeb_on_trends(sd, share):
    # figures 13 and 14, in small
    stream = Trend(1, 0, normal(sd, 5 * sd))
    rng = random.Random(5)
    pairs = zip(*(sample(stream, 2000, rng) for _ in range(2)), strict=True)
    rows = [
        {"stream": side, "keys": (v,), "time": t}
        for t, pair in enumerate(pairs)
        for side, v in enumerate(pair)
    ]
    models = (stream, stream)
    heeb = partial(Heeb, joins=TWO_WAY, models=models, lifetime=exponential(10), horizon=90)
    learned, known = results(factory("hist"), rows), results(heeb, rows)
    assert results(factory("rand"), rows) < learned
    assert share * known < learned < 1.02 * known
