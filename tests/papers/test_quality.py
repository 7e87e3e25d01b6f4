"""Cells, what they say together, and what is left in a folder."""

import json

import pytest
from typer.testing import CliRunner

from papers.program import app
from papers.quality import bench, page, plan
from papers.quality import cell as cells
from papers.quality.cell import BEST, FULL, OPTIMUM, first_row, memory_of, quality_cell
from papers.quality.streams import Arriving, arriving
from papers.quality.summary import Quality, Share, gather
from penstock.engine import Join
from penstock.simulate.optimum import lfd, most_results
from penstock.simulate.traces import JoinTrace, LookupTrace
from tests.marks import long

JOIN = {"stream": "join: zipf", "steps": 400, "share": 0.1, "layout": "unified"}
CACHE = {"stream": "cache: zipf", "steps": 400, "share": 0.1, "layout": "unified"}


def test_a_join_is_counted_as_a_whole_and_later():
    (trace, within), found = arriving("join: zipf", 400), quality_cell(JOIN | {"policy": "fifo"})
    assert (found["rows"], found["first"]) == (800, 400)  # ten windows are longer: half of it
    join, results = Join("fifo", found["memory"], within=within), []
    for part in (slice(0, 400), slice(400, None)):
        join.push(trace.side[part], trace.key[part], trace.time[part], emit=False)
        results.append(join.results)
    assert (found["whole"], found["after"]) == (results[1], results[1] - results[0])


def test_the_best_of_a_join_is_the_optimum_or_if_it_is_long_all_results(monkeypatch):
    (trace, within), found = arriving("join: zipf", 400), quality_cell(JOIN | {"policy": BEST})
    rows = (trace.side, trace.key, trace.time, trace.time + within)
    assert found["of"] == OPTIMUM
    assert found["whole"] == most_results(*rows, budget=found["memory"])
    assert found["after"] == most_results(*rows, budget=found["memory"], first=found["first"])
    monkeypatch.setattr(cells, "MOST_ROWS", 799)
    longer = quality_cell(JOIN | {"policy": BEST})
    full = Join("fifo", None, within=within)
    full.push(*rows[:3], emit=False)
    assert (longer["of"], longer["whole"]) == (FULL, full.results)
    assert found["whole"] < longer["whole"]


def test_the_best_of_a_cache_is_lfd():
    found = quality_cell(CACHE | {"policy": BEST})
    keys = arriving("cache: zipf", 400).trace.key
    assert (found["of"], found["first"]) == (OPTIMUM, 10 * found["memory"])
    assert found["whole"] == lfd(keys, found["memory"]).sum()


def test_a_memory_is_a_share_of_the_live_rows():
    once = JoinTrace([0, 1] * 50, range(100), range(100))
    assert memory_of(Arriving(once, 9), 1.0) == 10  # 1, 2, ... 10, 10, ...: 9.55 on average
    assert memory_of(Arriving(once, 9), 0.5) == 5
    assert memory_of(Arriving(once, 9), 0.01) == 2  # one for each stream
    assert memory_of(Arriving(LookupTrace([1, 2, 3, 4, 1, 1])), 0.5) == 2


def test_the_later_part_begins_after_ten_windows_but_not_after_half():
    once = JoinTrace([0, 1] * 50, range(100), range(100))
    assert first_row(Arriving(once, 3), 2) == 30
    assert first_row(Arriving(once, 9), 2) == 50
    dying = JoinTrace([0, 1] * 50, range(100), range(100), end=range(2, 102))
    assert first_row(Arriving(dying), 2) == 20
    assert first_row(Arriving(LookupTrace(range(100))), 3) == 30


def share(policy, whole, after=0.5, stream="join: zipf", memory=0.1, layout="unified"):
    return Share(stream, memory, 40, policy, layout, OPTIMUM, whole, after)


