"""The documentation site builds without a warning, search finds pages, and no link is broken."""

import html
import re
import subprocess
import sys
import threading
import urllib.parse
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.patience import until
from tests.report.browser import browser, missing

ROOT = Path(__file__).resolve().parents[1]
ON_GITHUB = [
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
    *(
        path.relative_to(ROOT).as_posix()
        for folder in ("docs", "examples")
        for path in sorted((ROOT / folder).rglob("*.md"))
    ),
]
NEEDED = ("material", "mkdocstrings")
needs_mkdocs = pytest.mark.skipif(
    not all(map(find_spec, NEEDED)), reason="no MkDocs: pip install mkdocs-material mkdocstrings"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site, where warnings are errors, and return its folder."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture
def address(site):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@needs_mkdocs
def test_the_reference_has_the_whole_public_interface(site):
    import penstock.spark

    page = (site / "reference" / "spark.html").read_text()
    lacking = [
        name
        for name in penstock.spark.__all__
        if name != "needs" and not re.search(rf'id="penstock\.[\w.]*\b{name}"', page)
    ]
    assert lacking == []
    commands = (site / "reference" / "command-line.html").read_text()
    assert "penstock reconcile" in commands


@needs_mkdocs
def test_the_programs_are_on_the_page_of_examples(site):
    page = (site / "examples.html").read_text()
    text = html.unescape(re.sub(r"<[^>]+>", "", page))  # a highlighter puts words into spans
    for path in sorted((ROOT / "examples").glob("*.py")):
        assert path.read_text().splitlines()[-1] in text, path.name
    assert "def main" in text


@needs_mkdocs
def test_doctests_are_blocks_of_code_and_not_quotations(site):
    pages = list((site / "reference").rglob("*.html"))
    assert [path for path in pages if "<blockquote>" in path.read_text()] == []
    assert "highlight" in (site / "reference" / "engine.html").read_text()


@needs_mkdocs
def test_no_snippet_is_left_as_it_was_written(site):
    guilty = [path for path in site.rglob("*.html") if re.search(r"--8", path.read_text())]
    assert guilty == []


@needs_mkdocs
def test_nothing_is_loaded_from_elsewhere(site):
    loads = re.compile(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="?https?:')
    guilty = [path for path in site.rglob("*.html") if loads.search(path.read_text())]
    assert guilty == []


SEARCHES = {  # what a reader types, and a page or section that must be among the first five
    "reconcile": "archive.html",
    "budget": "join.html#choosing-the-budget",
    "late rows": "join.html#late-rows",
    "RocksDB provider": "join.html#the-state-store-rocksdb",
    "providerClass": "join.html#the-state-store-rocksdb",
    "timestamp_ntz": "quickstart.html#the-same-in-a-program",
}
CHROMIUM = pytest.mark.skipif(bool(missing()), reason=missing())
FIELD = "document.querySelector('.md-search__input')"


@needs_mkdocs
@CHROMIUM
def test_search_finds_guides_before_decisions(address):
    links = "return [...document.querySelectorAll('.md-search-result__link')].map(a => a.href)"
    with browser() as window:
        for words, wanted in SEARCHES.items():
            window.open(f"{address}?{words.replace(' ', '+')}")
            until(lambda: window.run(f"return !!{FIELD}"))
            window.run(f"{FIELD}.focus()")
            window.press(*words)
            until(lambda: window.run(links))
            found = [re.sub(r"\?h=[^#]*", "", link) for link in window.run(links)]
            assert address + wanted in found[:5], (words, found)
            assert "/decisions/" not in "".join(found[:5]), (words, found)
        assert not [said for said in window.complaints() if "favicon" not in said]


@needs_mkdocs
@CHROMIUM
def test_a_page_that_is_opened_as_a_file_says_how_to_search(site):
    with browser() as window:
        window.open(site / "join.html")
        until(lambda: "mkdocs serve" in (window.run(f"return {FIELD}?.placeholder") or ""))
        assert window.run(f"return {FIELD}.disabled")


@needs_mkdocs
def test_links_lead_to_files_and_not_to_folders(site):
    for page in site.rglob("*.html"):
        if page.name == "404.html":  # served at any address, so its links are absolute
            continue
        for link in re.findall(r'href="?([^"\s>#?]+)', page.read_text()):
            if not re.match(r"[a-z]+:", link):
                assert (page.parent / urllib.parse.unquote(link)).is_file(), (page, link)


@pytest.mark.parametrize("page", ON_GITHUB)
def test_links_lead_somewhere_on_github_too(page):
    place = (ROOT / page).parent
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", (ROOT / page).read_text(), flags=re.DOTALL | re.M)
    links = re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", text)
    for link in (first or second for first, second in links):
        path, _, anchor = link.partition("#")
        if path.startswith(("http:", "https:")):
            continue
        target = place / path if path else ROOT / page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in headings(target.read_text()), link


def headings(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub names them."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
