"""The table of algorithms names files, policies and rules that there are."""

import re
from pathlib import Path

import pytest

from papers.experiments.algorithms import ALGORITHMS, table
from papers.experiments.page import PAPERS
from papers.printed import NAMED
from penstock import policies

ROOT = Path(__file__).resolve().parents[2]
EVERY = [each for some in ALGORITHMS.values() for each in some]


def test_every_paper_has_its_table():
    assert list(ALGORITHMS) == list(PAPERS)
    assert all(table(paper).count("\n") == len(ALGORITHMS[paper]) + 1 for paper in PAPERS)


@pytest.mark.parametrize("algorithm", EVERY, ids=lambda each: each.name)
def test_its_files_are_there(algorithm):
    first, *more = algorithm.file.split(", ")
    for name in (first, *more):
        assert (ROOT / name).exists() or (ROOT / first).with_name(name).exists()


def test_what_it_calls_printed_or_sketched_is_known():
    said = " ".join(each.printed for each in EVERY)
    assert set(re.findall(r"`((?:printed|sketched)_\w+)", said)) == set(NAMED)
    options = [spec for spec in re.findall(r"`([a-z]+:[^`]+)`", said) if "N" not in spec]
    for spec in options:
        name = spec.partition(":")[0]
        if name in policies.names():
            policies.choose(spec.replace("steps=W", "steps=9"))
