"""H step by step equals H by its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.theory import heeb
from papers.theory.benefit import caching as caching_benefit
from papers.theory.benefit import joining as joining_benefit
from papers.theory.dominance import dominates, strongly_dominates
from penstock.errors import BadInput
from penstock.models import Ar1, Discrete, Now, Stationary, Trend, Walk
from penstock.models.benefit import Lasting, alpha_of
from tests.naive import heeb as naive
from tests.naive import models as naive_models

alphas = st.floats(0.5, 20)
LATER = {False: heeb.later_joining, True: heeb.later_caching}
EARLIER = {False: heeb.earlier_joining, True: heeb.earlier_caching}


@pytest.mark.parametrize("caching", [False, True])
@given(v=st.integers(-5, 25), time=st.integers(0, 10), alpha=alphas)
def test_a_step_in_time(caching, v, time, alpha):
    model = Trend(1, 0, Discrete.normal(2, 6))
    lasting = Lasting("exp", alpha)
    before = heeb.direct(model, v, Now(time), lasting, caching=caching)
    after = heeb.direct(model, v, Now(time + 1), lasting, caching=caching)
    p = float(model.prob(v, 1, Now(time)))
    # Rounding grows by exp(1/alpha) a step, so going forward is less exact than going back.
    assert LATER[caching](before, p, alpha) == pytest.approx(after, abs=1e-6)
    assert EARLIER[caching](after, p, alpha) == pytest.approx(before, abs=1e-9)


@pytest.mark.parametrize("caching", [False, True])
@given(known=st.integers(0, 25), far=st.integers(-4, 12), slope=st.sampled_from([1, 2, -1]))
def test_from_one_value_to_another(caching, known, far, slope):
    model = Trend(slope, 3, Discrete.uniform(5))
    alpha, time = 6.0, 20
    lasting = Lasting("exp", alpha)
    v = known + far * slope
    h = float(heeb.direct(model, known, Now(time), lasting, caching=caching))
    found = heeb.from_neighbour(model, known, h, v, time, alpha, caching)
    expected = heeb.direct(model, v, Now(time), lasting, caching=caching)
    assert found == pytest.approx(float(expected), abs=1e-6)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Lasting("exp", 4.0), naive.exponential(4.0)),
        (Lasting("fixed", 5), naive.fixed(5)),
        (Lasting("inf"), naive.forever()),
        (Lasting("inv"), naive.inverse()),
    ],
    ids=lambda each: getattr(each, "kind", ""),
)
def test_the_definition(ours, theirs):
    model = Trend(1, 0, Discrete.uniform(4))
    twin = naive_models.Trend(1, 0, naive_models.uniform(4))
    for v in range(-6, 14):
        gains = naive.joining_gains(twin, v, 3, None, 60)
        expected = naive.score_of_gains(gains, theirs)
        assert heeb.direct(model, v, Now(3), ours, horizon=60) == pytest.approx(expected)
        gains = naive.caching_gains(twin, v, 3, None, 60)
        expected = naive.score_of_gains(gains, theirs)
        assert heeb.direct(model, v, Now(3), ours, caching=True, horizon=60) == pytest.approx(
            expected
        )


def test_bad_input():
    with pytest.raises(BadInput, match="alpha must be a number above 0, got 0"):
        Lasting("exp", 0)
    with pytest.raises(BadInput, match="L must be one of exp, fixed, inf, inv, got 'linear'"):
        Lasting("linear")
    with pytest.raises(BadInput, match=r"whole number above 0, got 2\.5"):
        Lasting("fixed", 2.5)
    with pytest.raises(BadInput, match="lifetime must be above 1 step, got 1"):
        alpha_of(1)
    with pytest.raises(BadInput, match="multiple of the slope"):
        heeb.from_neighbour(Trend(2, 0, Discrete.uniform(1)), 4, 0.1, 5, 3, 2.0)


def test_every_step_is_weighted_by_l():
    model = Stationary([1, 2], [0.25, 0.75])
    h = heeb.direct(model, np.array([1, 2]), [], Lasting("inv"), horizon=2)
    assert h.tolist() == [0.375, 1.125]


STREAMS = {
    "trend": (Trend(1, 0, Discrete.normal(2, 6)), Now(9)),
    "uniform": (Trend(2, 0, Discrete.uniform(5)), Now(4)),
    "walk": (Walk.normal(0.3, 1.2), Now(3, 8)),
    "ar1": (Ar1(2, 0.6, 3), Now(3, 7)),
    "stationary": (Stationary(np.arange(12), np.arange(1, 13) / 78), Now(3)),
}


@pytest.mark.parametrize("caching", [False, True])
@pytest.mark.parametrize("stream", STREAMS)
@given(x=st.integers(-2, 22), y=st.integers(-2, 22), alpha=st.floats(0.5, 30))
def test_heeb_never_contradicts_dominance(stream, caching, x, y, alpha):
    model, history = STREAMS[stream]
    ahead = np.arange(1, 121)
    benefit = caching_benefit if caching else joining_benefit
    ecb = [np.asarray(benefit(model, value, ahead, history)) for value in (x, y)]
    for lasting in (Lasting("exp", alpha), Lasting("fixed", round(alpha) + 1)):
        h = [
            float(heeb.direct(model, value, history, lasting, caching=caching, horizon=120))
            for value in (x, y)
        ]
        if dominates(ecb[0], ecb[1]):
            assert h[0] >= h[1] - 1e-9
        if strongly_dominates(ecb[0], ecb[1], slack=1e-6):
            assert h[0] > h[1]
