import numpy as np
import pytest

from penstock.errors import BadInput
from penstock.kernel.slots import FOREVER
from penstock.simulate.drifting import floor, tower, walk
from penstock.simulate.flowexpect import FlowExpect
from penstock.simulate.optimum import full_results
from penstock.simulate.player import play
from penstock.simulate.skewed import gdj, zipf
from penstock.simulate.traces import JoinTrace, LookupTrace, arrivals
from penstock.simulate.workloads import GENERATED
from tests.simulate.replay import naive_replay


def naive_results(trace, name, memory, **options):
    """Return how many results the twin has at the rows from `first` on."""
    return len(naive_replay(trace, name, memory, **options))


@pytest.mark.parametrize(
    ("trace", "within"),
    [(tower(150, 1), None), (walk(150, 1), None), (walk(150, 1), 20), (zipf(150, 1), 30)],
    ids=["tower", "walk", "walk within", "zipf"],
)
@pytest.mark.parametrize("name", ["rand", "lru"])
def test_agrees_with_the_twin(trace, within, name):
    first = 40
    played = play(trace, name, 6, within=within, first=first, seed=9)
    expected = naive_results(trace, name, 6, within=within, first=first, seed=9)
    assert played.results == expected
    assert played.rows == len(trace)
    assert played.seconds > 0


# The settings of GreedyDual-Join's experiments; test_player_breadth.py has every policy in them.
SHAPES = {
    "pairs": gdj(80, 1, streams=4, pairs=True, domain=12),
    "three streams": gdj(80, 1, streams=3, domain=8),
    "two attributes": gdj(120, 1, attributes=2, domain=20),
}


@pytest.mark.parametrize(
    ("shape", "layout"), [*((shape, "unified") for shape in SHAPES), ("pairs", "split")]
)
def test_every_shape_agrees_with_the_twin(shape, layout):
    trace = SHAPES[shape]
    options = {"within": 25, "first": 30, "layout": layout, "drop": 0.2, "seed": 4}
    found = play(trace, "prob", 12, **options).results
    assert found == naive_results(trace, "prob", 12, **options)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_exact_budget_gets_everything_in_every_shape(shape):
    trace = SHAPES[shape]
    for within in (None, 10):
        full = full_results(trace, within, 20)
        assert play(trace, "prob", len(trace), within=within, first=20).results == full > 0


def test_hindsight_and_plans_take_two_streams_and_all_arrivals():
    for name in ("opt", "flowexpect"):
        with pytest.raises(BadInput, match=f"'{name}' is defined for one join of two streams, got"):
            play(SHAPES["pairs"], name, 4)
        with pytest.raises(BadInput, match=f"'{name}' takes all arrivals"):
            play(walk(50, 1), name, 4, drop=0.1)


def test_what_is_behind_when_it_comes_can_still_match():
    # the S tuple's value has been passed by R, but the R tuple that carries it is still held
    trace = JoinTrace([0, 1, 0, 1], [3, 0, 9, 3], [0, 0, 1, 1], end=[5, 5, 5, 0], together=True)
    assert play(trace, "lru", 4).results == full_results(trace, None, 0) == 1
    assert play(trace, "opt", 4).results == 1


def test_a_window_and_an_end_both_hold():
    trace = JoinTrace([0, 0, 1], [7, 7, 7], [0, 4, 5], end=[9, 4, 9])
    assert arrivals(trace, 3).end.tolist() == [3, 4, 8]
    assert play(trace, "lru", 4).results == 1
    assert play(trace, "lru", 4, within=5).results == 1
    assert play(trace, "lru", 4, within=4).results == 0


def test_a_window_never_passes_the_end_of_time():
    trace = JoinTrace([0, 1], [7, 7], [5, 6])
    assert arrivals(trace, 10**30).end.tolist() == [FOREVER, FOREVER]
    assert play(trace, "lru", 4, within=10**30).results == 1


def test_rows_of_one_time_are_taken_by_side():
    # S comes first in the file; by side R is taken first, and S finds it
    trace = JoinTrace([1, 0], [7, 7], [3, 3])
    for first in (0, 1):
        assert play(trace, "lru", 4, first=first).results == 1
        assert play(trace, "opt", 4, first=first).results == 1
        assert full_results(trace, None, first) == 1


@pytest.mark.parametrize("within", [None, 0, 25])
@pytest.mark.parametrize("make", [tower, floor, walk, zipf])
def test_an_exact_budget_gets_everything(make, within):
    trace = make(300, 2)
    for first in (0, 100):
        full = full_results(trace, within, first)
        assert play(trace, "lru", 600, within=within, first=first).results == full
        assert play(trace, "opt", 600, within=within, first=first).results == full


def test_a_boundless_cache_hits_whatever_was_seen():
    trace = LookupTrace([1, 2, 1, 3, 2, 4])
    assert full_results(trace, None, 0) == play(trace, "lru", 6).results == 2
    assert full_results(trace, None, 3) == play(trace, "lru", 6, first=3).results == 1
    assert full_results(trace, None, 5) == 0


