"""LBA and ELBA: the twin with weights given, weights learned while it runs, ties, bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Join
from penstock.errors import BadInput
from penstock.kernel.shape import all_streams
from penstock.profile.locality import Locality, Weights, fit_likelihood
from tests.compare import listed, push_rows, streams
from tests.marks import long, plain
from tests.naive.join import TWO_WAY, NaiveJoin
from tests.naive.policies.lba import Lba
from tests.recount import recount

BOTH = pytest.mark.parametrize("name", ["lba", "elba"])


@st.composite
def weights(draw, h=4):
    """Draw a_1 .. a_h and b in hundredths: no two sums of them are nearly equal by chance."""
    parts = draw(st.lists(st.integers(0, 25), min_size=1, max_size=h))
    return [part / 101 for part in parts], 1 - sum(parts) / 101


def assert_same(name, rows, budget, given_weights, joins=TWO_WAY, **params):
    """Push rows into the engine with these weights and into the twin."""

    def make(seed, limit):
        return Lba(seed, limit, joins, given_weights, **params)

    tail = ":" + ",".join(f"{k}={v}" for k, v in params.items()) if params else ""
    models = [Weights(np.array(a), b) for a, b in given_weights]
    twin = NaiveJoin(make, budget, joins=joins, streams=len(models), within=15)
    real = Join(name + tail, budget, joins=joins, within=15, models=models)
    for at in range(0, len(rows), 40):
        expected = twin.push(rows[at : at + 40])
        assert listed(push_rows(real, rows[at : at + 40])) == expected
        assert real.held_rows.tolist() == [t.row for t in twin.held]
        recount(real)
        real = Join.restore(real.save())


@BOTH
@given(rows=streams(most=90), budget=st.integers(2, 9), a=weights(), b=weights())
def test_joins_as_its_twin_with_weights_given(name, rows, budget, a, b):
    assert_same(name, rows, budget, (a, b), steps=6)


@plain
@given(rows=streams(count=3, most=60), budget=st.integers(2, 9), a=weights(2))
def test_worths_multiply_over_the_sides_of_a_join(rows, budget, a):
    assert_same("elba", rows, budget, (a, a, a), joins=all_streams(3), steps=4)


@BOTH
def test_what_came_lately_stays_though_another_is_more_popular(name):
    # On the right key 1 came twice and key 2 just now; a_1 = 0.9 says that 2 comes again.
    join = Join(name + ":steps=1", 1, models=[Weights(np.array([0.9]), 0.1)] * 2)
    join.push([1, 1, 1], [1, 1, 2], [0, 1, 2], end=[0, 1, 2])
    join.push([0, 0], [2, 1], [3, 4], end=[90, 90])
    assert join.held_rows.tolist() == [3]


@BOTH
def test_of_equal_worth_the_one_that_expires_sooner_is_evicted(name):
    # All three came as often on the right; key 1 is not the oldest, but its validity ends first.
    join = Join(name, 2)
    join.push([1, 1, 1], [1, 2, 3], [0, 1, 2], end=[0, 1, 2])
    join.push([0, 0, 0], [2, 1, 3], [3, 4, 5], end=[90, 50, 90])
    assert sorted(join.held_rows.tolist()) == [3, 5]


def dealt(length, b, seed=1, keys=500):
    """Return one stream of the model, dealt to both sides in turn: (side, key, time)."""
    a = np.exp(-np.arange(1, 51) / 15)
    a *= (1 - b) / a.sum()
    stream = Locality(a, 1 - a.sum(), np.full(keys, 1 / keys)).sample(2 * length, seed=seed)
    return np.tile([0, 1], length), stream, np.repeat(np.arange(length), 2)


def results(policy, trace, budget=400, within=1000, **options):
    join = Join(policy, budget, within=within, **options)
    join.push(*trace)
    return join.results


@long
def test_it_learns_what_repeats_itself():
    trace = dealt(12_000, b=0.3)
    assert results("lba", trace) > 1.2 * results("prob", trace)


@long
def test_without_correlations_it_is_prob():
    trace = dealt(6_000, b=1.0)
    assert results("lba", trace) == pytest.approx(results("prob", trace), rel=0.02)


@plain
def test_exact_and_tabulated_choose_alike():
    trace = dealt(1_000, b=0.4)
    lba, elba = (Join(name, 60, within=300, layout="split") for name in ("lba", "elba"))
    assert lba.push(*trace).rows.tolist() == elba.push(*trace).rows.tolist()
    assert lba.held_rows.tolist() == elba.held_rows.tolist()


@long
def test_a_window_that_ends_soon_counts_if_asked():
    trace = dealt(4_000, b=0.4)
    assert results("elba:remaining=yes", trace, 60, 40) != results("elba", trace, 60, 40)


@long
def test_the_weights_are_those_of_the_last_arrivals():
    side, key, time = dealt(3_000, b=0.4)
    join = Join("lba:h=10", 50, within=100)
    join.push(side[:2048], key[:2048], time[:2048])
    saved = join.save()
    for line in (0, 1):
        lately = key[line:2048:2][-512:]  # as many as are kept beside a budget of 50 rows
        found = fit_likelihood(np.unique(lately, return_inverse=True)[1], 10)
        assert saved["policy.0.locality.repeat"][line] == pytest.approx(
            np.where(found.a < 1e-4, 0, found.a)
        )
        assert saved["policy.0.locality.known"][line] == 1024


@BOTH
@pytest.mark.parametrize(
    ("params", "said"),
    [("h=0", "'h'.* from 1 to 1024, got 0"), ("h=5000", "got 5000"), ("steps=0", "'steps'")],
)
def test_bad_parameters_are_refused(name, params, said):
    with pytest.raises(BadInput, match=said):
        Join(f"{name}:{params}", 10)
