import pytest

from penstock.errors import BadInput
from penstock.simulate.comparison import compare, summarise
from penstock.simulate.distortion import Distortion, exact_tally, tally
from penstock.simulate.player import suitable
from penstock.simulate.scenario import Scenario
from penstock.simulate.workloads import Generated

TOWER = Scenario(Generated("tower", 400), "joining", 10)


def results(made):
    return [[each.played.results for each in run] for run in made.runs]


def test_every_run_has_its_own_seed():
    whole = compare(TOWER, ["rand", "lru"], runs=3)
    later = Scenario(Generated("tower", 400), "joining", 10, seed=1)
    assert results(whole)[1:] == results(compare(later, ["rand", "lru"], runs=2))
    assert len({tuple(run) for run in results(whole)}) > 1
    assert results(whole) == results(compare(TOWER, ["rand", "lru"], runs=3))


def test_parallel_equals_serial():
    names = ["rand", "lru", "opt"]
    serial = compare(TOWER, names, runs=4, workers=1)
    parallel = compare(TOWER, names, runs=4, workers=2)
    assert results(serial) == results(parallel)
    assert [run[0].full for run in serial.runs] == [run[0].full for run in parallel.runs]


def test_progress_tells_every_replay():
    told = []
    compare(TOWER, ["rand", "lru"], runs=2, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 4), (1, 4), (2, 4), (4, 4)]


@pytest.mark.slow
def test_none_given_means_all():
    made = compare(Scenario(Generated("tower", 60), "caching", 5), ())
    assert [each.policy.name for each in made.policies] == suitable(made.scenario)


@pytest.mark.parametrize("workload", ["tower", "roof"])
@pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_no_policy_beats_hindsight(workload, few):
    scenario = Scenario(Generated(workload, 600), "joining", 10)
    names = ["rand", "prob", "heeb"] if few else suitable(scenario)  # compiling takes seconds each
    for run in compare(scenario, [*names, "opt"], runs=2).runs:
        *others, opt = [each.played.results for each in run]
        assert max(others) <= opt <= run[0].full


@pytest.mark.slow
def test_no_cache_beats_hindsight():
    scenario = Scenario(Generated("zipf", 2000), "caching", 10)
    for run in compare(scenario, [*suitable(scenario), "lfd"], runs=2).runs:
        *others, lfd = [each.played.results for each in run]
        assert max(others) <= lfd <= run[0].full


def test_a_run_that_fails_is_reported():
    with pytest.raises(BadInput, match=r"runs must be .* at least 1, got 0"):
        compare(TOWER, ["rand"], runs=0)


def test_means_are_over_the_runs():
    made = compare(TOWER, ["rand"], runs=3)
    got, full = [run[0] for run in results(made)], [run[0].full for run in made.runs]
    score = summarise(made)["policies"][0]
    mean = sum(got) / 3
    assert score["results"]["mean"] == pytest.approx(mean)
    assert score["results"]["std"] == pytest.approx((sum((x - mean) ** 2 for x in got) / 2) ** 0.5)
    assert score["full"]["mean"] == pytest.approx(sum(full) / 3)
    shares = [a / b for a, b in zip(got, full, strict=True)]
    assert score["recall"]["mean"] == pytest.approx(sum(shares) / 3)


def test_distortion_is_reported_where_it_is_asked_for():
    source = Generated("zipf:domain=20", 400)
    terms = {"within": 50, "drop": 0.3, "seed": 2}
    scenario = Scenario(source, "joining", 10, distortion=True, **terms)
    report = summarise(compare(scenario, ["lru"], runs=2))
    assert report["drop"] == 0.3
    expected = []
    for run in range(2):
        trace = source.trace("joining", 2 + run)
        first = 2 * scenario.warm_up
        found = tally(trace, "lru", 10, first=first, **terms | {"seed": 2 + run})
        expected.append(Distortion.between(exact_tally(trace, within=50, first=first), found))
    got = report["policies"][0]["distortion"]
    assert got["sse"]["mean"] == pytest.approx(sum(each.sse for each in expected) / 2)
    assert got["kl"]["mean"] == pytest.approx(sum(each.kl for each in expected) / 2)
    silent = summarise(compare(Scenario(source, "joining", 10), ["lru"]))
    assert "drop" not in silent
    assert "distortion" not in silent["policies"][0]


def test_dropping_everything_but_a_little_loses_in_the_square():
    # what survives on one side meets what survives on the other
    source = Generated("zipf:alpha=0,pareto=none", 5000)
    scenario = Scenario(source, "joining", 300, within=100, warmup=0, drop=0.5)
    recall = summarise(compare(scenario, ["lru"]))["policies"][0]["recall"]["mean"]
    assert recall == pytest.approx(0.25, abs=0.02)


def test_of_nothing_nothing_is_missed():
    scenario = Scenario(Generated("walk", 10), "joining", 2, within=0, warmup=0)
    report = summarise(compare(scenario, ["lru"], runs=1))
    assert report["policies"][0]["full"]["mean"] == 0
    assert report["policies"][0]["recall"]["mean"] == 1.0
    assert report["policies"][0]["results"] == {"mean": 0.0, "std": 0.0}