def test_opt_and_lfd_are_one_for_a_cache():
    trace = GENERATED["zipf"].references(2000, 3)
    opt, lfd = (play(trace, name, 20, first=80).results for name in ("opt", "lfd"))
    assert opt == lfd
    assert play(trace, "lru", 20, first=80).results < lfd


def test_split_gives_each_side_a_share_by_its_rate():
    # three quarters of the rows are R's, so 3 of 4 places are: fifo keeps 9, 10 and 11
    side, key = np.repeat([0, 1], [12, 4]), np.append(np.arange(12), [8, 9, 10, 11])
    trace = JoinTrace(side, key, np.arange(16))
    assert play(trace, "fifo", 4, layout="split").results == 3
    assert play(trace, "fifo", 4).results == 4


def test_hindsight_has_one_layout():
    with pytest.raises(BadInput, match=r"unified layout .*--layout"):
        play(tower(50, 1), "opt", 4, layout="split")


@pytest.mark.parametrize("name", ["tower", "walk"])
def test_a_plan_is_replayed_step_by_step(name):
    trace, models = GENERATED[name].join(150, 1), GENERATED[name].models()
    played = play(trace, "flowexpect:lookahead=3", 4, first=40, models=models)
    steps = list(zip(trace.key[::2].tolist(), trace.key[1::2].tolist(), strict=True))
    # a stream of values alone tells of expired tuples too: they come no more
    join = FlowExpect(models, 4, 3)
    results = [join.push(*step) for step in steps]
    assert played.results == sum(results[20:])
    assert played.rows == 300
    rand, opt = (play(trace, policy, 4, first=40).results for policy in ("rand", "opt"))
    assert rand < played.results <= opt


@pytest.mark.parametrize("within", [None, 0, 7])
def test_a_plan_with_room_for_all_gets_everything(within):
    trace = walk(120, 2)
    full = full_results(trace, within, 20)
    got = play(trace, "flowexpect", 240, within=within, first=20, models=GENERATED["walk"].models())
    assert got.results == full


def test_a_plan_needs_models_and_whole_steps():
    models = GENERATED["walk"].models()
    with pytest.raises(BadInput, match="needs the models"):
        play(walk(50, 1), "flowexpect", 4)
    with pytest.raises(BadInput, match=r"unified layout .*--layout"):
        play(walk(50, 1), "flowexpect", 4, layout="split", models=models)
    with pytest.raises(BadInput, match="first row of a step, which is an even one, got 3"):
        play(walk(50, 1), "flowexpect", 4, first=3, models=models)
    with pytest.raises(BadInput, match="one tuple each at every step"):
        play(JoinTrace([0, 1], [7, 7], [0, 1]), "flowexpect", 4, models=models)
    with pytest.raises(BadInput, match="times that count the steps"):
        play(JoinTrace([0, 1], [7, 7], [3, 3], together=True), "flowexpect", 4, models=models)


def test_more_memory_than_rows_is_not_made():
    assert play(walk(50, 1), "wtinylfu", 10**15).results == full_results(walk(50, 1), None, 0)


def test_models_of_a_workload_reach_the_policy():
    trace, models = GENERATED["tower"].join(600, 1), GENERATED["tower"].models()
    told = play(trace, "heeb", 2, first=16, models=models).results
    assert told > 1.05 * play(trace, "heeb", 2, first=16).results  # it learns only after a while
    references = GENERATED["tower"].references(600, 1)
    told = play(references, "heeb", 4, models=models).results
    assert told > play(references, "rand", 4).results


def test_keys_with_a_fraction_are_ordered():
    rng = np.random.default_rng(3)
    value = (20 + rng.normal(0, 1, 2000).cumsum() / 10).round(1)
    names = np.unique(value, return_inverse=True)[1]
    shuffled = rng.permutation(names.max() + 1)[names]  # as a file's keys are numbered
    trace = LookupTrace(shuffled, value=value)
    plain = LookupTrace(np.rint(value * 10).astype(np.int64), value=value)
    assert play(trace, "heeb", 10).results == play(plain, "heeb", 10).results
    with pytest.raises(BadInput, match="goes by the order of keys, and those of trace are names"):
        play(LookupTrace(shuffled), "heeb", 10)


def test_models_fitted_to_the_whole_trace_beforehand():
    trace = GENERATED["tower"].join(600, 1)
    told = play(trace, "heeb", 2, first=16, models=GENERATED["tower"].models()).results
    fitted = play(trace, "heeb:fit=before,model=trend", 2, first=16).results
    assert fitted == pytest.approx(told, rel=0.02)
    references = GENERATED["walk"].references(800, 1)
    fitted = play(references, "heeb:fit=before", 4).results
    assert fitted > play(references, "rand", 4).results
