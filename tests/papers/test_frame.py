import json

import pytest

from papers import experiments
from papers.experiments import ALL, Experiment, Found, Lab, choose, judge, page, reproduce
from papers.experiments.frame import FAILS, HOLDS, IN_PART, Ratio, beside, ratio
from papers.experiments.lab import Rows
from papers.experiments.runner import missing_data
from penstock.errors import BadInput


def tiny(lab):
    return Found(
        [{"x": 1, "y": 2.0}, {"x": 2, "z": 0.123456789}],
        lambda figure: figure.subplots().plot([1, 2], [lab.pick(3, 4), 1]),
        [judge("it rises", [True], "from 1 to 2 | or so")],
        ["Not in any paper."],
    )


TINY = Experiment("tiny", "HEEB", "figure 99", "nothing much", tiny)


def test_a_claim_holds_in_all_cases_in_part_or_not():
    assert judge("c", {"a": True, "b": True}, "ours").verdict == HOLDS
    assert judge("c", {"a": True, "b": False}, "ours") == ("c", IN_PART, "ours; not: b")
    assert judge("c", {"a": False, "b": False}, "ours") == ("c", FAILS, "ours")
    assert judge("c", iter([False, True]), "ours") == ("c", IN_PART, "ours")
    many = {str(number): number > 9 for number in range(12)}
    assert judge("c", many, "ours").ours == "ours; not: 0, 1, 2, 3, 4, 5, 6, 7 and 2 more"
    with pytest.raises(ValueError, match="nothing is known"):
        judge("c", [], "ours")


def test_a_lead_counts_where_it_is_larger_than_the_difference_of_runs():
    # Differences 1, 2 and 3 over a mean of 10: deviation 0.1, t of two degrees of freedom 9.92.
    found = ratio([11, 12, 13], [10, 10, 10])
    assert found.mean == pytest.approx(1.2)
    assert found.error == pytest.approx(9.92 * 0.1 / 3**0.5, rel=1e-3)
    assert not found.above()
    assert not found.below()
    assert ratio([12.0, 12.1, 11.9], [10, 10, 10]).above(1.1)
    assert ratio([12.0, 12.1, 11.9], [10, 10, 10]).below(1.3)
    # What varies from run to run in both alike is no error.
    assert ratio([10, 20, 40], [5, 10, 20]) == Ratio(2.0, pytest.approx(0))
    assert ratio([3], [2]) == Ratio(1.5, 0.0)
    assert ratio([1] * 40, [1] * 40).mean == 1
    with pytest.raises(ValueError, match="paired, got 2 and 1"):
        ratio([1, 2], [1])


def test_runs_are_paired_by_their_number():
    rows = Rows({"p": p, "run": n, "x": x} for p, n, x in (("a", 1, 40), ("a", 0, 2), ("b", 0, 1)))
    rows.append({"p": "b", "run": 1, "x": 20})
    assert beside(rows, "x", {"p": "a"}, {"p": "b"}) == Ratio(2.0, pytest.approx(0))


def test_names_are_unique_and_every_figure_of_the_papers_is_there():
    names = [each.name for each in ALL]
    assert len(set(names)) == len(names)
    assert {each.paper for each in ALL} == set(page.PAPERS)
    wanted = {
        "HEEB": (6, 8, 9, 12, 13, 14, 15, 16),
        "GDJ": tuple(range(3, 11)),
        "locality": tuple(range(1, 6)),
        "CLOCK": tuple(range(2, 6)),
        "precision": tuple(range(2, 16)),
    }
    for paper, figures in wanted.items():
        shown = set()
        for each in ALL:
            ends = [int(word) for word in each.figure.split() if word.isdigit()]
            if each.paper == paper and each.figure.startswith("figure") and ends:
                shown |= set(range(ends[0], ends[-1] + 1))
        assert set(figures) <= shown


def test_an_experiment_is_chosen_by_name_or_paper():
    assert [each.name for each in choose("gdj-6")] == ["gdj-6"]
    assert {each.paper for each in choose("CLOCK")} == {"CLOCK"}
    assert choose("all") == ALL
    with pytest.raises(BadInput, match="did you mean 'heeb-8'"):
        choose("heep-8")


def test_a_folder_gets_table_figure_record_and_page(tmp_path):
    (outcome,) = reproduce([TINY], tmp_path / "new", workers=1)
    assert outcome.verdicts[0].verdict == HOLDS
    folder = tmp_path / "new"
    assert (folder / "tiny.csv").read_text().splitlines() == ["x,y,z", "1,2,", "2,,0.123457"]
    assert (folder / "tiny.png").read_bytes().startswith(b"\x89PNG")
    record = json.loads((folder / "tiny.json").read_text())
    assert (record["figure"], record["quick"], record["notes"]) == (
        "figure 99",
        False,
        ["Not in any paper."],
    )


def test_a_page_tells_every_verdict(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "ALL", (TINY,))
    list(reproduce([TINY], tmp_path, workers=1))
    text = page.write(tmp_path, images="figures/", note="Run on a Sunday.").read_text()
    assert text.index("Of 1 claims") < text.index("Run on a Sunday.") < text.index("| paper |")
    assert "Of 1 claims 1 hold, 0 hold in part and 0 do not hold here." in text
    assert "Small versions" not in text
    assert "Not run here" not in text
    monkeypatch.setattr(page, "ALL", (TINY, choose("heeb-8")[0]))
    assert "Not run here: heeb-8." in page.text(page.read(tmp_path))
    assert "![HEEB, figure 99: nothing much](figures/tiny.png)" in text
    assert "| it rises | **holds** | from 1 to 2 \\| or so |" in text
    assert "Not in any paper. `python -m papers reproduce tiny`" in text


def test_without_its_data_an_experiment_is_skipped_and_the_others_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_DATA", str(tmp_path))
    needy = Experiment("needy", "HEEB", "figure 98", "data", tiny, needs=("some/file.csv",))
    assert missing_data(needy) == ("some/file.csv",)
    skipped, done = reproduce([needy, TINY], tmp_path, workers=1)
    assert (skipped.missing, skipped.verdicts) == (("some/file.csv",), [])
    assert done.verdicts
    assert not (tmp_path / "needy.csv").exists()


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="can be made"):
        list(reproduce([TINY], tmp_path / "file" / "below"))


def test_rows_are_averaged_by_columns():
    rows = experiments.Rows(
        [{"k": 2, "run": 0, "y": 1}, {"k": 1, "run": 0, "y": 5}, {"k": 2, "run": 1, "y": 3}]
    )
    assert rows.means("y", "k") == [{"k": 2, "y": 2.0}, {"k": 1, "y": 5.0}]
    assert rows.curve("k", "y") == ([1, 2], [5.0, 2.0])
    assert rows.curve("k", "y", run=1) == ([2], [3.0])


def test_a_lab_picks_by_the_time_there_is():
    assert (Lab(quick=True).pick(50, 2), Lab().pick(50, 2)) == (2, 50)
