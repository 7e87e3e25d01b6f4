"""Pages in a real Chromium: what a person sees, hovers over, presses and moves."""

import numpy as np
import pytest

from bench import measured
from papers.experiments import html as papers
from penstock.profile.stream_profile import profile
from penstock.report import advice_page as page
from penstock.report import comparison_page as comparison
from penstock.report import profile_page
from tests.profile.streams import local
from tests.report.browser import browser, missing
from tests.report.made import advice, experiment
from tests.report.test_pages import REPORT

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "all is there")
RIGHT = "\ue014"  # the key
CROWDED = """
    const boxes = [...document.querySelectorAll('.chart text')].map(t => t.getBoundingClientRect());
    const beside = (a, b) => a.right <= b.left || b.right <= a.left;
    const above = (a, b) => a.bottom <= b.top || b.bottom <= a.top;
    return boxes.some((a, i) => boxes.slice(i + 1).some(b => !beside(a, b) && !above(a, b)))
"""
PAPER = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
DISPLAY = "return getComputedStyle(document.getElementById('target')).display"


@pytest.fixture(scope="module")
def window():
    with browser() as made:
        yield made


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "advice.html"
    path.write_text(page.as_html(advice()), encoding="utf-8")
    return path


def test_the_answer_is_the_advisors_and_nothing_complains(window, file):
    made = advice()
    window.open(file)
    rows = f"{made.answer.rows:,} rows with prob"
    assert rows in window.text("#answer")
    assert f"Half the memory: {100 * made.half.share:.1f} %" in window.text("#answer")
    assert window.text("#code") == made.code.replace("'", '"')
    assert window.complaints() == []
    assert window.text("h1") == "Memory for <b>views & clicks"


def test_the_slider_moves_the_answer_by_keyboard_too(window, file):
    window.open(file)
    before = window.text("#answer")
    window.run("document.getElementById('target').focus()")
    window.press(*[RIGHT] * 10)
    target = window.run("return Number(document.getElementById('target').value) / 1000")
    assert target == pytest.approx(0.95)
    assert f"{advice(target=0.95).answer.rows:,} rows" in window.text("#answer") != before
    assert window.text("#target-said") == "95.0 %"


def test_a_policy_that_is_pressed_is_hidden_and_the_next_one_answers(window, file):
    window.open(file)
    shown = "return [...document.querySelectorAll('.curve')].map(c => c.dataset.name)"
    assert window.run(shown) == ["prob", "lru", "gdj:percentile=0.1"]
    window.click("#legend button")
    assert window.run(shown) == ["lru", "gdj:percentile=0.1"]
    assert "rows with lru" in window.text("#answer")
    pressed = "return document.querySelector('#legend button').getAttribute('aria-pressed')"
    assert window.run(pressed) == "false"
    window.click("#legend button")
    assert "rows with prob" in window.text("#answer")


def test_hovering_reads_every_curve(window, file):
    window.open(file)
    window.hover("#chart", 0.5)
    said = window.text(".tip")
    assert all(name in said for name in ("prob", "lru", "gdj:percentile=0.1"))
    assert "±" in said
    window.run("document.getElementById('chart').focus()")
    window.press(RIGHT)
    assert window.text(".tip") != said
    assert "prob" in window.text("#spoken")


@pytest.mark.parametrize("goal", ["pairs", "rows"])
def test_both_measures_of_a_join_are_drawn_and_read_together(window, tmp_path, goal):
    path, made = tmp_path / "both.html", advice(goal=goal, both=True, target=0.8)
    path.write_text(page.as_html(made), encoding="utf-8")
    window.open(path)
    assert window.complaints() == []
    count = "return ['chart', 'beside'].map(i => document.querySelectorAll(`#${i} .curve`).length)"
    assert window.run(count) == [3, 3]
    other = made.answer.recall if goal == "rows" else made.answer.row_recall
    assert f"{100 * other:.1f} % {'recall' if goal == 'rows' else 'rows matched'}" in window.text(
        "#answer"
    )
    window.hover("#beside", 0.5)  # one cursor for both
    assert window.text("#chart .tip") != window.text("#beside .tip")
    window.click("#legend button")
    assert window.run(count) == [2, 2]
    for width in (360, 1200):
        window.open(path, width=width)
        assert window.run("return document.documentElement.scrollWidth") <= width
        assert not window.run(CROWDED), "labels overlap"


