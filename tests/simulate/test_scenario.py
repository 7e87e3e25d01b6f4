import pytest

from penstock.errors import BadInput
from penstock.simulate.scenario import Scenario, TraceFile
from penstock.simulate.workloads import Generated

TOWER = Generated("tower", 100)


def test_a_workload_warms_up_for_four_times_the_memory():
    scenario = Scenario(TOWER, "joining", 10)
    assert scenario.warm_up == 40
    assert scenario.first_row(scenario.trace(0)) == 80  # a step has two rows


def test_steps_of_a_sequential_workload_have_two_rows_too():
    scenario = Scenario(Generated("zipf", 100), "joining", 10, warmup=7)
    trace = scenario.trace(0)
    first = scenario.first_row(trace)
    assert first == 14
    assert trace.time[first - 1] < 7 <= trace.time[first]


def test_a_step_has_a_row_of_every_stream():
    scenario = Scenario(Generated("gdj:streams=4", 100), "joining", 10, warmup=7)
    assert scenario.first_row(scenario.trace(0)) == 28


def test_a_step_of_a_cache_is_one_reference():
    scenario = Scenario(TOWER, "caching", 10)
    assert scenario.first_row(scenario.trace(0)) == 40


def test_a_trace_counts_from_its_start_and_in_rows(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("key,side\n1,0\n1,1\n1,0\n")
    scenario = Scenario(TraceFile(str(file)), "joining", 10)
    assert scenario.warm_up == 0
    later = Scenario(TraceFile(str(file)), "joining", 10, warmup=2)
    assert later.first_row(later.trace(0)) == 2
    with pytest.raises(BadInput, match="warmup must be below the length of 3, got 3; give"):
        Scenario(TraceFile(str(file)), "joining", 10, warmup=3).trace(0)


def test_runs_have_seeds_of_their_own():
    a, b = Scenario(TOWER, "joining", 5, seed=3), Scenario(TOWER, "joining", 5, seed=4)
    assert a.trace(1).key.tolist() == b.trace(0).key.tolist()
    assert a.trace(0).key.tolist() != b.trace(0).key.tolist()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"memory": 0}, "memory must be .* at least 1, got 0"),
        ({"warmup": -1}, "warmup must be .* at least 0, got -1"),
        ({"warmup": 100}, "warmup must be below the length of 100, got 100; give"),
        ({"memory": 25}, r"warmup must be below the length of 100, got 100 \(4 x memory\)"),
        ({"within": -1}, "within must be at least 0, got -1"),
        ({"seed": -1}, "seed must be .* at least 0, got -1"),
        ({"layout": "splt"}, "unknown layout 'splt'; did you mean 'split'"),
        ({"problem": "join"}, "unknown problem 'join'; did you mean 'joining'"),
        ({"problem": "caching", "within": 3}, "a cache has no window"),
        ({"problem": "caching", "layout": "split"}, "a cache has one memory"),
        ({"problem": "caching", "drop": 0.1}, "a cache has no join results to sample"),
        ({"problem": "caching", "distortion": True}, "a cache has no join results to sample"),
        ({"drop": -0.1}, "drop must be from 0 to below 1, got -0.1"),
        ({"drop": 1.0}, "drop must be from 0 to below 1, got 1.0"),
        ({"source": Generated("tower:k=1")}, "unknown parameter 'k' of workload 'tower'; it has"),
        ({"source": Generated("zipf:alfa=1")}, "unknown parameter 'alfa'.*did you mean 'alpha'"),
        (
            {"source": Generated("gdj:streams=3"), "problem": "caching"},
            "unknown parameter 'streams' of workload 'gdj'",
        ),
    ],
)
def test_nonsense_is_refused(options, complaint):
    with pytest.raises(BadInput, match=complaint):
        Scenario(**{"source": TOWER, "problem": "joining", "memory": 1} | options)


def test_the_bounds_themselves_are_fine():
    Scenario(TOWER, "joining", 1, within=0, warmup=0, seed=0)
    Scenario(TOWER, "joining", 24)
    Scenario(TOWER, "joining", 1, warmup=99)
    Scenario(TOWER, "joining", 1, drop=0.0)
    Scenario(TOWER, "joining", 1, drop=0.999)
