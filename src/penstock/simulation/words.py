"""Check a word against those that are known."""

from collections.abc import Iterable

from ..core.options import nearest
from ..errors import BadInput


def check_word(what: str, word: str, known: Iterable[str]) -> None:
    """Refuse a word that is not known, and suggest the nearest.

    >>> check_word("workload", "towr", ["tower", "roof"])
    Traceback (most recent call last):
    penstock.errors.BadInput: unknown workload 'towr'; did you mean 'tower'? Known: tower, roof
    """
    names = list(known)
    if word not in names:
        raise BadInput(f"unknown {what} {word!r}; {nearest(word, names)}")
