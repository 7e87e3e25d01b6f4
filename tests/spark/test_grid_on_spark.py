"""A grid on Spark: the same as on this machine, whatever happens on the way."""

import json

import pytest

from papers import grid
from papers.grid import simulate_cell
from papers.grid_on_spark import _cut, grid_frame, sweep
from penstock.errors import BadInput
from tests.papers.work import die_once, double

pytestmark = pytest.mark.spark


def test_the_same_as_here(spark, tmp_path):
    cells = grid.product(
        workload=["tower", "zipf"], length=200, run=range(3), memory=[3, 8], policy=["rand", "prob"]
    )
    told = []
    there = sweep(spark, cells, folder=tmp_path, progress=lambda *now: told.append(now))
    here = grid.sweep(simulate_cell, cells, pool=grid.Pool(1))
    for each in (*there, *here):
        del each["seconds"]
    assert there == here
    assert told[-1] == (24, 24)


def test_more_jobs_than_run_at_once(spark, monkeypatch):
    monkeypatch.setattr("papers.grid_on_spark.SMALLEST", 1)
    cells = [{"x": x} for x in range(24)]
    found = sweep(spark, cells, work=double)
    assert [each["twice"] for each in found] == list(range(0, 48, 2))


def test_a_frame_has_a_row_for_each_cell(spark):
    cells = [{"x": 1}, {"x": -1}]
    rows = {
        json.loads(row["given"])["x"]: row for row in grid_frame(spark, cells, double).collect()
    }
    assert json.loads(rows[1]["found"]) == {"twice": 2}
    assert rows[1]["cell"] == grid.key_of(double, cells[0])
    assert (rows[-1]["found"], "x must be at least 0" in rows[-1]["error"]) == (None, True)


def test_what_is_done_is_not_done_again_neither_here_nor_there(spark, tmp_path):
    log = tmp_path / "log"
    cells = [{"x": x, "log": str(log)} for x in range(40)]
    grid.sweep(double, cells[:10], folder=tmp_path, pool=grid.Pool(1))
    sweep(spark, cells[:30], work=double, folder=tmp_path)
    found = sweep(spark, cells, work=double, folder=tmp_path)
    assert [each["twice"] for each in found] == list(range(0, 80, 2))
    assert sorted(map(int, log.read_text().split())) == list(range(40))


def test_a_lost_worker_loses_nothing(spark, tmp_path):
    cells = [{"x": x, "mark": str(tmp_path / "mark")} for x in range(20)]
    found = sweep(spark, cells, work=die_once)
    assert (tmp_path / "mark").exists()
    assert [each["twice"] for each in found] == list(range(0, 40, 2))


def test_a_cell_that_is_refused_is_reported_at_once(spark):
    with pytest.raises(BadInput, match=r"x must be at least 0, got -1.*in the cell"):
        sweep(spark, [{"x": 1}, {"x": -1}], work=double)


def test_jobs_hold_all_cells():
    for count in (0, 1, 100, 5000, 200_000):
        parts = _cut(list(range(count)), width=2)
        assert sum(map(len, parts)) == count
        assert max(map(len, parts), default=0) <= 2 * 4096
