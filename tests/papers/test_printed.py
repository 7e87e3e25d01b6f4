"""Algorithms as printed: each beside a plain simulation of the paper's words."""

from collections import deque
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.experiments.drifting import simulate_drift
from papers.printed import NAMED, hist, prepared
from papers.printed.lba import H, column_sums, warmed_up
from penstock.engine import Join
from penstock.kernel.histogram import FIRST
from penstock.kernel.jit import kernel
from penstock.kernel.policy import Setup
from penstock.profile.locality import Weights, expected
from penstock.simulate.traces import JoinTrace

WITHIN = 12
KEYS = st.lists(st.integers(0, 5), min_size=40, max_size=120)


def trace_of(keys):
    """Two streams that take turns, one tuple a time unit each."""
    keys = np.array(keys[: len(keys) // 2 * 2])
    side = np.tile(np.array([0, 1], np.int8), len(keys) // 2)
    return JoinTrace(side, keys, np.arange(len(keys)) // 2)


def results(name, trace, each, first):
    """The engine's results, with room for `each` tuples of either stream."""
    terms = prepared(name, trace, WITHIN, first)
    join = Join(
        terms["policy"],
        2 * each,
        within=WITHIN,
        layout="split",
        shares=[0.5, 0.5],
        models=terms.get("models"),
    )
    join.push(trace.side, trace.key, trace.time)
    return join.results


def simulated(trace, each, victim):
    """Join with two buffers; `victim(buffer, time, row)` names a row, or None: the newcomer."""
    buffers, found = ([], []), 0
    for row, (side, key, time) in enumerate(zip(trace.side, trace.key, trace.time, strict=True)):
        for buffer in buffers:
            buffer[:] = [r for r in buffer if trace.time[r] + WITHIN >= time]
        found += sum(trace.key[r] == key for r in buffers[1 - side])
        mine = buffers[side]
        if len(mine) == each:
            gone = victim(mine, time, row)
            if gone is None:
                continue
            mine.remove(gone)
        mine.append(row)
    return found


@settings(max_examples=20)
@given(keys=KEYS, each=st.integers(1, 6))
def test_lba_is_algorithm_1(keys, each):
    trace = trace_of(keys)
    first = len(trace.key) // 2
    models = warmed_up(trace, WITHIN, first)

    def utility(held, row):
        other = 1 - trace.side[held]
        past = [trace.key[r] for r in range(row + 1) if trace.side[r] == other]
        model = models[other]
        lags = [k for k, key in enumerate(reversed(past[-WITHIN:])) if key == trace.key[held]]
        popular = model.popularity[np.searchsorted(model.keys, trace.key[held])]
        return sum(model.repeated[k] for k in lags) + model.afresh * popular

    def victim(buffer, time, row):
        worth = [utility(held, row) for held in buffer]
        # Sums in another order differ in their last digits: of equals the one that expires first
        return next(h for h, u in zip(buffer, worth, strict=True) if u <= min(worth) + 1e-9)

    tied = results("printed_lba", trace, each, first)
    assert tied == simulated(trace, each, victim)


@pytest.mark.parametrize("steps", [4, 7, 40])
def test_column_sums_are_those_that_lba_computes_without_powers(steps):
    weights = Weights(np.array([0.2, 0.0, 0.3, 0.1]), 0.4)
    repeated, afresh = column_sums(weights, steps)
    ours = expected(weights, steps)
    assert repeated[: weights.h] == pytest.approx(ours.repeated)
    assert not repeated[weights.h :].any()
    assert afresh == pytest.approx(ours.afresh)


def test_the_warm_up_alone_is_learned_from():
    keys = [1, 2] * 100 + [3, 3] * 100
    left, _ = warmed_up(trace_of(keys), WITHIN, 200)
    assert left.keys.tolist() == [1, 2, 3]
    assert left.popularity.tolist() == [1, 0, 0]
    assert H == 80


@settings(max_examples=20)
@given(keys=KEYS, each=st.integers(1, 6))
def test_age_holds_each_value_for_its_best_age(keys, each):
    trace = trace_of(keys)

    def best(row):
        """The k <= W with most matches per k, of all tuples of this stream and value."""
        alike = [
            r
            for r in range(len(trace.key))
            if trace.key[r] == trace.key[row] and trace.side[r] == trace.side[row]
        ]
        ages = [
            trace.time[other] - trace.time[r]
            for r in alike
            for other in range(len(trace.key))
            if trace.side[other] != trace.side[r]
            and trace.key[other] == trace.key[r]
            and 0 < trace.time[other] - trace.time[r] <= WITHIN
        ]
        rates = {k: sum(age <= k for age in ages) / k for k in range(1, WITHIN + 1)}
        return max(rates, key=rates.get) if ages else 0

    def victim(buffer, time, row):
        until = {held: trace.time[held] + best(held) for held in buffer}
        over = [held for held in buffer if until[held] <= time]
        return min(over, key=until.get) if over else None

    assert results("printed_age", trace, each, 0) == simulated(trace, each, victim)


def test_hist_knows_nothing_before_tuples_have_departed():
    """Until there are buckets all are worth the same, and of equals the older one goes: FIFO."""
    trace = trace_of(np.random.default_rng(5).integers(0, 6, 60))
    found = []
    for policy in (NAMED["printed_hist"], "fifo"):
        join = Join(policy, 6, within=WITHIN)
        join.push(trace.side, trace.key, trace.time)
        found.append(join.results)
    assert found[0] == found[1]


class Held(NamedTuple):
    at: np.ndarray
    key: np.ndarray


@kernel
def live(state, held, slot, begin, hits):
    """Come, match so often, and leave after four time units."""
    hist.on_insert(state, held, slot, begin)
    for _ in range(hits):
        hist.on_match(state, held, slot, begin)
    hist.on_remove(state, held, slot, begin + 4)
    return hist.score(state, held, slot, begin + 4)


@pytest.mark.parametrize("hits", [0, 3])
def test_hist_observes_a_tuple_when_it_leaves(hits):
    state = hist.make_state(Setup(4))
    held = Held(np.zeros(4, [("stream", np.int64)]), np.full((4, 1), 7, np.int64))
    state.position[:] = 5.0
    worth = [live(state, held, number % 4, 10 * number, hits) for number in range(FIRST)]
    assert state.benefit.mean[0, 0] == pytest.approx(hits)
    assert state.inverse.mean[0, 0] == pytest.approx(1 / 4)
    assert (worth[0], worth[-1]) == (0, pytest.approx(hits / 4))


def test_hist_follows_a_trend_where_chance_does_not():
    cell = {"sd": 1, "length": 600, "warmup": 200, "run": 0, "memory": 4}
    found = {p: simulate_drift(cell | {"policy": p})["results"] for p in ("printed_hist", "rand")}
    assert found["printed_hist"] > 1.2 * found["rand"]


@pytest.mark.parametrize("keys", [1000, 5000])
def test_theorem_1_of_the_locality_paper(keys):
    """With Zipf popularity of z = 1 distances in a random order are as 1 / k."""
    popularity = 1 / np.arange(1.0, keys + 1)
    popularity /= popularity.sum()
    k = np.unique(np.geomspace(20, keys / 10, 20).astype(int))
    d = np.array([(popularity**2 * (1 - popularity) ** (lag - 1)).sum() for lag in k])
    slope = np.polyfit(np.log(k), np.log(d), 1)[0]
    assert slope == pytest.approx(-1, abs=0.08)


def test_theorem_1_in_a_stream():
    random = np.random.default_rng(1)
    popularity = 1 / np.arange(1.0, 2001)
    stream = random.permutation(random.choice(2000, 200_000, p=popularity / popularity.sum()))
    last, distances = {}, deque()
    for place, key in enumerate(stream.tolist()):
        if key in last:
            distances.append(place - last[key])
        last[key] = place
    count = np.bincount(distances)
    edges = np.array([10, 20, 40, 80, 160])
    rate = [count[a:b].mean() for a, b in pairwise(edges)]
    middle = np.sqrt(edges[:-1] * edges[1:])
    assert np.polyfit(np.log(middle), np.log(rate), 1)[0] == pytest.approx(-1, abs=0.1)
