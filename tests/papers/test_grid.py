import pytest

from papers.grid import cut, simulate_cell, sweep
from papers.pool import Pool
from penstock.errors import BadInput
from penstock.simulate.comparison import compare
from penstock.simulate.scenario import Scenario
from penstock.simulate.workloads import Generated
from tests.papers.work import die_once, double


@pytest.fixture(scope="module")
def pool():
    with Pool(workers=2) as workers:
        yield workers


def test_found_is_in_the_order_of_the_cells(pool):
    cells = [{"x": x} for x in (5, 1, 4, 1, 3) * 9]
    assert [each["twice"] for each in sweep(double, cells, pool=pool)] == [10, 2, 8, 2, 6] * 9


def test_what_is_done_is_not_done_again(tmp_path):
    log = tmp_path / "log"
    cells = [{"x": x, "log": str(log)} for x in range(6)]
    told = []
    sweep(double, cells[:4], folder=tmp_path, pool=Pool(1))
    found = sweep(
        double, cells, folder=tmp_path, pool=Pool(1), progress=lambda *now: told.append(now)
    )
    assert [each["twice"] for each in found] == [0, 2, 4, 6, 8, 10]
    assert log.read_text().split() == ["0", "1", "2", "3", "4", "5"]
    assert (told[0], told[-1]) == ((4, 6), (6, 6))


def test_equal_cells_are_done_once(tmp_path):
    cells = [{"x": 7, "log": str(tmp_path / "log")}] * 3
    assert sweep(double, cells, pool=Pool(1)) == [{"twice": 14}] * 3
    assert (tmp_path / "log").read_text() == "7\n"


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_missing(tmp_path):
    cells = [{"x": x, "mark": str(tmp_path / "mark")} for x in range(12)]
    with Pool(workers=2) as pool:
        found = sweep(die_once, cells, folder=tmp_path, pool=pool)
    assert (tmp_path / "mark").exists()
    assert [each["twice"] for each in found] == [2 * x for x in range(12)]


def test_an_error_comes_through_and_what_was_done_before_it_stays(tmp_path):
    cells = [{"x": 1}, {"x": -1}]
    with pytest.raises(BadInput, match="x must be at least 0, got -1"):
        sweep(double, cells, folder=tmp_path, pool=Pool(1))
    assert len((tmp_path / "cells.jsonl").read_text().splitlines()) == 1


def test_no_part_is_lost_or_too_large():
    for count in (0, 1, 15, 16, 17, 1000):
        parts = cut(list(range(count)), workers=2)
        assert [each for part in parts for each in part] == list(range(count))
        assert max(map(len, parts), default=0) <= 16


def test_a_cell_is_what_a_comparison_makes_of_it():
    made = compare(Scenario(Generated("roof", length=300), "joining", 5), ["prob", "opt"], runs=2)
    for run_number, each in enumerate(made.runs):
        for place, policy in enumerate(("prob", "opt")):
            cell = {"workload": "roof", "length": 300, "memory": 5, "policy": policy}
            found = simulate_cell(cell | {"run": run_number})
            assert found["results"] == each[place].played.results
            assert found["full"] == each[place].full


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ({"workload": "tower", "memory": 5}, "must name its policy"),
        ({"workload": "tower", "memory": 5, "policy": "rand", "memroy": 1}, "mean 'memory'"),
        ({"memory": 5, "policy": "rand"}, "nothing to replay"),
    ],
)
def test_a_cell_that_makes_no_sense_is_refused(cell, said):
    with pytest.raises(BadInput, match=said):
        simulate_cell(cell)
