import re

import numpy as np
import pytest

from penstock.profile.stream_profile import profile
from penstock.report import profile_page as page
from tests.profile.streams import local
from tests.report.checker import Checker


@pytest.fixture(scope="module")
def html():
    return page.as_html(profile(local(5000), name="<b>odd & name"))


def test_the_page_is_whole_and_needs_nothing_else(html):
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    assert html.count('class="chart"') == 4
    assert checker.points == []
    assert not {"link", "img", "iframe"} & set(checker.tags)
    assert set(re.findall(r"https?://[^\"'<> ]+", html)) <= {"http://www.w3.org/2000/svg"}


def test_the_rate_over_time_is_in_seconds_where_times_are_timestamps():
    times = np.datetime64("2026-01-01", "us") + np.arange(5000) * np.timedelta64(20, "ms")
    made = profile(local(5000), times)
    plot = page._plots(made)[-1]
    assert (plot["id"], plot["up"]) == ("rate", "rows per second")
    assert plot["across"] == "seconds since the first row"
    assert plot["curves"][0]["y"] == pytest.approx([50] * len(plot["curves"][0]["y"]))
    assert plot["level"] == pytest.approx(50)
    assert "rows per second" in page.as_html(made)


def test_names_are_escaped(html):
    assert "&lt;b&gt;odd &amp; name" in html
    assert "<b>odd" not in html


def test_the_plots_show_the_profile():
    made = profile(local(500))
    plots = {each["id"]: each for each in page._plots(made)}
    curve, most = plots["hits"]["curves"]
    assert curve["y"] == made.reuse.hit_ratio(curve["x"]).tolist()
    assert plots["hits"]["level"] == curve["y"][-1]
    assert most["x"] == [made.reuse.size_for(0.9)] == [plots["hits"]["mark"]["at"]]
    stream, permuted = plots["distance"]["curves"]
    assert stream["y"] == made.distances.within(stream["x"]).tolist()
    assert permuted["y"] == made.permuted.within(permuted["x"]).tolist()
    counted, law = plots["popularity"]["curves"]
    assert counted["x"][-1] == made.keys
    assert law["y"] == made.popularity.law(law["x"]).tolist()
    assert plots["locality"]["curves"][1]["y"] == list(made.horizon.b())


def test_the_smallest_streams_have_pages():
    for keys in ([7, 8], [1, 2, 1]):
        assert page.as_html(profile(np.array(keys))).count('class="chart"') == 4
