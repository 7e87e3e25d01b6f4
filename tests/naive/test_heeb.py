"""HEEB's twin on cases worked by hand, on the paper's corollaries, and against blind policies."""

import math
import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .heeb import (
    alpha_of,
    caching_gains,
    caching_score,
    ecb,
    exponential,
    fixed,
    forever,
    inverse,
    joining_gains,
    joining_score,
    joining_table,
    prob_of,
    score_of_ecb,
    score_of_gains,
)
from .join import TWO_WAY, NaiveJoin
from .lookup import NaiveLookup
from .models import DRIFTS, Ar1, Stationary, Trend, Walk, normal, normal_cell, sample, uniform
from .policies.heeb import Heeb
from .steps import best, cache_steps, join_steps

COIN = Walk({-1: 0.5, 1: 0.5})
LIFETIMES = [fixed(3), forever(), inverse(), exponential(2.0)]
NOISE = normal(1.5, 4)

# Models


def test_normal_cells_add_up_and_mirror():
    assert normal_cell(0, 0, 1) == pytest.approx(0.382925, abs=1e-6)
    assert normal_cell(9, 0, 1) == normal_cell(-9, 0, 1) > 0
    assert sum(NOISE.values()) == pytest.approx(1)
    assert uniform(1) == {-1: 1 / 3, 0: 1 / 3, 1: 1 / 3}


def test_laws():
    assert Trend(2, 5, {0: 1.0}).law(3, None) == {11: 1.0}
    assert Walk({1: 1.0}).law(3, 7) == {8: 1.0}
    law = Ar1(constant=2, factor=0.5, sd=1).law(0, 6)
    assert max(law, key=law.get) == 5
    assert sample(Trend(1, -1, {0: 1.0}), 3, random.Random(0)) == [-1, 0, 1]
    assert sample(Walk({2: 1.0}), 3, random.Random(0), first=0) == [0, 2, 4]


# Lifetimes


def test_lifetimes_of_table_1():
    assert [fixed(2)(d) for d in (1, 2, 3)] == [1, 1, 0]
    assert forever()(99) == 1
    assert inverse()(4) == 0.25
    assert exponential(2)(1) == math.exp(-0.5)


def test_alpha_gives_the_lifetime_back():
    alpha = alpha_of(12.5)  # floor: (10 + 15) / 2
    assert alpha == pytest.approx(11.99305, abs=1e-5)
    assert sum(exponential(alpha)(d) for d in range(2000)) == pytest.approx(12.5)


# Gains and scores by hand


def test_walk_joins_and_first_references():
    # a coin walk is at 0 after 2 and 4 steps with chance 1/2 and 3/8; for the first time, 1/8 of 4
    assert joining_gains(COIN, 0, 0, 0, 4) == [0, 0.5, 0, 0.375]
    assert caching_gains(COIN, 0, 0, 0, 4) == [0, 0.5, 0, 0.125]
    assert caching_gains(COIN, 1, 0, 0, 3) == [0.5, 0, 0.125]


def test_trend_window_passes():
    # at times 4, 5, 6 the window is [3, 5], [4, 6], [5, 7]: it brings 4 twice more
    window = Trend(1, 0, uniform(1))
    assert joining_gains(window, 4, 3, 0, 3) == [1 / 3, 1 / 3, 0]
    assert caching_gains(window, 4, 3, 0, 3) == pytest.approx([1 / 3, 2 / 9, 0])
    assert score_of_gains([1 / 3, 1 / 3, 0], exponential(1)) == pytest.approx(
        (math.exp(-1) + math.exp(-2)) / 3
    )


def test_scores_under_each_lifetime():
    gains = [0.5, 0.25, 0.125, 0.0625]
    assert score_of_gains(gains, fixed(2)) == 0.75 == ecb(gains)[1]
    assert score_of_gains(gains, forever()) == 0.9375 == ecb(gains)[-1]
    assert score_of_gains(gains, inverse()) == pytest.approx(0.5 + 0.125 + 0.125 / 3 + 0.0625 / 4)


def test_stationary_scores_have_closed_forms():
    p, a = 0.3, math.exp(-1 / 5)
    model = Stationary({7: p, 8: 1 - p})
    joined = joining_gains(model, 7, 0, 8, 300)
    first = caching_gains(model, 7, 0, 8, 300)
    assert score_of_gains(joined, exponential(5)) == pytest.approx(p * a / (1 - a))
    assert score_of_gains(first, exponential(5)) == pytest.approx(p * a / (1 - (1 - p) * a))
    assert score_of_gains(first, forever()) == pytest.approx(1)
    assert score_of_gains(first, inverse()) == pytest.approx(-p * math.log(p) / (1 - p))
    assert ecb(first)[:3] == pytest.approx([1 - (1 - p) ** d for d in (1, 2, 3)])