SHARES = [
    share("lru", 0.2),
    share("lru", 0.4, layout="split"),
    share("prob", 0.3, after=0.6),
    share("auto", 0.5),
    share("lru", 0.8, memory=0.5),
    share("prob", 0.4, memory=0.5),
    share("lfu", 0.0, stream="cache: zipf"),
]


def test_standings_are_against_the_best_fixed_configuration():
    found = Quality(SHARES, {}, quick=False)
    by_name = {each.configuration: each for each in found.standings("whole", caching=False)}
    assert list(by_name) == ["auto", "lru, split", "lru", "prob"]
    assert by_name["auto"].mean == pytest.approx(1.25)
    assert by_name["prob"].mean == pytest.approx((0.75 + 0.5) / 2)
    assert by_name["prob"][3:5] == (0.5, "zipf, 50%")
    assert (by_name["lru"].wins, by_name["lru"].streams) == (1, 2)
    assert found.best("after")["join: zipf", 0.1].policy == "prob"
    (nothing,) = found.standings("whole", caching=True)
    assert nothing.mean == 1  # of nothing, nothing was missed


def test_the_page_says_what_is_missing_and_what_is_best():
    said = page.text(Quality(SHARES, {"join: walk": 7}, quick=True), "some.png")
    assert "Cells that are missing, by stream: join: walk (7)." in said
    assert "small version" in said
    assert "| zipf | 10% (40) | lru, split | 0.400 | the optimum | 1.250 |" in said
    assert "| prob | 0.300 / 0.600 | 0.400 / 0.500 |" in said
    assert "`auto` was not run" not in said
    assert "`auto` was not run" in page.text(Quality(SHARES[:3], {}, quick=False), "some.png")


def test_what_a_folder_knows_counts_and_the_rest_is_missing(tmp_path):
    planned = [JOIN | {"policy": name} for name in (BEST, "lru", "fifo")]
    best = {"whole": 10, "after": 0, "memory": 40, "of": OPTIMUM}
    lines = [
        {"cell": "old", "given": planned[1], "found": {"whole": 1, "after": 0, "memory": 40}},
        {"cell": "a", "given": planned[0], "found": best},
        {"cell": "b", "given": planned[1], "found": {"whole": 5, "after": 0, "memory": 40}},
    ]
    text = "\n".join(map(json.dumps, lines)) + '\n{"cell": "ha'
    (tmp_path / "cells.jsonl").write_text(text)
    found = gather(tmp_path, planned, quick=False)
    assert (found.shares, found.missing) == ([], {"join: zipf": 1})  # the best is not known
    found = gather(tmp_path, [*planned[:2], JOIN | {"policy": "auto"}], quick=False)
    assert [(each.policy, each.whole, each.after) for each in found.shares] == [("lru", 0.5, 1.0)]
    assert found.missing == {"join: zipf": 1}


@long
def test_the_command_leaves_a_table_a_figure_and_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "FEW_STEPS", 200)
    monkeypatch.setattr(bench, "everything", lambda: [plan_stream("join: zipf")])
    monkeypatch.setattr(plan, "contenders", lambda stream: ["fifo", "auto"])
    options = ["--quick", "--policy", "fifo", "--policy", BEST, "--out", str(tmp_path), "--json"]
    result = CliRunner().invoke(app, ["quality", *options])
    assert (result.exit_code, result.stderr) == (0, "")
    made = json.loads(result.stdout)
    assert [each["policy"] for each in made["shares"]] == ["fifo", "fifo"]
    assert made["missing"] == {"join: zipf": 2}
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"cells", "quality.csv", "quality.png", "which-policy.md"}


def plan_stream(name):
    from papers.quality import everything

    return next(stream for stream in everything() if stream.name == name)


@pytest.mark.parametrize(("option", "value"), [("--stream", "towr"), ("--policy", "atuo")])
def test_what_is_not_there_is_refused(option, value, tmp_path):
    command = ["quality", "--quick", "--out", str(tmp_path / "out"), option, value]
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 2
    assert f"there is no {option[2:]} {value!r} here" in told.output
    assert not (tmp_path / "out").exists()
