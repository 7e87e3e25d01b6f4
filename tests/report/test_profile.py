import re

import pytest

from penstock.profile.stream_profile import profile
from penstock.report import profile as page
from penstock.report import profile_plots as plots
from tests.profile.streams import local
from tests.report.checker import Checker


@pytest.fixture(scope="module")
def html():
    return page.as_html(profile(local(5000), name="<b>odd & name"))


def test_the_page_is_whole_and_needs_nothing_else(html):
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    assert checker.tags.count("svg") == 4
    assert all(point.startswith("#") for point in checker.points)
    assert not {"script", "link", "img", "iframe"} & set(checker.tags)
    links = re.findall(r"https?://[^\"'<> ]+", html)
    assert set(links) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_names_are_escaped(html):
    assert "&lt;b&gt;odd &amp; name" in html
    assert "<b>odd" not in html


def test_pictures_do_not_share_clipping(html):
    clips = re.findall(r'<clipPath id="([^"]+)"', html)
    assert len(clips) == len(set(clips)) >= 4


def test_the_same_profile_gives_the_same_picture():
    one, two = (plots.as_svg("hits", plots.hit_ratio(profile(local(500)))) for _ in range(2))
    assert one == two
