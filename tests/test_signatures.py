"""What users call says which types it takes and returns: no parameter, field or result is `Any`."""

import ast
import inspect
import textwrap

import pytest

import penstock
from penstock import spark

PUBLIC = {f"penstock.{name}": getattr(penstock, name) for name in ("Join", "Lookup", "advise")}
PUBLIC |= {f"penstock.spark.{name}": getattr(spark, name) for name in spark.__all__}
PUBLIC = {name: each for name, each in PUBLIC.items() if callable(each)}


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
        assert "Any" not in {each.id for each in ast.walk(kind) if isinstance(each, ast.Name)}, said
