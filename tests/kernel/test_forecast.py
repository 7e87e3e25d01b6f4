"""Chances by key, learned online, against the twin; fading and forgetting worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import forecast as forecasts
from penstock.kernel import keyrates
from penstock.kernel.jit import kernel
from penstock.kernel.shape import TWO_WAY, Shape
from penstock.kernel.slots import make_held
from tests.marks import long
from tests.naive.policies.rates import Rates, half_lives
from tests.naive.tuples import Tuple

THREE_AND_TWO = (((0, 0), (1, 0), (2, 0)), ((0, 1), (1, 1)))


@kernel
def drive(forecast, held, hold, entries, out):
    for slot in range(len(out)):
        forecasts.note(forecast, held, slot)
        forecasts.look_up(forecast, held, slot, slot, entries)
        if hold[slot]:
            forecasts.hold(forecast, entries, slot, 1)
        stream = held.at[slot]["stream"]
        out[slot] = forecasts.expected(forecast, held, slot, stream, entries, slot)


def small(joins, most, half_life=None):
    """Return a forecast that has room for few keys."""
    forecast = forecasts.make_forecast(Shape(joins), 1, half_life)
    lives = keyrates.half_lives(16 * 512)
    lives[0] = half_life or lives[0]
    return forecast._replace(rates=keyrates.make_rates(Shape(joins), most, lives))


def run(forecast, rows, hold):
    """Return what each row was worth when it came."""
    held = make_held(len(rows), 2)
    for slot, (stream, *keys) in enumerate(rows):
        held.at[slot]["stream"] = stream
        held.key[slot] = keys
    entries = np.full((len(rows), forecast.legs.shape[1]), -1, np.int32)
    out = np.zeros(len(rows))
    drive(forecast, held, np.array(hold, bool), entries, out)
    return out.tolist()


def expected(twin, rows, hold):
    out = []
    for (stream, *keys), holds in zip(rows, hold, strict=True):
        t = Tuple(stream, tuple(keys), 0, 0, 0)
        twin.note(t)
        found = twin.find(t)
        for _, past in found:
            if holds and past is not None:
                past.held += 1
        out.append(twin.expected(found, lambda join: 1.0))
    return out


@given(
    data=st.data(),
    joins=st.sampled_from([TWO_WAY, THREE_AND_TWO]),
    most=st.integers(1, 20),
    half_life=st.sampled_from([None, None, 0.5, 3, float("inf")]),
)
def test_chances_are_those_of_the_twin(data, joins, most, half_life):
    stream = st.integers(0, Shape(joins).streams - 1)
    rows = data.draw(
        st.lists(st.tuples(stream, st.integers(0, 12), st.integers(0, 3)), max_size=99)
    )
    hold = [data.draw(st.integers(0, 9)) == 0 for _ in rows]
    twin = Rates(joins, 1, half_life)
    twin.most = most
    forecast = small(joins, most, half_life)
    assert run(forecast, rows, hold) == expected(twin, rows, hold)
    for (join, target), weights in twin.weights.items():
        flat = forecast.weight[join, target].ravel().tolist()
        assert flat[: len(weights)] == list(weights.values())


def worths(keys, half_life, stream=1):
    """Return how likely each key is right after it came on a side, awaited by the other."""
    rows = [(stream, key, 0) for key in keys] + [(1 - stream, key, 0) for key in sorted(set(keys))]
    forecast = small(TWO_WAY, 99, half_life)
    run(forecast, rows[: len(keys)], [False] * len(keys))
    found = []
    for row in rows[len(keys) :]:  # the share of the awaited side changes with every arrival
        found += [run(forecast, [row], [False])[0] / forecast.often[0, stream]]
    return found


def test_an_arrival_loses_half_of_its_weight_in_a_half_life():
    # at half-life 2 an arrival n ago weighs 2^(-n / 2): 1 came 4 and 0 arrivals ago, 2 came 2 ago
    odd = 2**-0.5 + 2**-1.5
    shares = np.array([1.25, 0.5, odd]) / (1.75 + odd)
    assert worths([1, 3, 2, 3, 1], 2) == pytest.approx(shares.tolist())
    # for ever: shares of all that came
    assert worths([1, 3, 2, 3, 1], float("inf")) == pytest.approx([0.4, 0.2, 0.4])


def test_a_row_of_a_sparse_side_is_worth_more_than_one_of_a_dense_side():
    forecast = small(TWO_WAY, 99)
    rows = [(1 if n % 10 else 0, 7, 0) for n in range(2000)]  # nine in ten come on side 1
    dense, sparse = run(forecast, [*rows, (1, 7, 0), (0, 7, 0)], [False] * 2002)[-2:]
    assert sparse / dense == pytest.approx(9, rel=0.1)


@long
def test_a_key_that_comes_many_times_a_tick_fades_too():
    # half-life 6400, a tick every 100 arrivals: 2 came for the last half-life and 1 before
    assert worths([1] * 60_000 + [2] * 6400, 6400) == pytest.approx([0.5, 0.5], abs=0.01)


def test_a_full_table_forgets_the_lightest_that_is_not_held():
    forecast = small(TWO_WAY, 3)
    rows = [(0, 1, 0), (0, 2, 0), (0, 2, 0), (0, 3, 0), (0, 4, 0)]
    run(forecast, rows, [True, False, False, False, False])
    # 1 is the lightest but held, 2 came twice: 4 takes the place of 3
    assert forecast.rates.key.tolist() == [1, 2, 4]
    assert forecast.rates.arrived[0].tolist() == [5, 0]


def test_where_all_are_held_a_new_key_is_not_taken_note_of():
    forecast = small(TWO_WAY, 2, half_life=4)
    found = run(forecast, [(0, 1, 0), (0, 2, 0), (0, 3, 0), (1, 3, 0)], [True, True, False, False])
    assert forecast.rates.key.tolist() == [1, 2]
    assert found[-1] == 0


def test_the_table_grows_up_to_its_bound_and_keeps_what_it_knows():
    forecast = forecasts.make_forecast(Shape(TWO_WAY), 500)
    run(forecast, [(0, key, 0) for key in range(900)], [False] * 900)
    grown = forecasts.reserve(forecast, 200)
    assert len(grown.rates.key) == 1024 + 2 * 500
    assert grown.rates.key[:900].tolist() == list(range(900))
    assert [keyrates.keymap.seek(grown.rates.buckets, 0, grown.rates.key, k) for k in (0, 899)] == [
        0,
        899,
    ]
    assert len(forecasts.reserve(grown, 10**9).rates.key) == 1024 + 2 * 500
    assert forecasts.reserve(forecast, 100) is not grown
    assert len(forecasts.reserve(forecast, 100).rates.key) == 1024


@pytest.mark.parametrize("longest", [2048, 2052, 40_000, 4_000_000])
def test_half_lives_are_those_of_the_twin(longest):
    assert keyrates.half_lives(longest).tolist() == half_lives(longest)


def test_what_is_learned_from_streams_that_follow_each_other():
    # side 1 brings what side 0 brought just before: its past of a moment ago foretells all
    keys = np.random.default_rng(1).integers(0, 50, 600).tolist()
    rows = [(side, key, 0) for key in keys for side in (0, 1)]
    forecast = small(TWO_WAY, 99)
    run(forecast, rows, [False] * len(rows))
    assert forecast.weight[0, 1, 0, 0] > 0.9
    assert forecast.weight[0, 0].sum() == pytest.approx(1, abs=0.01)


@long
def test_what_is_learned_from_popularity_that_lasts():
    # keys come at random, 0 half of the time: weights move from the shortest two scales, which
    # began with a third of them, to the longest two, which began with as much
    random = np.random.default_rng(2)
    keys = np.where(random.random(20_000) < 0.5, 0, random.integers(1, 300, 20_000)).tolist()
    forecast = small(TWO_WAY, 999)
    run(forecast, [(i % 2, key, 0) for i, key in enumerate(keys)], [False] * 20_000)
    by_scale = forecast.weight[0, 0].sum(axis=0)
    assert by_scale[:2].sum() < 0.1
    assert by_scale[4:].sum() > 0.6
