"""Advice for arrays and for files, and what it says where the data is not enough."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from penstock import BadInput
from penstock.advisor import advise_join, advise_lookup
from penstock.advisor.words import few_keys, headline, overview
from penstock.cli import app
from penstock.cli.output import show_made
from penstock.engine import Join
from penstock.policies import tried_by_advise
from penstock.simulate.optimum import first_matches

POLICIES = ("fifo", "lru", "prob")


def streams(rows=12_000, keys=400, seed=1):
    random = np.random.default_rng(seed)
    key = (keys * random.random(rows) ** 3).astype(np.int64)
    return (np.arange(rows) % 2).astype(np.int8), key, np.arange(rows)


def advise(side, key, time, within=1000, **options):
    return advise_join(side, key, time, within, **{"tried": POLICIES} | options)


@pytest.fixture(scope="module")
def made():
    return advise(*streams(), target=0.8, payload=1000)


def test_the_answer_holds_what_it_promises(made):
    side, key, time = streams()
    answer = made.answer
    join = Join(answer.policy, answer.rows, within=1000)
    join.push(side, key, time, emit=False)
    full = made.sampled["results"]
    assert join.results / full == pytest.approx(0.8, abs=0.01)
    assert answer.policy == "prob"
    for other in (made.half, made.double):
        join = Join(other.policy, other.rows, within=1000)
        join.push(side, key, time, emit=False)
        assert join.results / full == pytest.approx(other.share, abs=0.03)
    assert made.half.share < answer.share < made.double.share


@pytest.mark.parametrize("target", [0.1, 0.33, 0.5, 0.77, 0.8, 0.95])
def test_the_answer_is_not_less_than_the_target(made, target):
    assert replace(made, target=target).answer.share >= target - 1e-9


def test_no_other_policy_needs_less(made):
    needs = [made.bytes_of(each.policy, each.rows_for(made.target)) for each in made.curves]
    assert min(needs) == needs[0]


def test_what_a_policy_remembers_counts():
    # prob needs fewer rows than lru; beside each it keeps counts of four keys.
    small, large = (advise(*streams(), target=0.8, payload=each) for each in (8, 1000))
    assert (small.answer.policy, large.answer.policy) == ("lru", "prob")
    assert large.answer.rows < small.answer.rows


def test_a_budget_that_gains_nothing_is_said_plainly():
    # prob remembers more than it saves: it would need most of the window, at twice the bytes.
    side, key, time = streams()
    for target, tried in ((0.99, ("fifo",)), (0.97, ("prob",))):
        made = advise(side, key, time, target=target, tried=tried, payload=0)
        assert made.budget is None
        assert "budget=None" in made.code
        assert headline(made).startswith("A budget gains nothing here: for a recall of")
        assert headline(made).endswith("Leave it out, and the join is exact.")
    assert "which take" in headline(made)


def test_json_has_everything(made):
    report = json.loads(json.dumps(made.to_json(), allow_nan=False))
    assert report["exact"]["rows"] == report["spark"]["rows"] == 1001
    assert report["spark"]["bytes"] > report["exact"]["bytes"] > report["answer"]["bytes"]
    assert report["answer"]["rows"] == made.answer.rows
    assert f"budget={made.answer.rows}" in report["code"].replace("_", "")
    assert {curve["policy"] for curve in report["curves"]} == set(POLICIES)
    assert report["streams"]["rows"] == [6000, 6000]


def test_both_measures_are_reported_whatever_the_goal(made):
    side, key, time = streams()
    rows = advise(side, key, time, target=0.8, goal="rows")
    matchable = (first_matches(side, key, time, time + 1000) < len(key)).sum()
    for each, goal in ((made, "pairs"), (rows, "rows")):
        report = each.to_json()
        assert report["goal"] == goal
        assert 0 < report["streams"]["hot_pairs"] < 1
        answer = each.answer
        assert answer.share == (answer.row_recall if goal == "rows" else answer.recall)
        join = Join(answer.policy, answer.rows, within=1000, goal=goal)
        join.push(side, key, time, emit=False)
        assert join.results / each.sampled["results"] == pytest.approx(answer.recall, abs=0.02)
        assert join.rows_matched / matchable == pytest.approx(answer.row_recall, abs=0.02)
        for curve in report["curves"]:
            assert curve["share"] == curve["row_recall" if goal == "rows" else "recall"]
            assert len(curve["recall"]) == len(curve["row_recall"]) == len(curve["rows"])
    assert rows.answer.row_recall == pytest.approx(0.8, abs=0.01)
    assert rows.best.at(made.answer.rows).share > 1.5 * made.answer.row_recall
    assert "goal='rows'" in rows.code
    assert "goal" not in made.code


def test_a_few_keys_that_make_most_results_are_reported(made):
    side, key, _ = streams()
    left, right = (np.bincount(key[side == each], minlength=400) for each in (0, 1))
    pairs = np.sort(left * right)[::-1]  # without a window, which leaves the shares about the same
    assert made.hot_pairs == pytest.approx(pairs[:10].sum() / pairs.sum(), abs=0.02)
    assert f"Ten keys make {made.hot_pairs:.0%} of all results" in few_keys(made)
    assert "goal='rows'" in few_keys(made)
    assert "goal='rows'" not in few_keys(replace(made, counted="rows"))
    assert few_keys(replace(made, hot_pairs=0.5)) == ""


@pytest.mark.parametrize("problem", ["joining", "caching"])
def test_rate_and_auto_are_tried(problem):
    assert {"rate", "auto"} <= set(tried_by_advise(problem))


@pytest.mark.slow
def test_rate_and_auto_find_what_their_curves_say():
    side, key, time = streams(rows=6000)
    made = advise(side, key, time, target=0.6, tried=("fifo", "rate", "auto"))
    curves = {curve.policy: curve for curve in made.curves}
    for name in ("rate", "auto"):
        join = Join(name, 300, within=1000)
        join.push(side, key, time, emit=False)
        found = join.results / made.sampled["results"]
        said = curves[name].at(300)
        assert said.share == pytest.approx(found, abs=max(0.03, said.error))
        assert said.error < 0.06
    # what is tried beside takes memory too
    assert made.bytes_of("auto", 300) > made.bytes_of("rate", 300)


@pytest.mark.parametrize("goal", ["row", "", None])
def test_a_goal_is_pairs_or_rows(goal):
    with pytest.raises(BadInput, match="goal must be 'pairs' or 'rows', got"):
        advise(*streams(), goal=goal)


def test_all_of_it_is_the_exact_join():
    made = advise(*streams(), target=1.0)
    assert made.exact
    assert "budget=None" in made.code


def test_rows_may_come_in_any_order(made):
    side, key, time = streams()
    mixed = np.random.default_rng(0).permutation(len(key))
    again = advise(side[mixed], key[mixed], time[mixed], target=0.8, payload=1000)
    assert again.to_json() == made.to_json()


@pytest.mark.parametrize("target", [0, -1, 1.01])
def test_a_target_is_a_share(target):
    with pytest.raises(BadInput, match="target must be above 0 and at most 1"):
        advise(*streams(), target=target)


def test_keys_of_one_side_only_never_match():
    side, key, time = streams()
    with pytest.raises(BadInput, match="no key in common"):
        advise(side, np.where(side == 0, key, key + 10_000), time)


def test_a_window_longer_than_the_data():
    with pytest.raises(BadInput, match="window must be shorter than the data"):
        advise(*streams(), within=11_999)
    said = advise(*streams(), within=6000).said
    assert any("spans only 2.0 windows" in each for each in said)


def test_too_little_to_say_anything():
    with pytest.raises(BadInput, match="at least 200 results to say anything about memory, got"):
        advise(*streams(rows=400, keys=2000), within=50)


def test_one_side_alone():
    side, key, time = streams()
    with pytest.raises(BadInput, match="one has none"):
        advise(np.zeros_like(side), key, time)


def test_without_a_window_it_says_what_that_means():
    made = advise(*streams(), within=None)
    assert made.streams.peak == 12_000
    assert "rows never leave" in made.said[0]


def test_a_cache_whose_target_no_memory_reaches():
    _, key, _ = streams()
    made = advise_lookup(key, target=0.99, tried=("lru", "fifo"))
    most = 1 - len(np.unique(key)) / len(key)
    assert not made.reached
    assert made.goal == pytest.approx(0.99 * most)
    assert "no memory reaches a hit ratio of 99%" in made.said[0]
    reachable = advise_lookup(key, target=0.8, tried=("lru", "fifo"))
    assert reachable.reached
    assert reachable.said == []


def test_a_cache_of_keys_that_come_once():
    with pytest.raises(BadInput, match="every key of events comes once"):
        advise_lookup(np.arange(1000))


# ---------------------------------------------------------------- the command


def call(*arguments):
    return CliRunner().invoke(app, ["advise", *map(str, arguments)])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    side, key, time = streams()
    for number, name in enumerate(("views", "clicks")):
        mine = side == number
        lines = [f"u{k},{t}" for k, t in zip(key[mine], time[mine], strict=True)]
        (folder / f"{name}.csv").write_text("who,at\n" + "\n".join(lines) + "\n")
    return folder / "views.csv", folder / "clicks.csv"


QUICK = ["--policy", "prob", "--policy", "fifo"]


def test_files_as_json_and_as_a_page(files, tmp_path):
    page = tmp_path / "advice.html"
    result = call(
        *files, "--on", "who", "--time", "at", "--within", 1000, *QUICK, "--json", "--html", page
    )
    assert (result.exit_code, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    assert report["name"] == "views.csv and clicks.csv"
    assert report["answer"]["policy"] == "prob"
    assert report["code"].startswith("Join(policy='prob', budget=")
    assert "<svg" not in page.read_text().partition("<script")[0]
    assert "Memory for views.csv and clicks.csv" in page.read_text()


def timestamps(folder, ending, mixed=False):
    """Write both streams with timestamps, a row a second, perhaps in random order."""
    side, key, time = streams()
    order = np.random.default_rng(2).permutation(len(key)) if mixed else np.arange(len(key))
    stamps = np.datetime64("2026-01-01T00:00:00") + time.astype("timedelta64[s]")
    for number, name in enumerate(("views", "clicks")):
        mine = order[side[order] == number]
        rows = [{"who": f"u{key[i]}", "at": f"{stamps[i]}Z"} for i in mine]
        lines = [json.dumps(row) for row in rows]
        if ending == "csv":
            lines = ["who,at", *(",".join(row.values()) for row in rows)]
        (folder / f"{name}.{ending}").write_text("\n".join(lines) + "\n")
    return folder / f"views.{ending}", folder / f"clicks.{ending}"


def test_json_and_unsorted_files_say_the_same(tmp_path):
    terms = ["--on", "who", "--time", "at", "--within", "1000 seconds", *QUICK, "--json"]
    reports = []
    for ending, mixed in (("csv", False), ("csv", True), ("jsonl", True)):
        result = call(*timestamps(tmp_path, ending, mixed), *terms, "--delay", "5 seconds")
        assert (result.exit_code, result.stderr) == (0, "")
        reports.append(json.loads(result.stdout))
    first, mixed, as_json = reports
    assert mixed == first
    assert as_json["curves"] == first["curves"]
    assert as_json["streams"]["row_bytes"] > first["streams"]["row_bytes"]
    call_to_paste = (
        "join(left, right, on='who', time='at', within='1000 seconds', delay='5 seconds', "
    )
    assert first["code"].startswith(call_to_paste)


def test_times_are_in_seconds(tmp_path):
    files = timestamps(tmp_path, "csv")
    result = call(*files, "--on", "who", "--time", "at", "--within", "4 hours", *QUICK)
    assert "got within 4 hours and times that span 3 hours 19 minutes 59 seconds" in result.stderr


def test_references_of_an_unsorted_file(tmp_path):
    lines = [json.dumps({"k": i * i % 97, "t": i}) for i in range(2000)]
    terms = ["--lookup", "--on", "k", "--time", "t", "--policy", "lru", "--json"]
    reports = []
    for order in (lines, lines[::-1]):
        (tmp_path / "events.json").write_text("\n".join(order))
        result = call(tmp_path / "events.json", *terms)
        assert (result.exit_code, result.stderr) == (0, "")
        reports.append(json.loads(result.stdout))
    assert reports[0] == reports[1]


@pytest.mark.parametrize("peak", [1_000, 123_456_789])
def test_tables_fit_a_terminal_and_cut_no_number(made, peak, capsys, monkeypatch):
    grown = [replace(each, rows=each.rows * peak // 1000, beside=None) for each in made.curves]
    made = replace(made, streams=replace(made.streams, call="join(" + 90 * "a" + ")"), curves=grown)
    monkeypatch.setenv("COLUMNS", "80")
    show_made(*overview(made))
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert made.code in lines  # can be copied as it is, whatever its length
    assert max(len(line) for line in lines if line != made.code) <= 80
    assert "…" not in said
    assert f"{grown[0].rows[-1]:,}" in said


def test_people_get_the_answer_first(files):
    result = call(*files, "--on", "who", "--time", "at", "--within", 1000, *QUICK)
    assert result.exit_code == 0
    assert result.stdout.startswith("For a recall of 95.0% hold")
    assert "Spark's own join" in result.stdout
    assert "recall of pairs, of all results" in result.stdout
    assert "rows matched, of the rows that have a partner" in result.stdout


def test_rows_can_be_what_counts(files):
    terms = ["--on", "who", "--time", "at", "--within", 1000, *QUICK, "--goal", "rows"]
    result = call(*files, *terms, "--target", 0.8)
    assert result.stdout.startswith("For 80.0% of the rows that have a partner hold")
    report = json.loads(call(*files, *terms, "--json").stdout)
    assert report["goal"] == "rows"
    assert report["code"].endswith("within=1000, goal='rows')")


def test_events_that_look_rows_up(files):
    result = call(files[0], "--lookup", "--on", "who", "--target", 0.5, "--policy", "lru", "--json")
    report = json.loads(result.stdout)
    assert report["problem"] == "caching"
    assert report["code"].startswith("lookup(events, relation, on='who', budget=")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--within", "10s"], "within must be a plain number"),
        (["--within", "soon"], "within must"),
        (["--within", "20000"], "the window must be shorter than the data"),
        (["--within", "5", "--target", "2"], "target must be above 0 and at most 1, got 2.0"),
        (["--within", "5", "--policy", "pro"], "unknown policy 'pro'"),
        (["--within", "5", "--html", "/no/where.html"], "--html must be a file"),
        (["--lookup"], "--lookup takes one file of events, got 2"),
        (["--within", "5", "--goal", "clicks"], "goal must be 'pairs' or 'rows', got 'clicks'"),
    ],
)
def test_one_sentence_and_exit_code_2(files, options, said):
    result = call(*files, "--on", "who", "--time", "at", *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        ("k,t\na,1\n", "k,t\n1,1\n", "must be of one type in both files, got string"),
        ("k,t\na,1\n", "k,t\na,2026-01-01\n", "times must be of one kind in both files"),
        ("k,t\na,1\n", "k,t\nb,9\n", "no key in common"),
        ("k,t\na,1\n", "k,t\n,9\n", "must hold values, got nothing but gaps"),
        ("k,t\na,1\n", "q,t\nb,9\n", "has no column 'k' for the key; choose one with --on."),
    ],
)
def test_files_that_do_not_fit(tmp_path, left, right, said):
    paths = tmp_path / "left.csv", tmp_path / "right.csv"
    for path, text in zip(paths, (left, right), strict=True):
        path.write_text(text)
    result = call(*paths, "--on", "k", "--time", "t", "--within", 3)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_cache_has_no_rows_to_match(files):
    result = call(files[0], "--lookup", "--on", "who", "--goal", "rows")
    assert result.exit_code == 2
    assert "a cache has hits, and no rows to match" in result.stderr


def test_one_file_is_no_join(files):
    result = call(files[0], "--on", "who")
    assert (
        "a join takes two files, got 1; for a cache of one file's keys add --lookup"
        in result.stderr
    )
