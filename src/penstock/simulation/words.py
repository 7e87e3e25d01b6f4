"""Check a word against those that are known."""

from collections.abc import Iterable
from difflib import get_close_matches

from ..errors import BadInput


def check_word(what: str, word: str, known: Iterable[str]) -> None:
    """Refuse a word that is not known, and suggest the nearest.

    >>> check_word("workload", "towr", ["tower", "roof"])
    Traceback (most recent call last):
    penstock.errors.BadInput: unknown workload 'towr'; did you mean 'tower'? Known: tower, roof
    """
    names = list(known)
    if word not in names:
        near = get_close_matches(word, names, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise BadInput(f"unknown {what} {word!r}; {hint}Known: {', '.join(names)}")
