"""Algorithms as printed: each beside a plain simulation of the paper's words."""

import math
from collections import deque
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.experiments.drifting import simulate_drift
from papers.printed import NAMED, hist, prepared
from papers.printed.flowexpect import FlowExpectCache
from papers.printed.heeb import Popularity
from papers.printed.lba import H, column_sums, warmed_up, warmed_up_cache
from papers.printed.surface import POINTS, Surface, surface
from papers.theory.heeb import direct
from penstock.engine import Join, Lookup
from penstock.kernel.histogram import FIRST
from penstock.kernel.jit import kernel
from penstock.kernel.policy import Setup
from penstock.kernel.shape import all_streams, in_pairs
from penstock.models import Ar1, Now, Stationary
from penstock.models.benefit import Lasting
from penstock.profile.locality import Weights, conditional, expected, fit_likelihood
from penstock.profile.ranked import whole
from penstock.simulate.optimum import lfd
from penstock.simulate.traces import JoinTrace
from tests.marks import long

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


MANY = st.lists(st.integers(0, 3), min_size=30, max_size=90)


def several(policy, keys, streams, each, joins=None, **options):
    """Join streams that take turns, one tuple a time unit each; return the engine."""
    keys = np.array(keys[: len(keys) // streams * streams])
    join = Join(
        NAMED[policy].configured(",".join(f"{k}={v}" for k, v in options.items())),
        streams * each,
        within=WITHIN,
        joins=joins or all_streams(streams),
        layout="unified" if joins else "split",
        shares=None if joins else [1 / streams] * streams,
    )
    join.push(np.arange(len(keys)) % streams, keys, np.arange(len(keys)) // streams)
    return join


class Tuple:
    """A tuple of one of several streams, in a plain simulation."""

    def __init__(self, row, streams, key):
        self.row, self.stream, self.time, self.key = row, row % streams, row // streams, key
        self.credit, self.moved = 0.0, row


def taken_in_turn(keys, streams, held):
    """Yield each arrival with its partners, and for each of these the results it is part of.

    `held` is a list that the caller changes; what has expired leaves it first.
    """
    for row, key in enumerate(keys[: len(keys) // streams * streams]):
        new = Tuple(row, streams, key)
        held[:] = [t for t in held if t.time + WITHIN >= new.time]
        partners = [t for t in held if t.key == key and t.stream != new.stream]
        sides = [[t for t in partners if t.stream == s] for s in range(streams) if s != new.stream]
        yield new, partners, list(product(*sides))


def new_credit(buffer, percentile):
    """The credit at a percentile of those held; of an empty buffer 0."""
    credits = sorted(t.credit for t in buffer)
    return credits[min(len(credits) - 1, int(percentile * len(credits)))] if credits else 0.0


@settings(max_examples=20)
@given(
    keys=MANY,
    streams=st.just(3),
    each=st.integers(1, 4),
    part=st.sampled_from([0.0, 0.5, 2.0]),
)
def test_clock_adds_one_for_a_result_and_less_for_a_part(keys, streams, each, part):
    held, found = [], 0
    rounds = [[] for _ in range(streams)]  # by stream; the hand is at the front
    for new, partners, results_ in taken_in_turn(keys, streams, held):
        found += len(results_)
        for t in partners:
            t.credit += part
        for result in results_:
            for t in result:
                t.credit += 1
        mine = rounds[new.stream]
        mine[:] = [t for t in mine if t in held]
        if len(mine) == each:
            while True:
                mine[0].credit -= 1
                if mine[0].credit < 0:
                    break
                mine.append(mine.pop(0))
            held.remove(mine[0])
            mine[0] = new  # the newcomer takes the place, at which the hand stays
        else:
            mine.append(new)
        held.append(new)
    assert several("sketched_clock", keys, streams, each, part=part).results == found


@settings(max_examples=20)
@given(keys=MANY, each=st.integers(1, 4))
def test_joins_share_memory_by_their_average_credit(keys, each):
    held, found, stamp = [], 0, 1000
    for row, key in enumerate(keys[: len(keys) // 4 * 4]):
        new = Tuple(row, 4, key)
        held[:] = [t for t in held if t.time + WITHIN >= new.time]
        # the newest partner first, as the engine finds them
        for t in reversed(held):
            if t.key == key and t.stream != new.stream and t.stream // 2 == new.stream // 2:
                found, stamp = found + 1, stamp + 1
                t.credit, t.moved = t.credit + 1, stamp
        if len(held) == 4 * each:
            joins = [[t for t in held if t.stream // 2 == join] for join in range(2)]
            mean = [sum(t.credit for t in join) / max(1, len(join)) for join in joins]
            share = mean[0] / sum(mean) if sum(mean) else 0.5
            above = not joins[1] or (joins[0] and len(joins[0]) >= share * len(held))
            held.remove(min(joins[0 if above else 1], key=lambda t: (t.credit, t.moved)))
        stamp += 1
        mine = [t for t in held if t.stream // 2 == new.stream // 2]
        new.credit, new.moved = new_credit(mine, 0.3), stamp
        held.append(new)
    made = several("sketched_shares", keys, 4, each, joins=in_pairs(4), percentile=0.3)
    assert made.results == found


SHARE = {0: 0.5, 1: 0.2, 2: 0.2, 3: 0.06, 4: 0.04}


@settings(max_examples=20)
@given(
    r=st.lists(st.integers(0, 4), min_size=30, max_size=60),
    seed=st.integers(0, 99),
    memory=st.integers(1, 6),
    within=st.sampled_from([None, 6]),
    follows=st.sampled_from([0.0, 0.7]),
)
def test_heeb_sums_what_each_tuple_is_expected_to_find(r, seed, memory, within, follows):
    lag, alpha = 3, 4.0
    s = np.random.default_rng(seed).integers(0, 5, len(r)).tolist()

    def worth(stream, key, time, now):
        """H by its definition, far enough ahead for what is left to be nothing."""
        total = 0.0
        for d in range(1, 400 if within is None else time + within - now + 1):
            chance = SHARE[key]
            if stream == 0 and d <= lag:
                known = now + d - lag >= 0 and r[now + d - lag] == key
                chance = follows * known + (1 - follows) * SHARE[key]
            total += chance * math.exp(-d / alpha)
        return total

    held, found = [], 0
    for now, pair in enumerate(zip(r, s, strict=True)):
        last = math.inf if within is None else within
        found += sum(pair[1 - stream] == key for stream, key, time in held if time + last >= now)
        held = [t for t in held if t[2] + last > now]
        for stream, key in enumerate(pair):
            held.append((stream, key, now))
            if len(held) > memory:
                values = [worth(*t, now) for t in held]
                held.pop(next(i for i, each in enumerate(values) if each <= min(values) + 1e-9))
    known = Popularity(np.arange(5), np.array(list(SHARE.values())))
    join = Join(
        NAMED["sketched_heeb"].configured(f"alpha={alpha},lag={lag},follows={follows}"),
        memory,
        within=within,
        together=True,
        models=[known, known],
    )
    rows = np.column_stack((r, s)).ravel()
    join.push(np.tile([0, 1], len(r)), rows, np.repeat(np.arange(len(r)), 2))
    assert join.results == found


def test_the_surface_is_h_at_its_control_points():
    model = Ar1(30, 0.7, 12)
    made = surface(model, 60, 140, alpha=9)
    at = np.linspace(0, 80, POINTS).astype(int)
    for x in at:
        expected_ = direct(model, 60 + at, Now(0, 60 + x), Lasting("exp", 9), caching=True)
        assert made.worth[x, at] == pytest.approx(expected_, rel=2e-3)


@settings(max_examples=20)
@given(keys=st.lists(st.integers(0, 9), min_size=20, max_size=60), memory=st.integers(1, 4))
def test_a_cache_keeps_what_is_highest_on_the_surface(keys, memory):
    worth = np.random.default_rng(3).random((10, 10))
    cache = Lookup(NAMED["printed_surface"], memory, model=Surface(0, worth))
    hits, held = [], set()
    for key in keys:
        hits.append(key in held)
        held.add(key)
        if len(held) > memory:
            held.remove(min(held, key=lambda each: worth[key, each]))
    assert cache.push(keys).hit.tolist() == hits


class Foretold:
    """A stream whose values are known beforehand."""

    def __init__(self, keys):
        self.keys = np.array([*keys, *[-1] * 999])

    def prob(self, v, d, history):
        at = np.asarray(history.time) + np.asarray(d)
        return (self.keys[np.minimum(at, len(self.keys) - 1)] == np.asarray(v)).astype(float)

    def support(self, most, history):
        return np.unique(self.keys[history.time + 1 : history.time + most + 1])


@settings(max_examples=15)
@given(keys=st.lists(st.integers(0, 5), min_size=5, max_size=25), memory=st.integers(1, 3))
def test_where_the_future_is_known_flowexpect_is_the_optimum_of_a_cache(keys, memory):
    cache = FlowExpectCache(Foretold(keys), memory, lookahead=len(keys))
    assert sum(cache.push(key) for key in keys) == int(lfd(keys, memory).sum())


def test_of_a_stationary_stream_flowexpect_caches_the_most_popular():
    share = np.array([0.4, 0.3, 0.2, 0.1])
    cache = FlowExpectCache(Stationary(np.arange(4), share), 2, lookahead=4)
    for key in np.random.default_rng(1).choice(4, 40, p=share).tolist():
        cache.push(key)
    assert sorted(cache.held) == [0, 1]


@settings(max_examples=20)
@given(keys=KEYS, memory=st.integers(1, 4))
def test_lba_for_caches_is_the_same_formula(keys, memory):
    keys = np.array(keys)
    first = len(keys) // 2
    model = warmed_up_cache(keys, WITHIN, first)
    cache = Lookup(NAMED["printed_lba"], memory, model=model)
    hits, held = [], []
    for row, key in enumerate(keys.tolist()):
        hits.append(key in held)
        if hits[-1]:
            continue
        if len(held) == memory:
            past = keys[max(0, row + 1 - WITHIN) : row + 1][::-1].tolist()
            worth = [
                sum(model.repeated[k] for k, each in enumerate(past) if each == one)
                + model.afresh * model.popularity[np.searchsorted(model.keys, one)]
                for one in held
            ]
            held.pop(next(i for i, each in enumerate(worth) if each <= min(worth) + 1e-9))
        held.append(key)
    assert cache.push(keys).hit.tolist() == hits


@long
@pytest.mark.parametrize("repeats", [0.3, 0.7])
def test_lemma_4_of_the_locality_paper(repeats):
    """A random order has no less entropy than the stream; as much, where nothing is repeated."""
    random = np.random.default_rng(7)
    fresh = random.choice(60, 6000, p=np.arange(1.0, 61)[::-1] / np.arange(1, 61).sum())
    stream = fresh.copy()
    for place in range(10, len(stream)):
        if random.random() < repeats:
            stream[place] = stream[place - random.integers(1, 10)]

    def entropy(keys):
        return conditional(whole(keys), fit_likelihood(keys, 20))

    assert entropy(stream) < entropy(random.permutation(stream)) - 0.05
    assert entropy(fresh) == pytest.approx(entropy(random.permutation(fresh)), abs=0.03)