def test_ar1_rounded_every_step_is_close_to_rounded_once():
    model = Ar1(constant=3, factor=0.7, sd=2.5)
    for v in (-4, 5, 17):
        each = joining_gains(model, v, 0, 9, 6)
        once = [model.closed_form(v, d, 9) for d in range(1, 7)]
        assert each == pytest.approx(once, abs=0.003)
        assert each[0] == pytest.approx(once[0])


@pytest.mark.parametrize(
    "model", [Stationary(NOISE), Trend(1, 3, NOISE), Walk(NOISE), Ar1(1, 0.5, 1)]
)
@given(v=st.integers(-9, 9), t=st.integers(0, 4), x=st.integers(-3, 3), of=st.integers(0, 3))
def test_all_ways_to_the_score_agree(model, v, t, x, of):
    lifetime, history = LIFETIMES[of], ([0], [x] * (t + 1))
    gains = joining_gains(model, v, t, x, 5)
    expected = pytest.approx(score_of_gains(gains, lifetime), abs=1e-12)
    prob = prob_of((None, model))
    assert score_of_ecb(ecb(gains), lifetime) == expected
    assert joining_score(prob, 0, v, history, lifetime, 5) == expected
    assert joining_table(model, t, x, lifetime, 5).get(v, 0) == expected
    if not model.remembers:
        first = score_of_gains(caching_gains(model, v, t, x, 5), lifetime)
        assert caching_score(prob, v, history, lifetime, 5) == pytest.approx(first, abs=1e-12)


# The corollaries of section 6.1

WINDOW = Trend(1, 0, NOISE)
AHEAD = 40  # the window has passed by then: nothing is cut off


@given(v=st.integers(-9, 30), t=st.integers(1, 9), alpha=st.sampled_from([1.0, 4.0, 16.0]))
def test_corollaries_3_and_4_move_scores_on_in_time(v, t, alpha):
    chance = WINDOW.law(t, None).get(v, 0.0)
    for gains, scale in ((joining_gains, 1), (caching_gains, 1 - chance)):
        before, now = (
            score_of_gains(gains(WINDOW, v, u, 0, AHEAD), exponential(alpha)) for u in (t - 1, t)
        )
        assert now == pytest.approx((math.exp(1 / alpha) * before - chance) / scale, abs=1e-9)


@pytest.mark.parametrize("gains", [joining_gains, caching_gains])
@given(v=st.integers(-9, 9), t=st.integers(0, 9), later=st.integers(0, 9))
def test_corollary_5_and_theorem_3_equal_offsets_see_equal_futures(gains, v, t, later):
    trend = Trend(2, 1, NOISE)
    assert gains(trend, v, t, 0, 9) == gains(trend, v + 2 * later, t + later, 0, 9)
    walk = Walk({-1: 0.25, 0: 0.25, 2: 0.5})
    assert gains(walk, v, t, 0, 5) == gains(walk, v + later, 0, later, 5)


@pytest.mark.parametrize(
    "model", [Stationary(NOISE), Walk(normal(1, 4)), Walk({-1: 0.3, 2: 0.7}), Ar1(1, 0.5, 1)]
)
def test_one_score_gives_the_other_where_time_does_not_matter(model):
    # Not in the paper. To be at v after d steps is to come to v first after i of them and to be
    # there again after d - i more; with L^exp that makes caching = joining / (1 + joining at v).
    lifetime, horizon = exponential(1.5), 40  # what is cut off weighs less than 1e-11
    for v, x in ((0, 0), (2, 0), (-1, 1), (3, -1)):
        joined, again, first = (
            score_of_gains(gains(model, v, 0, at, horizon), lifetime)
            for gains, at in ((joining_gains, x), (joining_gains, v), (caching_gains, x))
        )
        assert first == pytest.approx(joined / (1 + again))


def test_without_drift_the_nearest_is_best():
    # section 7.5: steps that are symmetric and have one mode
    for gains in (joining_gains, caching_gains):
        scores = [
            score_of_gains(gains(Walk(normal(1, 4)), v, 0, 0, 20), exponential(10))
            for v in (1, 2, 3, 4, 5)
        ]
        assert scores == sorted(scores, reverse=True)


# The simulations


def test_best_keeps_the_later_of_equals_in_order():
    assert best("abcd", 2, {"a": 1, "b": 2, "c": 1, "d": 1}.get) == ["b", "d"]
    assert best("ab", 3, {"a": 1, "b": 2}.get) == ["a", "b"]


def test_join_steps_by_hand():
    # one place, larger values kept: R1, then S5, which R5 finds; the pair (5, 5) is not counted
    r, s = [1, 5, 5, 2], [0, 5, 3, 2]
    assert join_steps(r, s, 1, lambda side, v, history: v, warmup=0) == 1
    assert join_steps(r, s, 1, lambda side, v, history: v) == 0


