import json

import pytest

from papers.grid import FILE, Ledger
from penstock.errors import BadInput


def test_what_is_added_is_found_again_by_the_next(tmp_path):
    Ledger(tmp_path / "new").add([("a", {"x": 1}, {"y": 2}), ("b", {"x": 2}, {"y": 4})])
    Ledger(tmp_path / "new").add([("c", {"x": 3}, {"y": 6})])
    assert Ledger(tmp_path / "new").found == {"a": {"y": 2}, "b": {"y": 4}, "c": {"y": 6}}


def test_half_a_line_is_forgotten_and_does_not_spoil_the_next(tmp_path):
    Ledger(tmp_path).add([("a", {}, {"y": 2})])
    with (tmp_path / FILE).open("a") as file:
        file.write('{"cell": "b", "given": {}, "fou')
    ledger = Ledger(tmp_path)
    assert ledger.found == {"a": {"y": 2}}
    ledger.add([("c", {}, {"y": 6})])
    assert Ledger(tmp_path).found == {"a": {"y": 2}, "c": {"y": 6}}


def test_lines_tell_what_was_given(tmp_path):
    Ledger(tmp_path).add([("a", {"memory": 10}, {"results": 7})])
    line = json.loads((tmp_path / FILE).read_text())
    assert line == {"cell": "a", "given": {"memory": 10}, "found": {"results": 7}}


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="can be written"):
        Ledger(tmp_path / "file" / "below")
