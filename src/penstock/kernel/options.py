"""Parameters as a user writes them, `key=value,...`, read as the types that a function declares."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from ..errors import BadInput

Parameters = Mapping[str, inspect.Parameter]
READABLE = (bool, int, float, str)
TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def written_parameters(function: Callable) -> dict[str, inspect.Parameter]:
    """Return the keyword-only parameters of a function that can be written as text.

    >>> def rain(length: int, *, drops: int = 3, names: list[str] | None = None): ...
    >>> list(written_parameters(rain))
    ['drops']
    """
    found = inspect.signature(function, eval_str=True).parameters
    return {
        name: each
        for name, each in found.items()
        if each.kind is inspect.Parameter.KEYWORD_ONLY and _wanted(each) in READABLE
    }


def own_parameters(make: Callable) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function after the first, which is given to it."""
    return dict(list(inspect.signature(make, eval_str=True).parameters.items())[1:])


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the name that is spelled most like a word, whatever the case."""
    spelled = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), list(spelled), n=1)
    return spelled[close[0]] if close else None


def read_options(
    whose: str, text: str, parameters: Parameters, words: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Read `key=value,...` against the parameters of whatever `whose` names.

    `words` are what some parameters may be besides a value of their type.

    >>> def rain(*, drops: int = 3, wind: float | None = None): ...
    >>> read_options("workload 'rain'", "drops=5, wind=none", written_parameters(rain))
    {'drops': 5, 'wind': None}
    """
    options = {}
    for part in filter(None, text.split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise BadInput(f"parameter {part!r} of {whose} must be written key=value")
        if key not in parameters:
            some = nearest(key, list(parameters)) if parameters else "it has none"
            raise BadInput(f"unknown parameter {key!r} of {whose}; {some}")
        options[key] = _read(whose, parameters[key], value, (words or {}).get(key))
    return options


def nearest(word: str, known: list[str]) -> str:
    """Return what to say of a word that is not known.

    >>> nearest("LRU", ["fifo", "lru"])
    "did you mean 'lru'? Known: fifo, lru"
    """
    close, names = closest(word, known), ", ".join(known)
    return f"did you mean {close!r}? Known: {names}" if close else f"known: {names}"


def check_word(what: str, word: str, known: Iterable[str]) -> None:
    """Refuse a word that is not known, and suggest the nearest.

    >>> check_word("workload", "towr", ["tower", "roof"])
    Traceback (most recent call last):
    penstock.errors.BadInput: unknown workload 'towr'; did you mean 'tower'? Known: tower, roof
    """
    names = list(known)
    if word not in names:
        raise BadInput(f"unknown {what} {word!r}; {nearest(word, names)}")


def at_least(name: str, value: int, lowest: int) -> None:
    """Refuse a value that is no whole number or is too small."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < lowest:
        raise BadInput(f"{name} must be a whole number of at least {lowest}, got {value!r}")


def _read(whose: str, parameter: inspect.Parameter, text: str, word: str | None) -> Any:
    """Read a parameter's text as the type that the function declares, or as the word."""
    if word is not None and text.lower() == word:
        return word
    if NoneType in _kinds(parameter) and text.lower() == "none":
        return None
    wanted = _wanted(parameter)
    try:
        return TRUTHS[text.lower()] if wanted is bool else wanted(text)
    except (KeyError, ValueError):
        kind = wanted.__name__ + (f" or {word}" if word else "")
        raise BadInput(
            f"parameter {parameter.name!r} of {whose} must be of type {kind}, got {text!r}"
        ) from None


def _kinds(parameter: inspect.Parameter) -> tuple[Any, ...]:
    kind = parameter.annotation
    return get_args(kind) if get_origin(kind) is UnionType else (kind,)


def _wanted(parameter: inspect.Parameter) -> Any:
    return next(kind for kind in _kinds(parameter) if kind is not NoneType)
