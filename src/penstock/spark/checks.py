"""Small checks of arguments that several operators take."""

from numbers import Integral, Real
from typing import Any

from ..errors import BadInput

MOST = 2**53  # a whole number that is larger has no exact share
BUCKETS = 100_000  # each of them sends a row with every packet


def whole(number: Any, argument: str, least: int, most: int = MOST) -> int:
    """Return a whole number, refusing anything else and anything outside of the bounds."""
    if not isinstance(number, Integral) or isinstance(number, bool) or number < least:
        raise BadInput(f"{argument} must be a whole number of at least {least}, got {number!r}")
    if number > most:
        raise BadInput(f"{argument} must be at most {most}, got {number!r}; lower it")
    return int(number)


def bucket_count(buckets: Any, partitions: int) -> int:
    """Return into how many parts the keys are split: as asked, or one per shuffle partition."""
    return partitions if buckets is None else whole(buckets, "buckets", 1, BUCKETS)


def share(number: Any, argument: str) -> float:
    """Return a number from 0 to 1, refusing anything else."""
    if not isinstance(number, Real) or isinstance(number, bool) or not 0 <= number <= 1:
        raise BadInput(f"{argument} must be a number from 0 to 1, got {number!r}")
    return float(number)


def choice(value: Any, argument: str, choices: tuple[str, ...]) -> str:
    """Return one of the choices, refusing anything else."""
    if not isinstance(value, str) or value not in choices:
        raise BadInput(f"{argument} must be one of {', '.join(choices)}, got {value!r}")
    return value


def text(value: Any, argument: str) -> str:
    """Return a text, refusing anything else."""
    if not isinstance(value, str):
        raise BadInput(f"{argument} must be a text, got {value!r}")
    return value
