"""The page of all verdicts, made from the records that experiments leave in a folder."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from . import ALL, html
from .algorithms import table
from .frame import FAILS, HOLDS, IN_PART, spaced
from .origin import told

NAME, HTML = "reproduction.md", "reproduction.html"
MARKS = {HOLDS: "**holds**", IN_PART: "*in part*", FAILS: "**does not hold here**"}
PAPERS = {
    "HEEB": 'Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005)',
    "GDJ": 'Chang, Li, Bestavros and Kollios, "GreedyDual-Join" (BUCS-TR-2004-028)',
    "locality": (
        'Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting Reference Locality in '
        'Data Stream Applications" (ICDE 2006)'
    ),
    "CLOCK": (
        'Gao, Scharrenbach and Bernstein, "The CLOCK Data-Aware Eviction Approach" (ESWC 2014)'
    ),
    "precision": (
        'Olston, Loo and Widom, "Adaptive Precision Setting for Cached Approximate Values" '
        "(SIGMOD 2001)"
    ),
}


def write(
    folder: str | Path, to: str | Path | None = None, images: str = "", note: str = ""
) -> Path:
    """Write the page of a folder's records, into the folder itself by default.

    images: what stands before the name of a figure in a link.
    note: how this run was made.
    """
    path = Path(folder) / NAME if to is None else Path(to)
    path.write_text(text(read(Path(folder)), images, note), encoding="utf-8")
    return path


def write_html(folder: str | Path) -> Path:
    """Write the same as one HTML file that holds all figures, into the folder."""
    records = read(Path(folder))
    path = Path(folder) / HTML
    made = html.as_html(records, PAPERS, introduction(records), Path(folder))
    path.write_text(made, encoding="utf-8")
    return path


def read(folder: Path) -> list[dict[str, Any]]:
    """Return the records of a folder, in the order of the experiments."""
    paths = [folder / f"{each.name}.json" for each in ALL]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def text(records: list[dict[str, Any]], images: str = "", note: str = "") -> str:
    """Return the page."""
    parts = [_head(records, note)]
    for paper in PAPERS:
        mine = [record for record in records if record["paper"] == paper]
        if mine:
            parts.append(f"## {paper}\n\n{PAPERS[paper]}.\n\n{table(paper)}")
            parts += [_section(record, images) for record in mine]
    return "\n\n".join(parts) + "\n"


def introduction(records: list[dict[str, Any]]) -> list[str]:
    """Return what is to be said before all verdicts, as paragraphs."""
    counts = Counter(v["verdict"] for record in records for v in record["verdicts"])
    there = {record["name"] for record in records}
    missing = [each.name for each in ALL if each.name not in there]
    small = [record["name"] for record in records if record["quick"]]
    return [
        "A verdict is about a claim of a paper's text, with our numbers; the papers' own plots are"
        " not at hand as numbers. What departs from a paper stands under its figure.",
        f"Of {sum(counts.values())} claims {counts[HOLDS]} hold, {counts[IN_PART]} hold in part"
        f" and {counts[FAILS]} do not hold here. How near is near enough is ours where the"
        " paper gives no number; the claim then says it in brackets. Numbers of earlier runs were"
        " known when verdicts were corrected; the notes under the figures say which of them that"
        " is known to have decided.",
        *([told(records)] if records else []),
        *([f"Small versions only, to be read as such: {', '.join(small)}."] if small else []),
        *([f"Not run here: {', '.join(missing)}."] if missing else []),
    ]


def _head(records: list[dict[str, Any]], note: str) -> str:
    rows = [
        f"| {paper} | " + " | ".join(str(_count(records, paper, v)) for v in MARKS) + " |"
        for paper in PAPERS
    ]
    table = ["| paper | hold | in part | do not hold here |", "|---|---|---|---|", *rows]
    first, *more = introduction(records)
    said = [f"Made by `python -m papers reproduce`. {first}", *more, *([note] if note else [])]
    return "\n\n".join(["# The papers' experiments, repeated", *said, "\n".join(table)])


def _count(records: list[dict[str, Any]], paper: str, verdict: str) -> int:
    mine = (v for record in records if record["paper"] == paper for v in record["verdicts"])
    return sum(v["verdict"] == verdict for v in mine)


def _section(record: dict[str, Any], images: str) -> str:
    title = f"### {record['figure'][0].upper()}{record['figure'][1:]}: {record['what']}"
    alt = f"{record['paper']}, {record['figure']}: {record['what']}"
    lines = [
        title,
        "",
        f"![{alt}]({images}{record['name']}.png)",
        "",
        "| claim | verdict | here |",
        "|---|---|---|",
    ]
    lines += [
        f"| {_cell(spaced(v['claim']))} | {MARKS[v['verdict']]} | {_cell(v['ours'])} |"
        for v in record["verdicts"]
    ]
    small = ["This is the small version of `--quick`."] if record["quick"] else []
    notes = " ".join(record["notes"] + small)
    lines += ["", (notes + " " if notes else "") + f"`python -m papers reproduce {record['name']}`"]
    return "\n".join(lines)


def _cell(said: str) -> str:
    return said.replace("|", "\\|")
