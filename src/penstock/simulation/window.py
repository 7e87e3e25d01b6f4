"""How far apart the times of a match may be: a number in their own unit, or a span of time."""

import re

from ..core.durations import microseconds
from ..errors import BadInput

Within = int | str
NUMBER = re.compile(r"\s*[+-]?\d+\s*")


def check_within(within: Within) -> None:
    """Refuse what is neither a number nor a span of time, or is below 0."""
    if _is_number(within):
        if int(within) < 0:
            raise BadInput(f"within must be at least 0, got {within}")
    elif any(map(str.isalpha, str(within))):
        microseconds(str(within), "within")
    else:
        raise BadInput(
            f"within must be a whole number, or have a unit as in '10 seconds', got {within!r}"
        )


def read_within(within: Within, micro: bool, title: str) -> int:
    """Return the window in the unit of the times of `title`, which are microseconds if `micro`.

    >>> read_within("5", False, "a.csv"), read_within("5s", True, "a.csv")
    (5, 5000000)
    """
    if _is_number(within) and micro:
        raise BadInput(
            f"within must have a unit, as the times of {title} do, got {within}; "
            f"write --within '{within} seconds', or what you mean"
        )
    if not _is_number(within) and not micro:
        raise BadInput(
            f"within must be a plain number, as the times of {title} are, got {within!r}; "
            "give it in their unit"
        )
    return microseconds(str(within), "within") if micro else int(within)


def _is_number(within: Within) -> bool:
    return NUMBER.fullmatch(str(within)) is not None
