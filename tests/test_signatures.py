"""What users call says which types it takes and returns: no parameter, field or result is `Any`."""

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[1] / "docs" / "reference"
CHOSEN = re.compile(r"^::: (\S+)(?:\n    options: .*?members: \[(.*?)\])?", re.M)


def found(path: str) -> object:
    """Return the object at a dotted path: of the outermost package that leads to it."""
    name, *rest = path.split(".")
    each = importlib.import_module(name)
    for number, part in enumerate(rest, 1):
        if not hasattr(each, part):
            importlib.import_module(".".join([name, *rest[:number]]))
        each = getattr(each, part)
    return each


def documented() -> dict[str, object]:
    """Return the functions and classes that the reference lists, by name."""
    unlisted = ("penstock.Join", "penstock.advise", "penstock.relations.as_source")
    listed = {path: found(path) for path in unlisted}
    for page in PAGES.glob("*.md"):
        for path, members in CHOSEN.findall(page.read_text()):
            each = found(path)
            names = members.split(", ") if members else getattr(each, "__all__", None)
            if inspect.ismodule(each):
                names = names or [name for name in vars(each) if not name.startswith("_")]
                listed |= {f"{path}.{name}": getattr(each, name) for name in names}
            else:
                listed[path] = each
    return {name: each for name, each in listed.items() if callable(each)}


PUBLIC = documented()
PUBLIC.pop("penstock.spark.observe.figures_of")  # reports of Spark, whatever its version tells


def signatures(tree: ast.AST) -> list[ast.AST]:
    """Return the types in the signature of a function, or in those of a class."""
    if isinstance(tree, ast.FunctionDef):
        given = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
        given += filter(None, (tree.args.vararg, tree.args.kwarg))
        missing = ast.Name("Any")
        types = [each.annotation or missing for each in given if each.arg not in ("self", "cls")]
        return types if tree.name == "__init__" else [*types, tree.returns or missing]
    if isinstance(tree, ast.AnnAssign):
        return [tree.annotation]
    found = [each for each in tree.body if isinstance(each, ast.FunctionDef | ast.AnnAssign)]
    names = [each.name if isinstance(each, ast.FunctionDef) else each.target.id for each in found]
    shown = zip(found, names, strict=True)
    return [
        kind
        for each, name in shown
        if name == "__init__" or not name.startswith("_")
        for kind in signatures(each)
    ]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_type_is_said(name):
    tree = ast.parse(textwrap.dedent(inspect.getsource(PUBLIC[name]))).body[0]
    for kind in signatures(tree):
        said = ast.unparse(kind)
        names = {each.id for each in ast.walk(kind) if isinstance(each, ast.Name)}
        names |= set(re.findall(r"\w+", said))
        assert "Any" not in names, said
