"""Small checks of arguments that several operators take."""

import sys
import warnings
from numbers import Integral, Real
from typing import Any

from ..errors import BadInput

MOST = 2**53  # a whole number that is larger has no exact share
BUCKETS = 100_000  # each of them sends a row with every packet
USUAL = 32  # buckets at most, unless more are asked for: each costs time and a little recall


def whole(number: Any, argument: str, least: int, most: int = MOST) -> int:
    """Return a whole number, refusing anything else and anything outside of the bounds."""
    is_whole = isinstance(number, Integral) and not isinstance(number, bool)
    if not is_whole or int(number) < least:
        raise BadInput(f"{argument} must be a whole number of at least {least}, got {number!r}")
    if int(number) > most:
        raise BadInput(f"{argument} must be at most {most}, got {number!r}; lower it")
    return int(number)


def bucket_count(buckets: Any, partitions: int) -> int:
    """Return into how many parts the keys are split.

    By default it is one per shuffle partition, and 32 at most.

    >>> bucket_count(None, 8), bucket_count(None, 200), bucket_count(100, 200)
    (8, 32, 100)
    """
    return min(partitions, USUAL) if buckets is None else whole(buckets, "buckets", 1, BUCKETS)


def share(number: Any, argument: str) -> float:
    """Return a number from 0 to 1, refusing anything else."""
    is_number = isinstance(number, Real) and not isinstance(number, bool)
    if not is_number or not 0 <= float(number) <= 1:
        raise BadInput(f"{argument} must be a number from 0 to 1, got {number!r}")
    return float(number)


def choice(value: Any, argument: str, choices: tuple[str, ...]) -> str:
    """Return one of the choices, refusing anything else."""
    if not isinstance(value, str) or value not in choices:
        raise BadInput(f"{argument} must be one of {', '.join(choices)}, got {value!r}")
    return value


def warn_user(sentence: str) -> None:
    """Warn, at the line outside of this package that brought it about."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("penstock."):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(sentence, stacklevel=depth)


def text(value: Any, argument: str) -> str:
    """Return a text, refusing anything else."""
    if not isinstance(value, str):
        raise BadInput(f"{argument} must be a text, got {value!r}")
    return value
