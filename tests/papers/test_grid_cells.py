from importlib import import_module

import pytest

from papers.grid import _sources_beside, find_work, key_of, name_of, product
from penstock.errors import BadInput
from penstock.kernel import jit
from tests.papers.work import die_once, double


def test_a_product_has_every_combination_and_the_last_axis_is_the_fastest():
    cells = product(a=[1, 2], b="same", c=("x", "y"))
    assert [(cell["a"], cell["c"]) for cell in cells] == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]
    assert {cell["b"] for cell in cells} == {"same"}


def test_texts_and_dictionaries_are_no_axes():
    assert product(policy="rand", options={"domain": 3}) == [
        {"policy": "rand", "options": {"domain": 3}}
    ]


def test_a_key_tells_cells_work_and_sources_apart(monkeypatch):
    given = {"x": 1, "y": 2}
    key = key_of(double, given)
    assert key == key_of(double, {"y": 2, "x": 1})
    assert len({key, key_of(double, given | {"x": 2}), key_of(die_once, given)}) == 3
    monkeypatch.setattr("papers.grid.source_hash", lambda: "another state of the sources")
    assert key_of(double, given) != key
    assert jit.source_hash() != "another state of the sources"


def test_a_key_follows_the_sources_of_the_package_that_the_work_is_in(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "__init__.py").write_text("")
    module = tmp_path / "beside" / "work.py"
    keys = []
    for number in range(2):
        module.write_text(f"def work(given):\n    return {{'found': {number}}}\n")
        _sources_beside.cache_clear()
        keys.append(key_of(import_module("beside.work").work, {"x": 1}))
    assert keys[0] != keys[1]


def test_work_is_found_by_its_name_and_must_have_one():
    assert find_work(name_of(double)) is double
    with pytest.raises(BadInput, match="at the top of a module"):
        name_of(lambda given: given)
