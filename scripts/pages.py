"""What MkDocs adds to the pages in docs/: hooks that mkdocs.yml names.

Files of the project's root become pages, the command line's help becomes one, decisions get a list,
examples can be downloaded, a picture that has a dark version shows it on dark pages, and search
ranks guides before decisions.
"""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
AT_ROOT = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
AT_ROOT |= {"SECURITY.md": "security.md"}
EXAMPLES = ("*.md", "*.py", "*.ipynb", "*.toml", "*.yml", "*.json")
PICTURE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<path>[^)]+?)-light\.(?P<kind>svg|png)\)")
IN_DOCS = re.compile(r"\]\(docs/")
# Pages that name nearly everything, which search ranks below the guides.
BOOSTS = dict.fromkeys(("decisions/", "changelog", "contributing", "release", "reproduction"), 0.2)
BOOSTS |= dict.fromkeys(("which-policy", "reference/", "examples/"), 0.5)
HOME = re.compile(r'href="(\.|\.\.(?:/\.\.)*)/?"')
DOCUMENTED = re.compile(r"^::: (penstock[\w.]*)\.(\w+)$", re.MULTILINE)
AT_ROOT_LINK = re.compile(r"\]\((?:\.\./)*(CHANGELOG|CONTRIBUTING|SECURITY)\.md")
# What is a folder on GitHub, and a page that is made on the site.
FOLDERS = {
    re.compile(r"\]\((?:\.\./)*decisions/?\)"): "decisions/index.md",
    re.compile(r"\]\((?:\.\./)+src/penstock/cli/?\)"): "reference/command-line.md",
}


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made, and the files that others link to."""
    for name, page in AT_ROOT.items():
        text = IN_DOCS.sub("](", (ROOT / name).read_text())
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "decisions/index.md", content=decisions()))
    files.append(File.generated(config, "reference/command-line.md", content=command_line()))
    for pattern in EXAMPLES:
        for path in sorted((ROOT / "examples").rglob(pattern)):
            place = path.relative_to(ROOT).as_posix()
            if place == "examples/README.md":  # docs/examples.md has its address
                continue
            files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Mend links that leave docs/, show dark versions of pictures, and rank pages for search."""
    for start, boost in BOOSTS.items():
        if page.file.src_uri.startswith(start):
            page.meta["search"] = {"boost": boost}
    up = "../" * page.file.src_uri.count("/")
    text = markdown.replace("](../examples/", f"]({up}examples/")
    text = AT_ROOT_LINK.sub(lambda found: f"]({up}{found[1].lower()}.md", text)
    for folder, made in FOLDERS.items():
        text = folder.sub(f"]({up}{made})", text)
    return DOCUMENTED.sub(defined, PICTURE.sub(both, text))


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Let links to the front page name its file: of a folder a browser shows what is in it."""
    return HOME.sub(r'href="\1/index.html"', output)


def defined(found: re.Match[str]) -> str:
    """Name an object by the module that defines it, wherever its public name is imported."""
    thing = getattr(import_module(found[1]), found[2], None)
    module = getattr(thing, "__module__", None)
    return f"::: {module}.{thing.__name__}" if module else found[0]


def both(found: re.Match[str]) -> str:
    """Return a picture twice, of which the theme shows the one that suits its colours."""
    alt, path, kind = found["alt"], found["path"], found["kind"]
    return f"![{alt}]({path}-light.{kind}#only-light)![{alt}]({path}-dark.{kind}#only-dark)"


def decisions() -> str:
    """Return a list of all decisions, by the headings of their pages."""
    lines = ["# Decisions", "", "Why things are as they are, where the code cannot say it.", ""]
    for path in sorted((ROOT / "docs" / "decisions").glob("0*.md")):
        title = path.read_text().splitlines()[0].lstrip("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join(lines) + "\n"


def command_line() -> str:
    """Return the help of every command as one page."""
    command = [sys.executable, "-m", "typer", "penstock.cli", "utils", "docs", "--name", "penstock"]
    made = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    return made.replace("# `penstock`", "# Command line", 1)
