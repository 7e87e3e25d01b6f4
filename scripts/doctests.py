"""Doctests of docstrings as blocks of code: an extension of Griffe that mkdocs.yml names.

Outside of a section `Examples:` the lines after `>>>` would be rendered as quotations.
"""

from typing import Any

from griffe import Extension, Object


class Doctests(Extension):
    """Fences doctests wherever they are in a docstring."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """Return a docstring whose doctests are fenced blocks.

    >>> print(fenced("Adds.\\n\\n>>> 1 + 1\\n2\\n\\nThe end.").replace("`", "'"))
    Adds.
    <BLANKLINE>
    '''pycon
    >>> 1 + 1
    2
    '''
    <BLANKLINE>
    The end.
    """
    lines: list[str] = []
    indent = None  # of the doctest that we are in
    for line in [*docstring.splitlines(), ""]:
        bare = line.lstrip()
        if indent is None and bare.startswith(">>>"):
            indent = line[: len(line) - len(bare)]
            lines.append(f"{indent}```pycon")
        elif indent is not None and not bare:
            lines.append(f"{indent}```")
            indent = None
        lines.append(line)
    return "\n".join(lines[:-1])
