"""Bounds are rounded outward: the truth as a fraction is inside, whatever the numbers are."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.numeric import to_float
from penstock.precision import Cache, Interval, Query, Source
from penstock.precision.queries import answer, bounds, refreshes
from penstock.precision.rounding import add_down, down, exact_sum, exact_width, is_rounded, up
from penstock.precision.thinning import Thinner

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LARGE = st.integers(-(2**70), 2**70)
REALS = st.one_of(FLOATS, LARGE, st.fractions())
LIVE = ["settling", "adaptive", "static:width=0", "static:width=3", "uncentred", "majority"]
LARGEST = math.nextafter(math.inf, 0)


@given(number=st.one_of(FLOATS, st.integers(), LARGE, st.fractions(), st.decimals(-9, 9)))
@example(number=10**400)
@example(number=-(10**400))
@example(number=Fraction(1, 10**400))
@example(number=2**53 + 1)
def test_directed_conversions_are_the_nearest_floats_on_their_side(number):
    low, high = down(number), up(number)
    truth = Fraction(number)
    assert low == -math.inf or Fraction(low) <= truth
    assert high == math.inf or truth <= Fraction(high)
    assert low == high or math.nextafter(low, math.inf) == high
    assert (low == high) == (not is_rounded(number))


@given(numbers=st.lists(FLOATS, max_size=30))
@example(numbers=[1e308, 1e308, -1e308, -1e308, 5e-324])
@example(numbers=[0.1] * 10)
def test_sums_are_exact(numbers):
    assert exact_sum(numbers) == sum(map(Fraction, numbers))


def test_sums_with_infinities():
    assert exact_sum([1.0, -math.inf]) == -math.inf
    assert exact_sum([1e308, 1e308, math.inf]) == math.inf
    assert exact_width(Fraction(1), math.inf) == math.inf


@given(numbers=st.lists(FLOATS, min_size=1, max_size=9), more=st.floats(0, 1e308))
def test_vectors_are_added_rounded_down(numbers, more):
    found = add_down(np.array(numbers), more).tolist()
    assert found == [down(Fraction(number) + Fraction(more)) for number in numbers]
    assert add_down(np.array([-math.inf]), more).tolist() == [-math.inf]


INTERVALS = st.lists(
    st.tuples(FLOATS, FLOATS, st.fractions(0, 1)).map(lambda e: (*sorted(e[:2]), e[2])),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("kind", ["sum", "avg", "max", "min", "quantile"])
@given(intervals=INTERVALS)
@example(intervals=[(1e308, 1e308, Fraction(0))] * 3)
@example(intervals=[(-1e308, 1e308, Fraction(1, 3))] * 3)
@example(intervals=[(0.1, 0.1, Fraction(0))] * 10)
@example(intervals=[(1.0, 1.0, Fraction(0)), (1.0, 1.0, Fraction(0)), (0.0, 0.0, Fraction(0))])
def test_an_answer_contains_the_exact_truth_and_no_float_more(kind, intervals):
    """Also of values that are no floats, anywhere in their intervals."""
    query = Query(kind, 0.0, at=0.5 if kind == "quantile" else None)
    low, high = (np.array([ends[side] for ends in intervals]) for side in (0, 1))
    values = [Fraction(a) + share * (Fraction(b) - Fraction(a)) for a, b, share in intervals]
    least, most = bounds(query, low, high)
    truth = _truth(kind, values)
    assert least <= truth <= most
    ends = [_truth(kind, list(map(Fraction, column.tolist()))) for column in (low, high)]
    assert (least, most) == (down(ends[0]), up(ends[1]))


def _truth(kind, values):
    if kind in ("sum", "avg"):
        return sum(values) / (len(values) if kind == "avg" else 1)
    place = {"max": len(values), "min": 1, "quantile": math.ceil(len(values) / 2)}[kind]
    return sorted(values)[place - 1]


@given(
    kind=st.sampled_from(["sum", "avg", "max", "min", "quantile"]),
    intervals=INTERVALS,
    delta=st.floats(0, 1e308),
    relative=st.booleans(),
    costly=st.booleans(),
)
def test_what_is_refreshed_is_enough_without_any_tolerance(
    kind, intervals, delta, relative, costly
):
    query = Query(kind, delta, relative, at=0.5 if kind == "quantile" else None)
    low, high = (np.array([ends[side] for ends in intervals]) for side in (0, 1))
    least, most, within = answer(query, low, high)
    exact = [_truth(kind, list(map(Fraction, column.tolist()))) for column in (low, high)]
    allowed = Fraction(delta)
    if relative:
        known = not least <= 0 <= most
        smallest = min(abs(least), abs(most))
        allowed = Fraction(delta) * Fraction(smallest) if known else Fraction(0)
        assert query.allowed(least, most) <= allowed
    if within:
        assert exact[1] - exact[0] <= allowed
    costs = np.ones(len(low)) if costly else None
    chosen = refreshes(query, low, high, costs)
    assert within == (not chosen)
    if not relative:
        for side in (low, high):  # whatever the values turn out to be
            after = low.copy(), high.copy()
            for end in after:
                end[chosen] = side[chosen]
            assert answer(query, *after)[2]


def test_sums_beyond_all_floats_have_an_infinite_bound():
    for kind, ends in [("sum", (LARGEST, math.inf)), ("avg", (1e308, 1e308))]:
        low = np.array([1e308] * 3)
        assert bounds(Query(kind, 1.0), low, low) == ends
        assert bounds(Query(kind, 1.0), -low, -low) == (-ends[1], -ends[0])
    source = [Source(str(i), 1e308, rule="static:width=4e307") for i in range(3)]
    cache = Cache()
    for each in source:
        cache.receive(each.subscribe("here", 0))
    for kind in ("sum", "avg"):
        asking = cache.ask(Query(kind, 1.0), now=0)
        while asking.wanted:
            for key in asking.wanted:
                asking.supply(source[int(key)].ask("here", 0, need=asking.need(key)))
        assert asking.answer.within  # known exactly, although no float is near a sum of 3e308
        assert asking.answer.low <= 3 * Fraction(1e308) / (3 if kind == "avg" else 1)


@pytest.mark.parametrize("rule", [*LIVE, "growing", "growing:drift=true"])
@given(data=st.data())
def test_every_interval_contains_the_number_itself(rule, data):
    """Whole numbers beyond 2 ** 53, fractions, and floats as large as they can be."""
    source = Source("a", data.draw(REALS), rule=rule, limits=[] if "growing" in rule else [0, 9])
    held = source.subscribe("here", 0)
    for now in range(1, 12):
        value = data.draw(REALS)
        held = source.update(value, now).get("here", held)
        low, high = held.interval.bounds(now)
        assert low <= Fraction(value) <= high
        if data.draw(st.booleans()):
            held = source.ask("here", now, need=data.draw(st.sampled_from([0.0, 1.0, 1e300])))
            low, high = held.interval.bounds(now)
            assert low <= Fraction(value) <= high
            assert held.value == to_float(value)
            assert held.rounded == is_rounded(value)
        before = min(source.next_deadline(), now + 1.0)
        low, high = held.interval.bounds(math.nextafter(before, -math.inf))
        assert before <= now or low <= Fraction(value) <= high
        held = source.tick(now + 0.5).get("here", held)


@given(values=st.lists(REALS, min_size=1, max_size=5), kind=st.sampled_from(["sum", "avg", "max"]))
def test_numbers_that_are_no_floats_are_bounded_by_their_neighbours(values, kind):
    sources = {str(i): Source(str(i), value) for i, value in enumerate(values)}
    cache = Cache()
    for source in sources.values():
        cache.receive(source.subscribe("here", 0))
    asking = cache.ask(Query(kind, 0.0), now=0)
    for _ in range(9):
        for key in asking.wanted:
            asking.supply(sources[key].ask("here", 0, need=asking.need(key)))
    assert not asking.wanted  # what was fetched is not asked for again, though it is not exact
    answered = asking.answer
    truth = _truth(kind, list(map(Fraction, values)))
    assert answered.low <= truth <= answered.high
    assert answered.within or any(map(is_rounded, values))


def test_a_restored_source_keeps_that_its_value_was_rounded():
    source = Source("a", 2**53 + 1, rule="static:width=0")
    source.subscribe("here", 0)
    again = Source.restore(source.save())
    assert again.ask("here", 1).interval[:2] == (2.0**53 - 1, 2.0**53 + 2)


def test_limits_and_counts_of_numbers_that_are_no_floats():
    source = Source("a", 2.0**53, rule="static:width=9e15", limits=[2**53 + 1])
    assert source.subscribe("here", 0).interval.high == 2.0**53
    assert source.update(2.0**53 + 2, 1)["here"].interval.low == 2.0**53 + 2
    low = np.array([2.0**53 + 4])
    assert bounds(Query("count", 0, at=2**53 + 3).checked(), low, low) == (1, 1)


@given(
    low=FLOATS,
    wide=st.floats(0, 1e300),
    drift=st.floats(-1e9, 1e9),
    share=st.fractions(0, 1),
    at=st.floats(-1e9, 1e9),
    elapsed=st.floats(0, 1e9),
)
def test_a_drifting_interval_is_rounded_outward_and_ends_in_time(
    low, wide, drift, share, at, elapsed
):
    made = Interval(low, low + wide, at, drift)
    now = at + elapsed
    shift = Fraction(drift) * (Fraction(now) - Fraction(at))
    least, most = made.bounds(now)
    assert least <= Fraction(low) + shift
    assert most == math.inf or Fraction(made.high) + shift <= most
    if made.high < math.inf:
        value = down(Fraction(low) + share * (Fraction(made.high) - Fraction(low)))
        ends = made.until(value)
        if at <= ends < math.inf:
            low, high = made.bounds(ends)
            assert low <= value <= high


@given(
    values=st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=20),
    rule=st.sampled_from(LIVE),
    limits=st.sampled_from([(), (0.0,)]),
)
def test_thinning_keeps_whole_numbers_inside(values, rule, limits):
    times = np.arange(len(values))
    thinner = Thinner(rule, limits=limits)
    rounded = [is_rounded(value) for value in values]
    found = thinner.push(np.zeros(len(values), int), times, values, rounded=rounded)
    saved = thinner.save()
    again = Thinner(rule, limits=limits)
    again.restore(saved)
    asked = again.push(asked=[0], asked_time=[99], delta=[0.0])
    ends = {int(row): (low, high) for row, low, high in zip(found.row, found.low, found.high)}
    held = None
    for row, value in enumerate(values):
        held = ends.get(row, held)
        assert held[0] <= Fraction(value) <= held[1]
    if len(asked.row):
        assert asked.low[0] <= Fraction(values[-1]) <= asked.high[0]
    else:
        assert held[0] == held[1] == values[-1]


def test_thinning_of_9007199254740993():
    number = 2**53 + 1
    for value in (number, Decimal(number), 10**30 + 1, 0.1):
        found = Thinner("static:width=0").push([1], [1], [value], rounded=[True])
        assert found.low[0] < value < found.high[0]
    found = Thinner("static:width=0").push([1], [1], [2**53])
    assert found.low[0] == found.high[0] == 2**53


@given(low=FLOATS, high=FLOATS, share=st.sampled_from([0.5, 1.0, 2.0]))
def test_a_query_is_answered_only_by_what_is_narrow_enough(low, high, share):
    """Exactly: not by an interval that is wider than δ by less than rounding shows."""
    low, high = sorted((low, high))
    thinner = Thinner("static:width=0")
    thinner.push([1], [1], [low])
    thinner._keys.now[0, :2] = low, high
    delta = min(high - low, LARGEST) * share
    delta = min(delta, LARGEST)
    asked = len(thinner.push(asked=[1], asked_time=[2], delta=[delta]).row)
    assert asked == (Fraction(high) - Fraction(low) > Fraction(delta))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda s, c: s.update(10**400, 1), "of 'a' must be a finite number, got 1000.*0\\.\\.\\."),
        (lambda s, c: s.update(10**5000, 1), "finite number, got an int too long to be written"),
        (lambda s, c: s.update(Fraction(10**400, 3), 1), "of 'a' must be a finite number, got"),
        (lambda s, c: Source("a", -(10**400)), "of 'a' must be a finite number, got -1000"),
        (lambda s, c: s.update(1.0, math.nan), "now must be a finite number, got nan"),
        (lambda s, c: s.update(1.0, math.inf), "now must be a finite number, got inf"),
        (lambda s, c: s.update(1.0, None), "now must be a finite number, got None"),
        (lambda s, c: s.ask("here", math.nan), "now must be a finite number, got nan"),
        (lambda s, c: s.subscribe("there", math.nan), "now must be a finite number, got nan"),
        (lambda s, c: s.tick(math.nan), "now must be a finite number, got nan"),
        (lambda s, c: s.ask("here", 1, need=10**400), "need must be a number of at least 0, got"),
        (lambda s, c: c.bounds("a", math.nan), "now must be a finite number, got nan"),
        (lambda s, c: c.is_stale("a", math.nan), "now must be a finite number, got nan"),
        (lambda s, c: c.ask(Query("sum", 1), math.nan), "now must be a finite number, got nan"),
        (lambda s, c: c.ask(Query("sum", 10**400), 1), "delta must be a number of at least 0, got"),
    ],
)
def test_numbers_that_no_float_can_be_near_are_refused(make, complaint):
    source, cache = Source("a", 5.0), Cache()
    cache.receive(source.subscribe("here", 0))
    with pytest.raises(BadInput, match=complaint):
        make(source, cache)
    assert source.value == 5.0  # and change nothing
    assert source.update(5.25, 1) == {}
