"""Band joins: rows match when their values are near, beside equal keys and times in the window."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import config

from penstock.engine import Join
from penstock.errors import BadInput
from penstock.kernel.band import Band
from penstock.kernel.shape import all_streams
from tests.marks import long, plain
from tests.naive.band import NaiveBand, exact_band, is_near
from tests.naive.how import HOWS, MATCHES, in_time
from tests.naive.policies import factory
from tests.recount import recount

COMPILED = not config.DISABLE_JIT
KINDS = [(how, match) for how in HOWS for match in MATCHES]
# Each kind of join, policy and number is compiled, which takes seconds: compiled few must do.
FEW = [("full", "all"), ("left", "first")]
POLICIES = ["fifo", "lru", "prob", "rate", "rand", "lfu", "gdj"]
NEAR = [2, 0.5]
ODD = [0.0, -0.0, 1e300, -1e300, 5e-324, 2.0**60, math.nan, math.inf, -math.inf, None]


@st.composite
def rows_of(draw, near, most=60, odd=True):
    """Draw rows of few keys, whose values often lie just `near` apart, or a little more."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = int(rng.integers(most // 2, most))
    value = rng.integers(-6, 7, count)
    if isinstance(near, float):
        value = value * near * rng.choice([0.5, 1.0], count)
        value = np.where(rng.random(count) < 0.3, np.nextafter(value, np.inf), value)
    columns = (
        rng.integers(0, 2, count),
        rng.integers(0, 2, count),
        np.cumsum(rng.integers(0, 4, count)),
        value,
    )
    rows = [
        {"stream": side, "keys": (key,), "time": time, "value": value}
        for side, key, time, value in zip(*map(np.ndarray.tolist, columns), strict=True)
    ]
    for row in rows:
        if odd and rng.random() < 0.1:
            if isinstance(near, float):
                row["value"] = ODD[rng.integers(len(ODD))]
            else:
                row["keys"] = None
    return rows


@st.composite
def cases(draw, near, most=60, odd=True):
    rows = draw(rows_of(near, most, odd))
    delay = draw(st.none() | st.integers(0, 8))
    if delay is not None:
        rng = np.random.default_rng(draw(st.integers(0, 99)))
        rows.sort(key=lambda row: row["time"] + rng.integers(0, 2 * delay + 1))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), min_size=3, max_size=3)))
    batches = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    return batches, {"delay": delay, "within": draw(st.sampled_from([None, 9, (-3, 11)]))}


def push(join, rows, most=None):
    """Push rows into the engine and return their results."""
    missing = np.array([row["keys"] is None or row["value"] is None for row in rows], bool)
    kind = np.int64 if join.band.kind == "whole" else np.float64
    columns = {
        "side": np.array([row["stream"] for row in rows], np.int64),
        "key": np.array([(row["keys"] or (0,))[0] for row in rows], np.int64),
        "time": np.array([row["time"] for row in rows], np.int64),
        "value": np.array([row["value"] or 0 for row in rows], kind),
        "null": missing,
    }
    if most is None:
        return pairs_of(join.push(**columns))
    return [pair for part in join.push_parts(**columns, most=most) for pair in pairs_of(part)]


def pairs_of(matches):
    return [tuple(pair) for pair in matches.rows.tolist()]


def follow(policy, batches, budget, *, near, **options):
    """Push batches into the engine and its twin, saving and restoring before each of them."""
    real = Join(policy, budget, near=near, **options)
    twin = NaiveBand(factory(policy), budget, near=near, **options)
    for batch in batches:
        expected = twin.push(batch)
        real = Join.restore(real.save())
        assert Counter(push(real, batch)) == Counter(expected)
        recount(real)
        assert real.held_rows.tolist() == [t.row for t in twin.held]
        assert {name: each.tolist() for name, each in real.counters.items()} == twin.counters
        assert real.together == twin.together
    assert Counter(pairs_of(real.finish())) == Counter(twin.finish())


def test_values_at_most_half_a_degree_apart_match():
    join = Join(within=10, near=0.5)
    found = join.push([0, 1, 1, 1, 1], None, [0, 1, 2, 3, 11], value=[20.0, 20.5, 20.6, 19.5, 20.0])
    assert pairs_of(found) == [(0, 1), (0, 3)]


def test_keys_must_be_equal_beside_near_values():
    join = Join(within=10, near=2)
    found = join.push([0, 1, 1, 1], [7, 8, 7, 7], [0, 1, 2, 3], value=[10, 10, 12, 13])
    assert pairs_of(found) == [(0, 2)]


def test_a_row_takes_one_slot_and_the_budget_holds():
    join = Join("fifo", 2, near=1.0)
    join.push([0, 0, 0], None, [0, 1, 2], value=[0.0, 0.1, 0.2])
    assert join.held_rows.tolist() == [1, 2]
    assert pairs_of(join.push([1], None, [3], value=[0.9])) == [(2, 3), (1, 3)]


def test_the_partner_of_a_row_that_has_one_is_the_first_kept_in_any_cell():
    join = Join(within=9, near=2, match="first")
    side, value = [1, 1, 1, 0], [2, 0, 3, 1]
    assert pairs_of(join.push(side, None, [0, 1, 2, 3], value=value)) == [(3, 0)]


