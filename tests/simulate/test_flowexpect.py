from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.kernel.policy import Setup
from penstock.models import Discrete, Now, Stationary, Trend, Walk
from penstock.simulate.drifting import roof
from penstock.simulate.flowexpect import FLOWEXPECT, FlowExpect
from penstock.simulate.optimum import most_results
from penstock.simulate.workloads import GENERATED
from tests.models.known import Known
from tests.naive import models as naive
from tests.naive.flowexpect import EXAMPLE_STEPS, flow_expect, sequences, steps_ahead

STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9)
PAIRS = {
    "stationary": (
        Stationary([1, 2, 3], [0.5, 0.3, 0.2]),
        naive.Stationary({1: 0.5, 2: 0.3, 3: 0.2}),
    ),
    "trend": (Trend(1, 0, Discrete.uniform(2)), naive.Trend(1, 0, naive.uniform(2))),
    "behind": (Trend(1, -1, Discrete.uniform(1)), naive.Trend(1, -1, naive.uniform(1))),
    "walk": (Walk(Discrete(-1, [0.5, 0.25, 0.25])), naive.Walk({-1: 0.5, 0: 0.25, 1: 0.25})),
}


class Laws:
    """A stream of which the chances are written down, step by step."""

    def __init__(self, *laws):
        self.laws = laws

    def prob(self, v, d, history):
        v, d = np.broadcast_arrays(v, d)
        at = history.time + d
        found = [self.law(t).get(x, 0.0) for x, t in zip(v.flat, at.flat, strict=True)]
        return np.array(found).reshape(v.shape)

    def law(self, t):
        return self.laws[t] if t < len(self.laws) else {}

    def support(self, most, history):
        laws = [self.law(history.time + d) for d in range(1, most + 1)]
        return np.unique(np.array([v for law in laws for v in law], np.int64))


# The example of section 4, after a step 0 that brings the R 1; -1 and -2 join nothing.
R, S = (Laws({}, *(step[side] for step in EXAMPLE_STEPS)) for side in (0, 1))


def holds(join):
    return list(zip(join.side.tolist(), join.key.tolist(), strict=True))


def test_the_papers_example_keeps_the_cached_tuple():
    join = FlowExpect([R, S], budget=1, lookahead=3)
    join.push(1, -2)
    assert holds(join) == [(0, 1)]
    join.push(-1, 2)
    assert holds(join) == [(0, 1)]


def test_the_papers_example_is_worth_less_than_deciding_late():
    # every outcome, with its chance: 1.6, where keeping the new 2 first would be worth 1.75
    expected = 0.0
    for three, one, again, two in product([0, 1], repeat=4):
        chance = 0.5 * (0.8 if one else 0.2) * (0.8 if again else 0.2) * 0.5
        join = FlowExpect([R, S], budget=1, lookahead=3)
        join.push(1, -2)
        r, s = (
            [-1, 2, 3, 2 if two else -1],
            [2, 3 if three else -2, *(1 if x else -2 for x in (one, again))],
        )
        expected += chance * sum(join.push(*step) for step in zip(r, s, strict=True))
    assert expected == pytest.approx(1.6)


@settings(max_examples=40)
@given(
    names=st.tuples(st.sampled_from(list(PAIRS)), st.sampled_from(list(PAIRS))),
    values=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=4),
    budget=st.integers(1, 2),
    lookahead=st.integers(1, 3),
)
def test_every_decision_is_that_of_the_twin(names, values, budget, lookahead):
    ours, twins = zip(*(PAIRS[name] for name in names), strict=True)
    join = FlowExpect(ours, budget, lookahead)
    for now in range(len(values)):
        held = [(side, {v: 1.0}) for side, v in holds(join)]
        join.push(*values[now])
        seen = [[v[side] for v in values[: now + 1]] for side in (0, 1)]
        steps = steps_ahead(twins, seen, lookahead)
        best, _ = flow_expect(held, steps, budget)
        kept = Counter(holds(join))
        reached = [
            benefit
            for benefit, (first, *_) in sequences(held, steps, budget)
            if Counter((side, v) for side, (v,) in first) == kept
        ]
        assert max(reached) == pytest.approx(best, abs=1e-9)


@given(steps=STEPS, budget=st.integers(1, 3), within=st.none() | st.integers(0, 4))
def test_with_a_certain_future_it_is_the_optimum(steps, budget, within):
    # section 7.1
    r, s = np.array(steps, np.int64).T
    join = FlowExpect([Known(r), Known(s)], budget, lookahead=len(steps), within=within)
    life = 99 if within is None else within
    got = sum(join.push(a, b, (t + life, t + life)) for t, (a, b) in enumerate(steps))
    time = np.repeat(np.arange(len(steps)), 2)
    rows = np.tile([0, 1], len(steps)), np.ravel(steps), time, time + life
    assert got == most_results(*rows, budget=budget, together=True)


def test_short_sight_costs_something():
    # S brings a 1 at step 4: a look 3 steps ahead keeps the younger 5 instead
    models = [Known([1, 7, 7, 7, 7]), Known([2, 5, 6, 6, 1])]
    far, near = (FlowExpect(models, 1, lookahead) for lookahead in (4, 3))
    steps = list(zip(*(model.values.tolist() for model in models), strict=True))
    assert [sum(join.push(*step) for step in steps) for join in (far, near)] == [1, 0]


def test_expired_tuples_are_removed_and_the_younger_stay():
    nothing = Stationary([99], [1.0])
    join = FlowExpect([nothing, nothing], budget=2)
    join.push(1, 2, (0, 9))
    assert holds(join) == [(1, 2)]
    join.push(3, 4, (9, 9))
    assert holds(join) == [(0, 3), (1, 4)]
    join.push(5, 6, (2, 9))
    assert holds(join) == [(1, 4), (1, 6)]


def test_idle_memory_holds_what_may_still_match():
    # the plan wants the R 7 of step 1; until then the R 1, for which S may come later, can stay
    r = Laws({1: 1.0}, {7: 1.0}, {8: 1.0}, {8: 1.0})
    s = Laws({5: 1.0}, {6: 1.0}, {7: 1.0}, {1: 0.5})
    join = FlowExpect([r, s], budget=1, lookahead=3)
    join.push(1, 5)
    assert holds(join) == [(0, 1)]


def test_never_more_than_fits():
    trace, join = roof(200, seed=4), FlowExpect(GENERATED["roof"].models(), 3)
    for t in range(200):
        join.push(trace.key[2 * t], trace.key[2 * t + 1])
        assert len(join.key) <= 3


def test_what_it_refuses():
    still = [Stationary([1], [1.0])] * 2
    with pytest.raises(BadInput, match="'flowexpect' needs the models of both streams"):
        FlowExpect(None, 1)
    with pytest.raises(BadInput, match=r"budget must be .* at least 1, got 0"):
        FlowExpect(still, 0)
    for lookahead in (0, 1001):
        with pytest.raises(BadInput, match="'lookahead' of policy 'flowexpect' must be from 1"):
            FlowExpect(still, 1, lookahead)
    assert len(FlowExpect(still, 1, 1000).ahead) == 1000


def test_its_record_makes_it():
    models = GENERATED["walk"].models()
    join = FLOWEXPECT.make_state(Setup(7, 7, models=models), lookahead=2)
    assert (join.models, join.budget, len(join.ahead)) == (models, 7, 2)
    assert join.push(0, 0) == 0
    assert Now(0, 0) == Now(join.now, 0)
