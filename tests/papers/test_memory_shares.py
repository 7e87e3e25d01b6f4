import numpy as np
import pytest

from papers.experiments.memory_shares import memory_shares
from penstock.errors import BadInput
from penstock.models import Discrete
from penstock.simulate.drifting import drift, drift_models, walk, walk_models
from penstock.simulate.skewed import zipf
from penstock.simulate.traces import JoinTrace
from tests.naive.join import NaiveJoin
from tests.naive.policies import factory

ALIKE = Discrete.normal(2, bound=15)


def naive_shares(trace, name, memory, first, seed):
    """Return the shares by the twin, one decision after the other."""
    twin = NaiveJoin(factory(name), memory, together=trace.together, seed=seed)
    width = 2 if trace.together else 1
    shares = []
    for start in range(0, len(trace), width):
        rows = range(start, start + width)
        twin.push(
            [
                {
                    "stream": int(trace.side[i]),
                    "keys": (int(trace.key[i]),),
                    "time": int(trace.time[i]),
                }
                for i in rows
            ]
        )
        if rows[-1] >= first:
            shares.append([sum(t.stream == side for t in twin.held) / memory for side in (0, 1)])
    return np.mean(shares, axis=0)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("name", ["rand", "lru"])
def test_agrees_with_the_twin(name, together):
    made = walk(80, 4)
    trace = JoinTrace(made.side, made.key, made.time, together=together)
    got = memory_shares(trace, name, 5, first=21, seed=6)
    assert got == pytest.approx(naive_shares(trace, name, 5, 21, 6))


def test_chance_divides_evenly():
    r, s = memory_shares(zipf(3000, seed=1), "rand", 20, first=160)
    assert r + s == pytest.approx(1)
    assert r == pytest.approx(0.5, abs=0.03)


def test_unused_memory_belongs_to_no_side():
    trace = JoinTrace([0, 1, 0, 1], [1, 2, 3, 4], [0, 0, 1, 1], together=True)
    assert memory_shares(trace, "fifo", 8).tolist() == [3 / 16, 3 / 16]
    assert memory_shares(trace, "fifo", 8, first=2).tolist() == [0.25, 0.25]


def test_expired_rows_leave_their_places_to_the_others():
    # S is far ahead: an R tuple can match nothing after the step at which it comes
    options = {"noise_r": Discrete.uniform(2), "noise_s": Discrete.uniform(2), "lag": 9}
    trace = drift(400, seed=1, **options)
    for name in ("rand", "flowexpect"):
        r, s = memory_shares(trace, name, 6, first=48, models=drift_models(**options))
        assert r == 0
        assert 0.9 < s <= 1  # when two expire at once, one place waits for the next newcomer


def test_a_stream_that_lags_holds_less():
    shares = []
    for lag in (0, 2, 4):
        options = {"noise_r": ALIKE, "noise_s": ALIKE, "lag": lag}
        trace, models = drift(600, seed=3, **options), drift_models(**options)
        shares.append(memory_shares(trace, "flowexpect", 10, first=80, models=models)[0])
    assert shares[0] == pytest.approx(0.5, abs=0.05)
    assert shares[0] > shares[1] + 0.05 > shares[2] + 0.1


def test_a_stream_that_scatters_holds_less():
    shares = []
    for sd in (2, 4, 8):
        options = {"noise_r": ALIKE, "noise_s": Discrete.normal(sd, bound=15), "lag": 0}
        trace, models = drift(600, seed=3, **options), drift_models(**options)
        shares.append(memory_shares(trace, "flowexpect", 10, first=80, models=models)[1])
    assert shares[0] > shares[1] > shares[2]


def test_what_it_refuses():
    trace = walk(20, 1)
    with pytest.raises(BadInput, match="'opt' tells how many results there can be, not what"):
        memory_shares(trace, "opt", 5)
    with pytest.raises(BadInput, match="first must be from 0 to below the 40 rows, got 40"):
        memory_shares(trace, "rand", 5, first=40)
    with pytest.raises(BadInput, match="needs the models"):
        memory_shares(trace, "flowexpect", 5)
    assert memory_shares(trace, "flowexpect", 5, models=walk_models()).shape == (2,)


def heeb_share_of_r(lag=0, sd=2.0):
    noise = {"noise_r": ALIKE, "noise_s": Discrete.normal(sd, bound=15)}
    trace = drift(1500, seed=1, lag=lag, **noise)
    models = drift_models(lag=lag, **noise)
    return memory_shares(trace, "heeb:alpha=8", 10, first=80, models=models)[0]


def test_heeb_gives_less_to_the_stream_that_lags_behind():
    # figure 16 of the paper: what lags has mostly missed its partners, so its tuples go
    shares = [heeb_share_of_r(lag=lag) for lag in (0, 2, 4)]
    assert shares[0] == pytest.approx(0.5, abs=0.04)
    assert shares[0] > shares[1] + 0.1 > shares[2] + 0.15


def test_heeb_gives_more_to_the_stream_whose_partner_varies_more():
    # a wide stream meets a narrow one's tuples for longer; its own are mostly off the mark
    shares = [heeb_share_of_r(sd=sd) for sd in (2.0, 3.0, 4.0)]
    assert shares[0] + 0.05 < shares[1] < shares[2] + 0.02
