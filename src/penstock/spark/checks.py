"""Small checks of arguments that several operators take."""

from typing import Any

from ..errors import BadInput


def whole(number: Any, argument: str, least: int) -> int:
    """Return a whole number, refusing anything else and anything below the least."""
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise BadInput(f"{argument} must be a whole number of at least {least}, got {number!r}")
    return number


def share(number: Any, argument: str) -> float:
    """Return a number from 0 to 1, refusing anything else."""
    if not isinstance(number, int | float) or not 0 <= number <= 1:
        raise BadInput(f"{argument} must be a number from 0 to 1, got {number!r}")
    return float(number)


def choice(value: Any, argument: str, choices: tuple[str, ...]) -> str:
    """Return one of the choices, refusing anything else."""
    if value not in choices:
        raise BadInput(f"{argument} must be one of {', '.join(choices)}, got {value!r}")
    return str(value)