def test_cache_steps_by_hand():
    assert cache_steps([1, 2, 1, 2, 2], 1, lambda v, history: v, warmup=0) == 2
    assert cache_steps([1, 2, 1, 2, 2], 1, lambda v, history: v) == 1


def rows_of(r, s):
    return [
        {"stream": side, "keys": (v,), "time": t}
        for t, pair in enumerate(zip(r, s, strict=True))
        for side, v in enumerate(pair)
    ]


def drift_score(models, lifetime, horizon=45):
    tables = [joining_table(model, 0, 0, lifetime, horizon) for model in models]

    def score(side, v, history):
        return tables[1 - side].get(v - len(history[0]) + 1, 0.0)

    return score


PAIRS = {
    "trend": DRIFTS["tower"],
    "walk": (Walk(NOISE), Walk(NOISE)),
    "ar1": (Ar1(1, 0.5, 1), Ar1(0, 0.7, 1)),
    "stationary": (Stationary(NOISE), Stationary(uniform(6))),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("clock", ["arrivals", "time"])
def test_the_policy_is_the_direct_score_in_the_engine(name, clock):
    models, lifetime, horizon, rng = PAIRS[name], exponential(4), 6, random.Random(1)
    r, s = (sample(model, 60, rng) for model in models)
    make = partial(
        Heeb, joins=TWO_WAY, models=models, lifetime=lifetime, horizon=horizon, clock=clock
    )
    join = NaiveJoin(make, 3, together=True)
    results = join.push(rows_of(r, s))

    def score(side, v, history):
        other = 1 - side
        t, x = len(history[other]) - 1, history[other][-1]
        return joining_table(models[other], t, x, lifetime, horizon).get(v, 0.0)

    assert len(results) == join_steps(r, s, 3, score, warmup=0) > 0


@pytest.mark.parametrize("name", PAIRS)
def test_the_policy_rules_a_cache_too(name):
    model, lifetime, rng = PAIRS[name][1], inverse(), random.Random(2)
    keys = sample(model, 30, rng)
    make = partial(
        Heeb, joins=TWO_WAY, models=(None, model), lifetime=lifetime, horizon=4, caching=True
    )
    lookup = NaiveLookup(make, 3)

    def score(v, history):
        gains = caching_gains(model, v, len(history) - 1, history[-1], 4)
        return score_of_gains(gains, lifetime)

    assert sum(lookup.push(keys)) == cache_steps(keys, 3, score, warmup=0) > 0


def test_the_policy_samples_a_large_memory():
    model = Stationary({0: 0.5, 1: 0.3, 2: 0.2})
    make = partial(
        Heeb, joins=TWO_WAY, models=(model, model), lifetime=fixed(1), horizon=1, scan=1, sample=1
    )
    join = NaiveJoin(make, 2)  # SplitMix(0) begins with 0.883: of two the second
    join.push([{"stream": 0, "keys": (v,), "time": 0} for v in (2, 1, 0)])
    assert [t.keys for t in join.held] == [(2,), (0,)]


# The paper's claims, in small (section 8)


def blind(rng, models):
    """RAND, but what the other stream's window has passed is evicted first."""
    dead = drift_score(models, forever())
    return lambda side, v, history: rng.random() + (dead(side, v, history) > 0)


def everything(r, s):
    """Return the results of an unlimited memory, without those of the first 40 steps."""
    return sum(s[:t].count(r[t]) + r[:t].count(s[t]) for t in range(40, len(r)))


def recall_gained(models):
    """Return by how much HEEB's share of all results is above RAND's, with a memory of 10."""
    heeb, rand, full = 0, 0, 0
    score = drift_score(models, exponential(alpha_of(12.5)))
    for seed in range(2):
        rng = random.Random(seed)
        r, s = (sample(model, 1000, rng) for model in models)
        heeb += join_steps(r, s, 10, score)
        rand += join_steps(r, s, 10, blind(rng, models))
        full += everything(r, s)
    return (heeb - rand) / full


def test_heeb_beats_rand_most_where_the_future_is_clear():
    tower, roof, floor = (recall_gained(DRIFTS[name]) for name in ("tower", "roof", "floor"))
    assert tower > roof > floor > 0


def test_heeb_beats_rand_on_walks():
    walk, heeb, rand = Walk(normal(1, 7)), 0, 0
    for seed in range(3):
        rng = random.Random(seed)
        r, s = (sample(walk, 1000, rng, first=0) for _ in range(2))
        # without drift all lifetimes rank alike: by distance from the other walk
        heeb += join_steps(r, s, 10, lambda side, v, h: -abs(v - h[1 - side][-1]))
        rand += join_steps(r, s, 10, lambda side, v, h, draw=rng.random: draw())
    assert heeb > rand
