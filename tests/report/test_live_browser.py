"""The monitor's page in a real Chromium: curves are drawn and move, and nothing complains."""

import re

import pytest

from penstock.report.exposition import exposition
from penstock.report.history import QueryHistory
from penstock.report.live import UNKNOWN, Watched, report_page
from penstock.report.server import Server
from tests.patience import until
from tests.report.browser import browser, missing
from tests.report.made import ABOUT, course, join_sample
from tests.report.test_browser import CROWDED, PAPER
from tests.report.test_live import TOKEN, every_kind

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "all is there")
CURVE = "return document.querySelector('#rates .curve').getAttribute('points')"
DRAWN = (
    "return [...document.querySelectorAll('.chart')].map(c => c.querySelectorAll('.curve').length)"
)


@pytest.fixture(scope="module")
def window():
    with browser() as made:
        yield made


def test_curves_are_drawn_and_move_while_a_query_runs(window):
    history = course(count=12, fall=6)
    watched = Watched(history, history.samples[-1])
    server = Server(lambda: [watched], exposition, token=TOKEN)
    try:
        window.open(server.url)
        until(lambda: window.run("return document.querySelectorAll('.curve').length") > 5, "curves")
        assert window.run(DRAWN) == [2, 2, 3, 5]
        assert window.text("h1") == "views & <clicks>"
        assert "Recall fell from" in window.text("#said")
        before = window.run(CURVE)
        last = history.samples[-1]
        watched.latest = join_sample(12, last["at"] + 15, 9000.0, 0.5, last)
        history.add(watched.latest)
        until(lambda: window.run(CURVE) != before, "a curve that moves")
        until(lambda: "number 12" in window.text("#cards"), "the last micro-batch")
        history.about |= {"state": "failed", "error": "<b>no space</b>", "ended": last["at"]}
        until(lambda: "failed at" in window.text("#said"), "the sentence")
        assert "<b>no space</b>" in window.text("#said")
        assert window.complaints() == []
    finally:
        server.stop()
    until(lambda: not window.run("return document.getElementById('lost').hidden"), "the warning")
    assert "does not answer" in window.text("#lost")
    window.complaints()  # that the server is gone is told in the console too


def test_a_query_that_failed_before_any_micro_batch_is_shown(window):
    about = ABOUT | {"kind": UNKNOWN, "state": "failed", "error": "no topic", "ended": 1e9}
    sample = {"at": 1e9, "batch": None, "seconds": {}, "rates": [0.0, 0.0], "figures": {}}
    server = Server(lambda: [Watched(QueryHistory(about), sample)], exposition)
    try:
        window.open(server.url)
        until(lambda: "no topic" in window.text("#said"), "the sentence")
        assert window.text("#stamp").startswith("Query, failed. No micro-batch had ended 2001-09")
        assert window.complaints() == []
    finally:
        server.stop()


def test_each_of_several_queries_can_be_chosen(window):
    found = every_kind()
    server = Server(lambda: found, exposition)
    try:
        window.open(server.url)
        choices = "return document.querySelectorAll('button.choose').length"
        until(lambda: window.run(choices) == 3, "three queries")
        for place, name in ((2, "lookup"), (3, "thin")):
            window.click(f"#queries tbody tr:nth-child({place}) button")
            until(lambda name=name: window.text("h1") == name, "the other query")
        assert window.complaints() == []
    finally:
        server.stop()


def test_the_state_of_a_query_with_a_long_name_is_seen_on_a_phone(window):
    found = every_kind()
    name = "</title><script>document.title = 'owned'</script>\x1b[31m" + "long-name-" * 30
    found[0].history.about |= {"name": name}
    server = Server(lambda: found, exposition)
    try:
        window.open(server.url, width=360)
        until(lambda: window.text("h1") == name, "the query")
        place = "#queries tbody td:nth-child(2)"
        right = window.run(
            "return document.querySelector(arguments[0]).getBoundingClientRect().right", place
        )
        assert window.text(place) == "needs a person"
        frame = "const t = document.querySelector('#queries .tables');"
        assert window.run(f"{frame} return t.scrollWidth - t.clientWidth") <= 0, "it is cut"
        assert right <= 360
        assert window.run("return document.documentElement.scrollWidth") <= 360
        assert window.run("return document.title").startswith("</title><script>")
        assert window.complaints() == []
    finally:
        server.stop()


@pytest.mark.parametrize("width", [360, 1200])
def test_a_report_fits_a_phone_and_a_desk(window, tmp_path, width):
    path = tmp_path / "report.html"
    path.write_text(report_page([course()]), encoding="utf-8")
    window.open(path, width=width)
    assert window.run("return document.documentElement.scrollWidth") <= width
    assert not window.run(CROWDED), "labels overlap"
    assert window.run(DRAWN) == [2, 2, 3, 5]
    window.hover("#recall", 0.9)
    assert re.search(r"last minute7\d % \(6\d % to 7\d %\)", window.text("#recall .tip"))
    assert "<script>alert(1)</script>" in window.text("#tables")
    assert window.complaints() == []
    window.open(path, width=width, dark=True)
    assert max(window.run(PAPER)) < 60
