"""Simulations tell rows matched beside results, and can be played for either."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from penstock.cli import app
from penstock.errors import BadInput
from penstock.simulate.comparison import compare, summarise
from penstock.simulate.optimum import full_matched
from penstock.simulate.player import play
from penstock.simulate.scenario import Scenario
from penstock.simulate.skewed import zipf
from penstock.simulate.traces import JoinTrace
from penstock.simulate.workloads import Generated


def test_rows_that_match_are_counted_once_each():
    # rows 0 and 1 match row 2, and row 0 row 4 once more; row 3 is alone
    trace = JoinTrace([0, 0, 1, 1, 1], [7, 7, 7, 8, 7], range(5))
    assert full_matched(trace, None, 0) == 4
    played = play(trace, "fifo", 5)
    assert (played.results, played.matched) == (4, 4)


def test_what_matched_in_the_warm_up_is_not_counted():
    # row 2 is matched at row 2, rows 0 and 1 too; row 4 at row 4
    trace = JoinTrace([0, 0, 1, 1, 1], [7, 7, 7, 8, 7], range(5))
    assert full_matched(trace, None, 3) == play(trace, "fifo", 5, first=3).matched == 1


@pytest.mark.parametrize("within", [None, 25])
def test_an_exact_budget_matches_all_for_either_goal(within):
    trace = zipf(300, 2)
    for goal in ("pairs", "rows"):
        played = play(trace, "lru", 600, within=within, first=100, goal=goal)
        assert played.matched == full_matched(trace, within, 100) > 0


def test_the_goal_of_rows_matches_more_of_them():
    scenario = Scenario(Generated("zipf", length=1500), "joining", 20, within=400)
    pairs = summarise(compare(scenario, ["prob"]), rows=True)
    rows = summarise(
        compare(Scenario(scenario.source, "joining", 20, within=400, goal="rows"), ["prob"])
    )
    assert "goal" not in pairs
    assert rows["goal"] == "rows"
    before, after = pairs["policies"][0], rows["policies"][0]
    assert before["matched"]["full"] == after["matched"]["full"]
    assert after["matched"]["recall"] > 1.3 * before["matched"]["recall"]
    assert after["recall"]["mean"] < before["recall"]["mean"]
    assert after["matched"]["recall"] == after["matched"]["mean"] / after["matched"]["full"]


def command(*arguments):
    return CliRunner().invoke(app, ["simulate", *map(str, arguments)])


ZIPF = ("--workload", "zipf", "--memory", 20, "--within", 400, "--length", 800, "--policy", "prob")


@pytest.mark.parametrize("goal", ["pairs", "rows"])
def test_table_and_page_tell_both_shares(tmp_path, goal):
    scenario = Scenario(Generated("zipf", length=800), "joining", 20, within=400, goal=goal)
    score = summarise(compare(scenario, ["prob"]), rows=True)["policies"][0]
    page = tmp_path / "page.html"
    result = command(*ZIPF, "--goal", goal, "--html", page)
    assert result.exit_code == 0
    for text in (result.stdout, page.read_text()):
        assert f"{score['recall']['mean']:.2%}" in text
        assert f"{score['matched']['recall']:.2%}" in text
        assert "rows matched" in text
    assert f"{score['matched']['full']:,.0f} rows matched" in " ".join(result.stdout.split())


def test_the_json_object_is_as_promised():
    score = {"policy", "params", "results", "full", "recall", "tuples_per_second"}
    report = json.loads(command(*ZIPF, "--json").stdout)
    assert set(report["policies"][0]) == score
    report = json.loads(command(*ZIPF, "--goal", "rows", "--json").stdout)
    assert set(report["policies"][0]) == score | {"matched"}


def test_hindsight_and_caches_have_no_such_goal():
    with pytest.raises(BadInput, match="'opt' maximises results, not rows"):
        play(zipf(50, 1), "opt", 4, goal="rows")
    with pytest.raises(BadInput, match="a cache has hits, and no rows to match"):
        Scenario(Generated("zipf"), "caching", 10, goal="rows")
    with pytest.raises(BadInput, match="goal"):
        Scenario(Generated("zipf"), "joining", 10, goal="clicks")


def test_hits_are_no_rows():
    report = summarise(
        compare(Scenario(Generated("zipf", length=300), "caching", 10), ["lru", "lfd"]), rows=True
    )
    assert "goal" not in report
    assert all("matched" not in score for score in report["policies"])
    assert np.isfinite(report["policies"][0]["recall"]["mean"])