def test_hiding_everything_says_so(window, file):
    window.open(file)
    for place in (1, 2, 3):
        window.click(f"#legend button:nth-child({place})")
    assert window.text("#answer") == "No policy that is shown reaches this."


@pytest.mark.parametrize("width", [360, 400, 1200])
def test_nothing_sticks_out_on_a_phone_or_a_desk(window, file, width):
    window.open(file, width=width)
    assert window.run("return document.documentElement.scrollWidth") <= width
    assert window.run("return document.querySelector('.chart svg').clientWidth") > 0.8 * width - 60
    assert not window.run(CROWDED), "labels overlap"


def test_dark_is_dark(window, file):
    window.open(file, dark=True)
    assert max(window.run(PAPER)) < 60
    window.open(file)
    assert min(window.run(PAPER)) > 200


def test_it_prints(window, file, tmp_path):
    window.open(file, dark=True)
    window.pdf(tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    window.devtools("Emulation.setEmulatedMedia", media="print")
    assert min(window.run(PAPER)) > 200
    assert window.run(DISPLAY) == "none"


def test_a_cache_whose_target_is_out_of_reach(window, tmp_path):
    made = advice("caching", target=0.9)
    path = tmp_path / "cache.html"
    path.write_text(page.as_html(made), encoding="utf-8")
    window.open(path)
    assert not made.reached
    assert f"{made.answer.rows:,} rows with prob" in window.text("#answer")
    assert "72.0 % hit ratio" in window.text("#answer")


@pytest.fixture(scope="module")
def plain_pages(tmp_path_factory):
    """Pages without a script, by name."""
    folder = tmp_path_factory.mktemp("plain")
    table = measured.Measured("joins", ["who", *"abcdef"], [["penstock, exact", *["1,234.5"] * 6]])
    made = {
        "comparison": comparison.as_html(REPORT),
        "measured": measured.as_html("Joins", "on one machine", [table] * 2),
        "papers": papers.as_html([experiment(folder)], {"HEEB": "Some"}, ["A claim."], folder),
    }
    for name, html in made.items():
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["comparison", "measured", "papers"])
def test_pages_without_a_script_fit_a_phone_and_a_desk(window, plain_pages, name):
    for width in (360, 1200):
        window.open(plain_pages / f"{name}.html", width=width)
        assert window.run("return document.documentElement.scrollWidth") <= width
    assert window.complaints() == []
    window.open(plain_pages / f"{name}.html", dark=True)
    assert max(window.run(PAPER)) < 60


def test_figures_of_papers_are_inside_the_page(window, plain_pages):
    window.open(plain_pages / "papers.html", width=360)
    shown = "return [...document.images].map(i => [i.naturalWidth, i.clientWidth <= 360])"
    assert window.run(shown) == [[900, True]]


def test_the_plots_of_a_profile_are_drawn_on_a_phone_and_a_desk(window, tmp_path):
    path = tmp_path / "profile.html"
    path.write_text(profile_page.as_html(profile(local(2000), name="clicks")), encoding="utf-8")
    for width in (360, 1200):
        window.open(path, width=width)
        assert window.run("return document.documentElement.scrollWidth") <= width
        assert not window.run(CROWDED), "labels overlap"
        count = "return ['popularity', 'distance', 'hits', 'locality'].map(id => "
        count += "document.querySelectorAll(`#${id} .curve`).length)"
        assert window.run(count) == [1, 2, 1, 2]
        assert window.run("return document.querySelectorAll('#popularity circle').length") > 50
    assert window.complaints() == []
    window.open(path, dark=True)
    assert max(window.run(PAPER)) < 60


def test_a_profile_without_any_repetition_is_drawn_too(window, tmp_path):
    path = tmp_path / "unique.html"
    path.write_text(profile_page.as_html(profile(np.arange(100))), encoding="utf-8")
    window.open(path)
    assert window.complaints() == []
    assert not window.run(CROWDED), "labels overlap"
