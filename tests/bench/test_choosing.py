"""The figures of `auto` beside fixed policies: what is kept, and which streams there are."""

import io

import numpy as np
from rich.console import Console

from bench import choosing


def test_what_fixed_policies_found_is_kept(tmp_path):
    found = choosing.Known(tmp_path / "results" / "fixed.jsonl")
    assert found.get("zipf | 0.05 | lru", lambda: 7) == 7
    again = choosing.Known(tmp_path / "results" / "fixed.jsonl")
    assert again.get("zipf | 0.05 | lru", lambda: 8) == 7


def test_streams_have_names_of_their_own():
    for kind in choosing.KINDS:
        names = [each.name for each in choosing.streams(kind)]
        assert len(set(names)) == len(names)
    lengths = {len(keys) for keys in choosing.made_here().values()}
    assert lengths == {choosing.LENGTH}
    once, again = choosing.made_here(), choosing.made_here()
    assert all(np.array_equal(once[name], again[name]) for name in once)


def test_even_and_odd_streams_are_told_apart():
    cells = [
        {"kind": "joins", "even": even, "of best": {"auto": share, "rate": 0.5}}
        for even, share in ((True, 1.0), (True, 0.9), (False, 0.8))
    ]
    console = Console(file=io.StringIO(), width=120)
    console.print(choosing.summary(cells, "joins"))
    lines = [line for line in console.file.getvalue().splitlines() if " auto " in line]
    assert ["0.9000" in lines[0], "0.9500" in lines[1], "0.8000" in lines[2]] == [True] * 3
