import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from penstock import BadInput
from penstock.profiling import page, plots, profile
from tests.profiling.streams import local

EMPTY = {"meta", "br", "img", "link", "input"}


class Checker(HTMLParser):
    """Keeps the tags that are open, and everything that points somewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.points, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.points += [value for name, value in attrs if name in ("href", "xlink:href", "src")]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


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


def test_refuses_a_place_it_cannot_write_to(tmp_path):
    assert page.where_to_write(tmp_path / "a.html") == tmp_path / "a.html"
    for path in (tmp_path, Path("/no/such/folder/a.html")):
        with pytest.raises(BadInput, match="--html must be a file"):
            page.where_to_write(path)
