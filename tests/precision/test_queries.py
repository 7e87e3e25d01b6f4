"""Bounds, and the cheapest sets of refreshes, against trying out all of them."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.precision.queries import KINDS, Query, answer, bounds, need, parse, refreshes

ENDS = st.tuples(st.integers(-9, 9), st.integers(0, 8)).map(lambda e: (e[0], e[0] + e[1]))
INTERVALS = st.lists(ENDS, min_size=1, max_size=5)
AT = {"count": 2.5, "quantile": 0.6}


def columns(intervals):
    return np.array([[float(a), float(b)] for a, b in intervals]).T


def truth(kind, values, at):
    """Answer from exact values."""
    if kind in ("sum", "avg"):
        return sum(values) / (len(values) if kind == "avg" else 1)
    if kind == "count":
        return sum(value > at for value in values)
    share = {"min": 0, "max": 1}.get(kind, at)
    return sorted(values)[max(1, math.ceil(share * len(values))) - 1]


def safe(query, intervals, chosen):
    """Tell whether the answer is narrow enough, whatever the chosen values turn out to be."""
    outcomes = [[]]
    for i, (low, high) in enumerate(intervals):
        options = [(v, v) for v in {low, high, (low + high) / 2}] if i in chosen else [(low, high)]
        outcomes = [[*outcome, option] for outcome in outcomes for option in options]
    for outcome in outcomes:
        if not answer(query, *columns(outcome))[2]:
            return False
    return True


def cheapest(query, intervals, costs):
    """Return the least cost of a set that is safe, by trying out all sets."""
    n = range(len(intervals))
    sets = [chosen for size in range(len(n) + 1) for chosen in combinations(n, size)]
    return min(sum(costs[i] for i in s) for s in sets if safe(query, intervals, s))


@given(
    kind=st.sampled_from(KINDS),
    intervals=INTERVALS,
    shares=st.lists(st.floats(0, 1), min_size=5, max_size=5),
)
def test_the_answer_contains_the_truth(kind, intervals, shares):
    query = Query(kind, 0, at=AT.get(kind))
    values = [low + Fraction(s) * (high - low) for (low, high), s in zip(intervals, shares)]
    low, high = bounds(query, *columns(intervals))
    assert low <= truth(kind, values, AT.get(kind)) <= high
    floats = [float(value) for value in values]
    low, high = bounds(query, *columns([(value, value) for value in floats]))
    assert low <= truth(kind, list(map(Fraction, floats)), AT.get(kind)) <= high
    assert high in (low, math.nextafter(low, math.inf))


@given(kind=st.sampled_from(KINDS), intervals=INTERVALS, delta=st.integers(0, 12))
def test_as_few_refreshes_as_can_be(kind, intervals, delta):
    query = Query(kind, float(delta), at=AT.get(kind))
    chosen = refreshes(query, *columns(intervals))
    assert safe(query, intervals, set(chosen))
    assert len(chosen) == cheapest(query, intervals, [1] * len(intervals))


@given(
    kind=st.sampled_from(KINDS),
    intervals=INTERVALS,
    delta=st.integers(0, 12),
    costs=st.lists(st.integers(1, 9), min_size=5, max_size=5),
)
def test_as_cheap_as_can_be(kind, intervals, delta, costs):
    query = Query(kind, float(delta), at=AT.get(kind))
    prices = np.array(costs[: len(intervals)], float)
    chosen = refreshes(query, *columns(intervals), prices)
    assert safe(query, intervals, set(chosen))
    assert sum(costs[i] for i in chosen) == cheapest(query, intervals, costs)


@given(kind=st.sampled_from(["sum", "avg", "max", "min"]), intervals=INTERVALS)
def test_a_relative_constraint_is_kept(kind, intervals):
    query = Query(kind, 0.2, relative=True)
    low, high = bounds(query, *columns(intervals))
    assume(not low <= 0 <= high)
    assert safe(query, intervals, set(refreshes(query, *columns(intervals))))


def test_a_relative_constraint_around_zero_begins_with_the_widest():
    low, high = columns([(-3, 3), (-1, 6), (2, 3)])
    assert refreshes(Query("sum", 0.1, relative=True), low, high) == [1]


def test_the_maximum_may_be_exact_from_inexact_intervals():
    low, high = columns([(7, 7), (1, 6), (2, 7)])
    assert bounds(Query("max", 0), low, high) == (7, 7)
    assert refreshes(Query("max", 0), low, high) == []


def test_the_maximum_by_hand():
    # Only those above 6 + 1 can still matter.
    low, high = columns([(6, 9), (0, 7), (5, 8), (1, 2)])
    assert refreshes(Query("max", 1), low, high) == [0, 2]


def test_unknown_values_are_always_fetched():
    low, high = np.array([-np.inf, 1.0, 1.0]), np.array([np.inf, 2.0, 5.0])
    assert refreshes(Query("sum", 5), low, high) == [0]
    assert refreshes(Query("sum", 5), low, high, np.array([9.0, 1.0, 1.0])) == [0]
    assert refreshes(Query("max", 4), low, high) == [0]


def test_the_truth_is_not_missed_by_rounding():
    values = [0.1] * 10  # whose sum is no float
    low, high = bounds(Query("sum", 0), *columns([(v, v) for v in values]))
    assert (low, high) == (1.0, math.nextafter(1.0, 2.0))
    assert low < 10 * Fraction(0.1) < high
    assert refreshes(Query("sum", 0), *columns([(v, v) for v in values])) == []  # nothing to gain


def test_need_of_a_sum_is_a_fair_share():
    low, high = columns([(0, 6), (0, 2)])
    assert need(Query("sum", 4), low, high, 0) == 3.0
    assert need(Query("avg", 2), low, high, 1) == 1.0
    assert need(Query("max", 4), low, high, 0) == 4.0
    assert need(Query("count", 1, at=3), low, high, 0) == 0.0


@pytest.mark.parametrize(
    ("text", "query", "keys"),
    [
        ("avg(sensor/+/temp) within 0.5", Query("avg", 0.5), "sensor/+/temp"),
        (" SUM( a.b ) within 3 % ", Query("sum", 0.03, True), "a.b"),
        ("count(x/#, -3.5) within 2", Query("count", 2, False, -3.5), "x/#"),
        ("count(x/# > -3.5) within 2", Query("count", 2, False, -3.5), "x/#"),
        ("quantile(*, .9) within 1e3", Query("quantile", 1000, False, 0.9), "*"),
        ("median(*) within 0", Query("quantile", 0, False, 0.5), "*"),
    ],
)
def test_reads_queries(text, query, keys):
    assert parse(text) == (query, keys)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "must read like 'avg"),
        ("avg(x)", "must read like 'avg"),
        ("avg x within 2", "must read like 'avg"),
        ("avg() within 2", "must read like 'avg"),
        ("avg(x) within -2", "delta must be a number of at least 0, got -2"),
        ("avg(x) within nan", "delta must be a finite number, got 'nan'"),
        ("avg(x) within few", "delta must be a finite number, got 'few'"),
        ("mode(x) within 2", "must be one of sum, avg, max, min, count, quantile, median, got"),
        ("count(x) within 2", "must read like count.KEYS > LIMIT. within 1, got"),
        ("quantile(x, 0) within 2", "a quantile must be above 0 and at most 1, got 0"),
        ("quantile(x, 1.5) within 2", "a quantile must be above 0 and at most 1, got 1.5"),
        ("max(x, 3) within 2", "max takes no number besides its keys, got 3"),
        ("quantile(x > 0.5) within 2", "must read like quantile.KEYS, SHARE. within 1, got"),
        ("median(x, 3) within 2", "median takes no number besides its keys, got 3"),
    ],
)
def test_refuses_queries(text, complaint):
    with pytest.raises(BadInput, match=complaint):
        parse(text)
