"""What the simulator must find on the paper's walks, and what it refuses."""

import math

import numpy as np
import pytest

from penstock.errors import BadInput
from penstock.precision import Recorded, Workload, best_fixed, replay, simulate
from penstock.precision.simulator import WalkSteps


def test_the_best_width_of_the_paper_is_a_half_width():
    # Section 4.2: the paper's W = 3.11 is half of the total width that is found here.
    found = best_fixed(Workload(period=2, delta=20, seed=1), steps=300_000)
    assert found.width == pytest.approx(2 * 3.11, rel=0.08)


def test_the_adaptive_rule_balances_its_refreshes():
    for rho in (1.0, 4.0):
        workload = Workload(period=2, delta=20, rho=rho, seed=1)
        found = simulate("adaptive:alpha=0.1", workload, steps=300_000)
        assert rho * found.p_vr == pytest.approx(found.p_qr, rel=0.03)
        assert found.cost_rate == pytest.approx(rho * found.p_vr + 2 * found.p_qr)
        assert found.cost_rate < 1.08 * best_fixed(workload, steps=300_000).cost_rate


def test_the_settling_rule_converges():
    workload = Workload(period=2, delta=20, seed=3)
    best = best_fixed(workload, steps=500_000).cost_rate
    excess = {
        rule: simulate(rule, workload, steps=500_000).cost_rate / best - 1
        for rule in ("settling", "adaptive:alpha=0.1", "adaptive:alpha=1")
    }
    assert excess["settling"] < 0.015 < excess["adaptive:alpha=0.1"] < 0.2
    assert excess["adaptive:alpha=1"] > 0.2


def change_of_pace(factor, seed, calm=4000, after=6000):
    random = np.random.default_rng(seed)
    steps = random.uniform(0.5, 1.5, calm + after) * random.choice([-1, 1], calm + after)
    steps[calm:] *= factor
    times = np.arange(1.0, calm + after + 1)
    return Recorded(times, np.zeros(len(times), int), np.cumsum(steps)), calm


@pytest.mark.parametrize("factor", [10.0, 0.1])
def test_it_converges_again_within_20_refreshes(factor):
    workload = Workload(period=2, delta=20)
    best = best_fixed(workload, steps=200_000, walk=WalkSteps(0.5 * factor, 1.5 * factor)).width
    widths = []
    for seed in range(20):
        recorded, calm = change_of_pace(factor, seed)
        log = replay("settling", workload, recorded, log=20_000).refreshes
        widths.append(log[log["time"] > calm]["width"][19])
    assert np.median(np.abs(np.log(np.array(widths) / best))) < math.log(1.25)


def test_drift_costs_less_on_a_biased_walk_only():
    plain, biased = WalkSteps(), WalkSteps(up=0.95)
    workload = Workload(period=2, delta=20, seed=2)

    def cost(rule, walk):
        return simulate(rule, workload, steps=100_000, walk=walk).cost_rate

    assert cost("growing:drift=true,alpha=0.1", biased) < 0.8 * cost("adaptive:alpha=0.1", biased)
    assert cost("growing:power=0.5,alpha=0.1", plain) > cost("adaptive:alpha=0.1", plain)
    assert cost("uncentred:alpha=0.1", plain) > cost("adaptive:alpha=0.1", plain)


def test_thresholds_that_meet_make_the_constraint_irrelevant():
    rule = "adaptive:tau_0=1,tau_inf=1"
    costs = {
        delta: simulate(rule, Workload(1, delta, seed=1), sources=20, steps=2_000).cost_rate
        for delta in (0.0, 5.0, 500.0)
    }
    assert len(set(costs.values())) == 1


def test_the_seed_determines_the_result():
    workload = Workload(1, 5, seed=4)
    once, again = (simulate("adaptive", workload, sources=3, steps=500) for _ in range(2))
    other = simulate("adaptive", Workload(1, 5, seed=5), sources=3, steps=500)
    assert once.cost_rate == again.cost_rate != other.cost_rate


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"period": 0}, "period must be a number above 0, got 0"),
        ({"period": math.nan}, "period must be a number above 0, got nan"),
        ({"delta": -1}, "delta must be a number of at least 0, got -1"),
        ({"delta": math.inf}, "delta must be a number of at least 0, got inf"),
        ({"variation": 1.5}, "delta-variation must be from 0 to 1, got 1.5"),
        ({"rho": 0}, "rho must be a number above 0, got 0"),
        ({"query": "mode"}, "query must be one of sum, avg, max, got 'mode'"),
        ({"caches": 0}, "caches must be a whole number of at least 1, got 0"),
        ({"asked": 3}, "asked must be at most the number of sources, 2, got 3"),
        ({"capacity": -1}, "capacity must be a whole number of at least 0, got -1"),
    ],
)
def test_refuses_a_workload(changed, complaint):
    with pytest.raises(BadInput, match=complaint):
        Workload(**{"period": 1, "delta": 1} | changed).load(2)


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ("adaptiv", "unknown rule 'adaptiv'; did you mean 'adaptive'"),
        ("adaptive:alfa=1", "unknown parameter 'alfa' of rule 'adaptive'; did you mean 'alpha'"),
        ("adaptive:alpha=-1", "alpha must be a number of at least 0, got -1"),
        ("adaptive:alpha=x", "parameter 'alpha' of rule 'adaptive' must be of type float, got 'x'"),
        ("adaptive:tau_0=nan", "tau_0 must be a number of at least 0, or inf, got nan"),
        ("adaptive:width=0", "width must be a number above 0, got 0"),
        ("static:width=-2", "width must be a number of at least 0, or inf, got -2"),
        ("growing:power=0", "power must be a number above 0, got 0"),
        ("majority:r=0", "r must be a whole number of at least 1, got 0"),
        ("exact:x=0", "x must be a whole number of at least 1, got 0"),
        ("divergence:k=0", "k must be a whole number of at least 1, got 0"),
        ("settling:pace=0", "pace must be a whole number of at least 1, got 0"),
    ],
)
def test_refuses_a_rule(rule, complaint):
    with pytest.raises(BadInput, match=complaint):
        simulate(rule, Workload(1, 1), steps=10)


def test_refuses_readings():
    with pytest.raises(BadInput, match="at least one reading, got none"):
        Recorded(np.zeros(0), np.zeros(0, int), np.zeros(0))
    with pytest.raises(BadInput, match="in each row, got 2, 1 and 2 of them"):
        Recorded(np.zeros(2), np.zeros(1, int), np.zeros(2))
    with pytest.raises(BadInput, match=r"must not go back, got 1\.0 at 2"):
        Recorded(np.array([1.0, 2.0, 1.0]), np.zeros(3, int), np.zeros(3))
    with pytest.raises(BadInput, match="sources must be numbered from 0, got -1"):
        Recorded(np.zeros(1), np.array([-1]), np.zeros(1))
    with pytest.raises(BadInput, match="must be a finite number, got nan at 1"):
        Recorded(np.arange(2.0), np.zeros(2, int), np.array([1.0, np.nan]))
