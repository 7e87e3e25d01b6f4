"""HEEB: the twin with models given, models fitted while it runs, alphas, windows, bad input."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.theory.sampling import sample
from penstock.engine import Join, Lookup
from penstock.errors import BadInput
from penstock.models import Ar1, Discrete, Seasonal, Stationary, Trend, Walk
from penstock.models.benefit import WALK_AHEAD, Lasting
from penstock.policies import BUILT_IN
from tests.marks import long, plain, some
from tests.naive import models as naive
from tests.naive.heeb import exponential, fixed
from tests.naive.join import TWO_WAY, NaiveJoin
from tests.naive.lookup import NaiveLookup
from tests.naive.policies.heeb import Heeb
from tests.recount import recount

DRIFTS = (Trend(1, -1, Discrete.normal(1, 4)), Trend(1, 0, Discrete.normal(2, 6)))
NAIVE_DRIFTS = (naive.Trend(1, -1, naive.normal(1, 4)), naive.Trend(1, 0, naive.normal(2, 6)))
# Walks that drift, because without drift left and right tie, and rounding breaks the tie.
WALKS = (Walk.normal(0.3, 1), Walk.normal(0.2, 1.5))
STILL = (Walk.normal(0, 1), Walk.normal(0, 1))
NAIVE_WALKS = (
    naive.Walk(dict(zip(WALKS[0].step.support.tolist(), WALKS[0].step.mass.tolist()))),
    naive.Walk(dict(zip(WALKS[1].step.support.tolist(), WALKS[1].step.mass.tolist()))),
)
PAIRS = {"trend": (DRIFTS, NAIVE_DRIFTS), "walk": (WALKS, NAIVE_WALKS)}


SHARED: dict = {}  # the twin's scores, which take it long to work out


def twin_of(kind, alpha, **options):
    """Return what makes the twin for a pair of models; both look equally far ahead."""
    horizon = Lasting("exp", alpha).horizon if kind == "trend" else WALK_AHEAD
    models = PAIRS[kind][1]
    if options.get("caching"):
        models = (None, models[1])

    def make(seed, budget):
        lifetime = exponential(alpha)
        twin = Heeb(seed, budget, TWO_WAY, models, lifetime, horizon, **options)
        twin.known = SHARED.setdefault((kind, alpha, horizon, *options), {})
        return twin

    return make


def draw_steps(models, length, seed):
    """Return one key of each stream a step, as rows of both engines."""
    streams = [sample(model, length, seed=seed + number) for number, model in enumerate(models)]
    return [
        {"stream": stream, "keys": (int(streams[stream][time]),), "time": time}
        for time in range(length)
        for stream in (0, 1)
    ]


def push(join, rows):
    columns = [[row["stream"] for row in rows], [row["keys"][0] for row in rows]]
    return join.push(*columns, [row["time"] for row in rows])


@pytest.mark.parametrize("kind", PAIRS)
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), budget=st.integers(1, 9), alpha=st.sampled_from([1.5, 3.0]))
def test_joins_as_its_twin(kind, seed, budget, alpha):
    models, _ = PAIRS[kind]
    rows = draw_steps(models, 40, seed)
    twin = NaiveJoin(twin_of(kind, alpha), budget, together=True)
    join = Join(f"heeb:alpha={alpha}", budget, together=True, models=models)
    assert [tuple(row) for row in push(join, rows).rows.tolist()] == [
        rows for _, rows in twin.push(rows)
    ]
    recount(join)


@pytest.mark.parametrize("kind", some(PAIRS, ["trend"]))  # twins of walks take half a minute
@given(seed=st.integers(0, 10**6), budget=st.integers(1, 6), alpha=st.sampled_from([1.5, 2.5]))
def test_caches_as_its_twin(kind, seed, budget, alpha):
    models, _ = PAIRS[kind]
    keys = sample(models[1], 80, seed=seed).tolist()
    twin = NaiveLookup(twin_of(kind, alpha, caching=True), budget)
    cache = Lookup(f"heeb:alpha={alpha}", budget, model=models[1])
    hits = cache.push(keys).hit
    assert hits.tolist() == twin.push(keys)


def test_looks_a_fixed_number_of_steps_ahead():
    rows = draw_steps(DRIFTS, 60, seed=3)
    twin = NaiveJoin(
        partial(Heeb, joins=TWO_WAY, models=NAIVE_DRIFTS, lifetime=fixed(3), horizon=3),
        4,
        together=True,
    )
    join = Join("heeb:L=fixed,steps=3", 4, together=True, models=DRIFTS)
    assert len(push(join, rows).rows) == len(twin.push(rows))


def test_the_value_nearest_to_the_forecast_stays():
    model = Ar1(phi0=0, phi1=0.5, sigma=5)
    cache = Lookup("heeb:alpha=1", 2, model=model)
    cache.push([0, 30, 20])  # the forecast is 10: 30 is evicted
    assert sorted(cache.resident.tolist()) == [0, 20]


def test_the_season_to_come_counts_for_more_than_the_one_that_went():
    model = Seasonal(100, mean=0, cosines=[0.0], sines=[50.0], phi=0.2, sigma=3)
    assert model.season(0) == 0
    cache = Lookup("heeb:alpha=20", 2, model=model)
    cache.push([0, -20, 20])  # rising: 20 is about to come, -20 has been
    assert sorted(cache.resident.tolist()) == [0, 20]


def test_a_window_that_ends_cuts_the_benefit_off():
    # Both wait for the line to come to 20; the second is gone by then.
    model = Trend(1, 0, Discrete.uniform(1))
    join = Join("heeb:alpha=50", 2, models=(model, model))
    join.push(side=[1, 0, 0], key=[0, 20, 20], time=[0, 0, 0], end=[0, 100, 10])
    join.push(side=[1, 1, 0], key=[1, 2, 15], time=[1, 2, 2], end=[1, 2, 100])
    assert join.held_rows.tolist() == [1, 5]


def results(policy, models, steps=3000, memory=10, runs=2, given_models=True, truth=None):
    total = 0
    for seed in range(runs):
        rows = draw_steps(truth or models, steps, 100 * seed)
        known = models if given_models else None
        join = Join(policy, memory, together=True, models=known, seed=seed)
        push(join, rows)
        total += join.results
    return total


@long
@pytest.mark.parametrize(("models", "share"), [(DRIFTS, 0.93), (STILL, 0.8)], ids=["trend", "walk"])
def test_models_fitted_while_it_runs(models, share):
    told = results("heeb:alpha=8", models)
    learned = results("heeb:alpha=8", models, given_models=False)
    assert learned > share * told > 1.1 * results("rand", models)


@long
def test_a_family_that_is_named_is_fitted():
    told = results("heeb:alpha=8", DRIFTS)
    assert results("heeb:alpha=8,model=trend", DRIFTS, given_models=False) > 0.93 * told
    wrong = results("heeb:alpha=8,model=stationary", DRIFTS, given_models=False)
    assert wrong < 0.8 * told


def test_what_cannot_be_fitted_is_kept_in_the_order_of_arrival():
    heeb, fifo = Join("heeb", 5), Join("fifo", 5)
    side, key = np.tile([0, 1], 300), np.full(600, 7)
    found = [join.push(side, key, np.arange(600)).rows.tolist() for join in (heeb, fifo)]
    assert found[0] == found[1]


UNIFORM = (Trend(1, -1, Discrete.uniform(10)), Trend(1, 0, Discrete.uniform(15)))


@long
@pytest.mark.parametrize("models", [UNIFORM, DRIFTS, STILL], ids=["uniform", "normal", "walk"])
def test_alpha_finds_itself(models):
    alphas = [1, 4, 16, 64]
    best = max(results(f"heeb:alpha={alpha}", models) for alpha in alphas)
    assert results("heeb:alpha=auto", models) > 0.96 * best


@long
def test_alpha_by_the_lifetime_that_is_seen():
    join = Join("heeb:alpha=lifetime", 10, together=True, models=UNIFORM)
    push(join, draw_steps(UNIFORM, 2000, 1))
    alphas = join._states[0].alphas
    life = alphas.life[0]
    assert 3 < life < 30
    expected = -1 / np.log(1 - 1 / life)
    assert alphas.value[alphas.chosen[0]] == pytest.approx(expected, rel=0.3)


@long
@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 1200), max_size=4), restore=st.booleans())
def test_fits_do_not_depend_on_the_cuts(cuts, restore):
    rows = draw_steps(DRIFTS, 600, 5)
    whole, pieces = Join("heeb", 6, delay=0), Join("heeb", 6, delay=0)
    push(whole, rows)
    cuts = sorted(2 * (cut // 2) for cut in cuts)
    for first, last in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        push(pieces, rows[first:last])
        if restore:
            pieces = Join.restore(pieces.save())
    assert pieces.held_rows.tolist() == whole.held_rows.tolist()
    assert pieces.results == whole.results


def test_models_that_were_given_outlive_a_restore():
    rows = draw_steps(DRIFTS, 400, 5)
    whole = Join("heeb:alpha=4", 3, delay=0, models=DRIFTS)
    pieces = Join("heeb:alpha=4", 3, delay=0, models=DRIFTS)
    push(whole, rows)
    for first in range(0, 800, 100):
        push(pieces, rows[first : first + 100])
        pieces = Join.restore(pieces.save())
    assert pieces.held_rows.tolist() == whole.held_rows.tolist()


@long
def test_a_large_memory_is_sampled():
    wide = (Trend(1, -20, Discrete.normal(800, 3000)), Trend(1, 0, Discrete.normal(800, 3000)))
    rows = draw_steps(wide, 6000, 7)
    heeb, rand = Join("heeb:alpha=700", 700, models=wide), Join("rand", 700)
    for join in (heeb, rand):
        push(join, rows)
        recount(join)
    assert heeb.results > 1.25 * rand.results


@plain
def test_a_sum_over_joins_and_a_product_over_sides():
    joins = (((0, 0), (1, 0)), ((0, 1), (2, 0)))
    join = Join("heeb:model=stationary", 20, joins=joins)
    rng = np.random.default_rng(2)
    side, key = rng.integers(0, 3, 1000), rng.integers(0, 40, (1000, 2))
    join.push(side, key, np.arange(1000))
    recount(join)
    assert join.results > 0


BAD = {
    "heeb:model=arima": "must be one of auto, stationary, trend, walk, ar1, seasonal, got 'arima'",
    "heeb:alpha=0": "alpha must be a number above 0, got 0.0",
    "heeb:alpha=much": "must be a number above 0, auto or lifetime, got 'much'",
    "heeb:L=linear": "must be one of exp, fixed, inf, inv, got 'linear'",
    "heeb:L=inf": "must be exp or fixed for joining, got 'inf'",
    "heeb:L=fixed,steps=0": "whole number above 0, got 0.0",
    "heeb:lifetime=0.5": "lifetime must be above 1 step, got 0.5",
    "heeb:admit=never": "always",
    "heeb:fit=never": "must be one of running, before, got 'never'",
}


@pytest.mark.parametrize("spec", BAD)
def test_bad_parameters(spec):
    with pytest.raises(BadInput, match=BAD[spec].replace(".", r"\.")):
        Join(spec, 5)


def test_models_must_fit_the_streams():
    with pytest.raises(BadInput, match="one for each of 2 streams"):
        Join("heeb", 5, models=(Stationary([1], [1.0]),))
    with pytest.raises(BadInput, match="needs a model of kind"):
        Join("heeb", 5, models=("trend", "trend"))


def test_it_is_registered_with_its_order():
    assert [policy.name for policy in BUILT_IN if policy.ordered] == ["heeb", "hist"]