@pytest.mark.parametrize("near", NEAR)
@given(data=st.data(), how=st.sampled_from(["inner", "full"] if COMPILED else HOWS))
def test_without_a_budget_it_is_the_exact_join(near, data, how):
    batches, options = data.draw(cases(near))
    join, found = Join(near=near, how=how, **options), []
    for batch in batches:
        found += push(join, batch)
        join = Join.restore(join.save())
    found += pairs_of(join.finish())
    for row in (row for batch in batches for row in batch):
        if row["value"] is None or not math.isfinite(row["value"]):
            row["keys"] = None  # it moves no watermark, as a row without a key
    rows = in_time(batches, options["delay"])
    assert Counter(found) == Counter(exact_band(rows, options["within"], how, near))


@pytest.mark.parametrize("policy", ["lru"] if COMPILED else POLICIES)
@given(data=st.data(), near=st.sampled_from(NEAR), budget=st.integers(1, 12))
def test_under_a_budget_it_does_what_its_twin_does(policy, data, near, budget):
    batches, options = data.draw(cases(near))
    follow(policy, batches, budget, near=near, **options)


@given(
    data=st.data(),
    kind=st.sampled_from(FEW if COMPILED else KINDS),
    budget=st.integers(1, 9),
    goal=st.sampled_from(["rows"] if COMPILED else ["pairs", "rows"]),
)
def test_every_kind_of_join_does_what_its_twin_does(data, kind, budget, goal):
    batches, options = data.draw(cases(2))
    how, match = kind
    follow("lru", batches, budget, near=2, how=how, match=match, goal=goal, **options)


@plain
@pytest.mark.parametrize("options", [{"window": "count", "within": 7}, {"together": True}])
@given(data=st.data(), budget=st.integers(1, 9))
def test_other_windows_and_steps(options, data, budget):
    rows = data.draw(rows_of(2, odd=False))
    follow("lru", [rows], budget, near=2, **options)


@given(data=st.data(), most=st.integers(1, 9))
def test_parts_are_what_push_returns(data, most):
    batches, options = data.draw(cases(2))
    one, other = (Join("lru", 9, near=2, **options) for _ in range(2))
    for batch in batches:
        assert push(one, batch, most=most) == push(other, batch)


floats = st.floats(allow_nan=False, allow_infinity=False)


@given(value=floats, near=floats.filter(lambda near: near > 0), steps=st.integers(-3, 3))
@example(value=0.1 * 3, near=0.1, steps=1)
@example(value=2.0**46 * 0.3, near=0.3, steps=-1)
@example(value=5e-324, near=5e-324, steps=3)
def test_near_floats_are_at_most_one_cell_apart(value, near, steps):
    for other in (value + near, value - near):
        for _ in range(abs(steps)):
            other = math.nextafter(other, math.copysign(math.inf, steps))
        if math.isfinite(other) and is_near(value, other, near):
            band = Band(near)
            bits, _ = band.read([value, other])
            one, two = band.cells(bits).tolist()
            assert abs(one - two) <= 1
            assert band.near_to(bits[:1], bits[1:]).all()


@pytest.mark.filterwarnings("error")
def test_the_ends_of_the_range_of_floats_are_far_apart():
    value = np.array([1.7e308, -1.7e308])
    band = Band(1.0)
    bits, absent = band.read(value)
    assert not absent.any()
    assert not band.near_to(bits[:1], bits[1:]).any()


far = st.integers(-(2**63), 2**63 - 1)


@given(one=far, other=far | st.integers(-9, 9), near=st.integers(0, 2**63 - 1) | st.integers(0, 9))
def test_whole_numbers_are_compared_exactly_at_the_ends_of_their_range(one, other, near):
    other = min(max(one + other, -(2**63)), 2**63 - 1)
    found = Join(near=near).push([0, 1], None, value=np.array([one, other]))
    assert len(found.rows) == (abs(one - other) <= near)


@long
@pytest.mark.slow  # all policies of auto are compiled
def test_auto_runs_and_loses_no_row():
    rng = np.random.default_rng(1)
    n = 6_000
    side, value = rng.integers(0, 2, n), np.cumsum(rng.normal(0, 0.1, n)) + rng.normal(0, 1, n)
    join = Join("auto", 200, within=1000, near=0.2, how="left")
    found = []
    for start in range(0, n, 1500):
        part = slice(start, start + 1500)
        time = np.arange(start, start + 1500)
        found += pairs_of(join.push(side[part], None, time, value=value[part]))
        join = Join.restore(join.save())
    found += pairs_of(join.finish())
    paired = np.array([pair for pair in found if -1 not in pair])
    assert len(paired) > 1000
    assert (np.abs(value[paired[:, 0]] - value[paired[:, 1]]) <= 0.2).all()
    assert {a for a, _ in found if a >= 0} == set(np.flatnonzero(side == 0).tolist())


@pytest.mark.parametrize(
    ("near", "message"),
    [(0.0, "above 0"), (-1, "above 0"), (math.nan, "above 0"), (math.inf, "above 0")]
    + [("1", "number"), (True, "number"), (2**63, "at most 9223372036854775807")],
)
def test_a_distance_that_means_nothing_is_refused(near, message):
    with pytest.raises(BadInput, match=message):
        Join(near=near)


def test_options_that_exclude_each_other_are_refused():
    with pytest.raises(BadInput, match="two streams"):
        Join(near=1, joins=all_streams(3))
    with pytest.raises(BadInput, match="pass value="):
        Join(near=1).push([0], [7])
    with pytest.raises(BadInput, match="pass near="):
        Join().push([0], [7], value=[1])
    with pytest.raises(BadInput, match="pass key="):
        Join().push([0])
    with pytest.raises(BadInput, match=r"near=1.0 for floats"):
        Join(near=1).push([0], value=[0.5])
    with pytest.raises(BadInput, match="as many rows"):
        Join(near=1).push([0, 1], value=[5])
