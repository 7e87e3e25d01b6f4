"""Pages as text: whole, escaped, and in need of nothing else."""

import re

import pytest

from bench import measured
from papers.experiments import html as papers
from penstock import BadInput
from penstock.report import advice_page, where_to_write
from penstock.report import comparison_page as comparison
from tests.report.checker import Checker
from tests.report.made import advice, experiment

REPORT = {
    "workload": "zipf<i>",
    "problem": "joining",
    "memory": 20,
    "length": 5000,
    "warmup": 80,
    "runs": 2,
    "policies": [
        {
            "policy": name,
            "params": {},
            "results": {"mean": 50.0, "std": 1.0},
            "full": {"mean": 100.0},
            "recall": {"mean": recall},
            "tuples_per_second": 7,
        }
        for name, recall in (("lru", 0.5), ("prob", 0.7), ("opt", 0.9))
    ],
}


def check(html: str) -> Checker:
    checker = Checker()
    checker.feed(re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL))
    assert checker.open == []
    inside = ("#", "data:image/png;base64,")
    assert all(point.startswith(inside) for point in checker.points)
    assert not {"link", "iframe"} & set(checker.tags)
    assert set(re.findall(r"https?://[^\"'<> ]+", html)) <= {"http://www.w3.org/2000/svg"}
    return checker


@pytest.mark.parametrize("problem", ["joining", "caching"])
@pytest.mark.parametrize("whole", [True, False])
def test_advice_is_whole_and_needs_nothing_else(problem, whole):
    html = advice_page.as_html(advice(problem, whole=whole))
    check(html)
    assert "<b>views" not in html
    assert "The data is short." in html
    assert ("exact for this data" in html) == whole


def test_without_a_script_there_are_the_answer_and_a_table():
    made = advice()
    html = re.sub(r"<script.*?</script>", "", advice_page.as_html(made), flags=re.DOTALL)
    assert f"{made.answer.rows:,} rows" in html
    assert "95.0%" in html


@pytest.mark.parametrize("goal", ["pairs", "rows"])
def test_advice_for_a_join_draws_both_measures(goal):
    made = advice(goal=goal, both=True, hot=0.7, target=0.8)
    html = advice_page.as_html(made)
    checker = check(html)
    assert "Ten keys make 70% of all results" in html
    assert ("--goal rows" in html) == (goal == "pairs")
    assert checker.tags.count("h3") == 2
    first, second = html.index("<h3>Recall of pairs"), html.index("<h3>Rows matched")
    assert (first < second) == (goal == "pairs")
    assert html.count("<caption>") == 2
    assert "Ten keys" not in advice_page.as_html(advice(both=True, hot=0.5))


def test_a_comparison_of_joins_tells_rows_matched_too():
    shares = {"lru": 0.8, "prob": 0.6, "opt": None}
    scores = [
        each
        if (share := shares[each["policy"]]) is None
        else each | {"matched": {"mean": 200 * share, "full": 200.0, "recall": share}}
        for each in REPORT["policies"]
    ]
    html = comparison.as_html(REPORT | {"policies": scores})
    check(html)
    assert "prob finds the most: 70.0% of the 100 results" in html
    assert "It matches 60.0% of the 200 rows that have a partner." in html
    assert "80.00%" in html
    html = comparison.as_html(REPORT | {"policies": scores[:2], "goal": "rows"})
    assert "lru matches the most rows: 80.0% of the 200 rows" in html
    assert html.index(">lru<") < html.index(">prob<")
    assert "rows matched" not in comparison.as_html(REPORT).lower()


def test_a_comparison_names_the_best_policy_without_hindsight():
    html = comparison.as_html(REPORT)
    check(html)
    assert "prob finds the most: 70.0% of the 100 results" in html
    assert html.index(">opt<") < html.index(">prob<") < html.index(">lru<")
    assert "zipf<i>" not in html


def test_papers_have_every_figure_and_every_verdict(tmp_path):
    cited = {"HEEB": "Some & others", "GDJ": "none of it"}
    html = papers.as_html([experiment(tmp_path)], cited, ["One claim <holds>."], tmp_path)
    checker = check(html)
    assert checker.tags.count("img") == 1
    for said in ("One claim &lt;holds&gt;.", "Some &amp; others.", "a &lt; b &amp; c", "no sun",
                 "Figure 99: nothing &lt;b&gt;much", "small version"):  # fmt: skip
        assert said in html
    assert re.findall(r'class="verdict (\w+)"', html) == ["good", "partly", "bad"]
    assert re.findall(r'<td class="value">(\d)</td>', html) == ["1"] * 3 + ["0"] * 3
    assert "none of it" not in html  # no experiment, no heading


def test_what_was_measured_is_one_table_for_each_part():
    parts = [measured.Measured(f"part {n}", ["who", "rows/s"], [["<we>", "7"]]) for n in range(2)]
    checker = check(measured.as_html("Joins", "a < b", parts))
    assert checker.tags.count("table") == 2


def test_a_comparison_names_the_policy_in_force_at_the_end_of_auto():
    told = {"in_force": "lba", "why": "it found 3 % <more>", "scores": {"lba": 1.0, "prob": 0.97}}
    auto = REPORT["policies"][0] | {"policy": "auto", "explained": told}
    html = comparison.as_html(REPORT | {"policies": [*REPORT["policies"], auto]})
    check(html)
    assert "auto ended with lba: it found 3 % &lt;more&gt;." in html
    assert "lba 100.0%, prob 97.0%" in html
    assert "auto ended" not in comparison.as_html(REPORT)


def test_refuses_a_place_it_cannot_write_to(tmp_path):
    assert where_to_write(tmp_path / "a.html") == tmp_path / "a.html"
    with pytest.raises(BadInput, match="--html must be a file"):
        where_to_write(tmp_path)
