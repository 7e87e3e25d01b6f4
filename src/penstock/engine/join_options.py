"""What kinds of join there are, and which options go together."""

import numpy as np

from ..errors import BadInput
from ..kernel.gains import GOALS, PAIRS, ROWS
from ..kernel.shape import Shape

INNER, LEFT, RIGHT, FULL, SEMI, ANTI = HOWS = ("inner", "left", "right", "full", "semi", "anti")
ALL, FIRST, ONE = MATCHING = ("all", "first", "one")
PRESERVED = {LEFT: (True, False), ANTI: (True, False), RIGHT: (False, True), FULL: (True, True)}


def default_goal(how: str, match: str) -> str:
    """Return what a join gets the most of where nothing is said.

    >>> default_goal("inner", "all"), default_goal("left", "all"), default_goal("inner", "first")
    ('pairs', 'rows', 'rows')
    """
    return PAIRS if (how, match) == (INNER, ALL) else ROWS


def _check_known(**given: tuple[object, tuple[str, ...]]) -> None:
    """Raise BadInput unless each value is one of those known."""
    for name, (value, known) in given.items():
        if value not in known:
            *some, last = map(repr, known)
            raise BadInput(f"{name} must be {', '.join(some)} or {last}, got {value!r}")


def check_partners(how, match, within, window, together, shape: Shape) -> None:
    """Raise BadInput unless a join can be of this kind."""
    _check_known(how=(how, HOWS), match=(match, MATCHING))
    if (how, match) != (INNER, ALL) and (not shape.is_plain or together):
        raise BadInput(
            f"how={how!r}, match={match!r} needs a join of two streams with rows taken one "
            "by one; leave out joins= and together="
        )
    if isinstance(within, tuple | list):
        if window == "count" or not shape.is_plain:
            raise BadInput(
                f"within={tuple(within)} needs a time window and a join of two streams; pass one "
                "number"
            )


def check_window(goal, within, window, layout, delay, clock, drop, together) -> None:
    """Raise BadInput unless the options of window, memory and time are known and go together."""
    _check_known(goal=(goal, GOALS), window=(window, ("time", "count")))
    _check_known(layout=(layout, ("unified", "split")), clock=(clock, ("slowest", "fastest")))
    counting = window == "count"
    if counting and within is None:
        raise BadInput("a count window needs within=, the number of tuples that it holds")
    if isinstance(within, tuple | list):
        whole = all(isinstance(each, int | np.integer) for each in within)
        if len(within) != 2 or not whole or within[0] > within[1]:
            raise BadInput(
                "within must be a whole number, or two of which the first is not larger, got "
                f"{within!r}"
            )
        within = None
    for name, value, lowest in (("within", within, int(counting)), ("delay", delay, 0)):
        if value is not None and value < lowest:
            raise BadInput(f"{name} must be at least {lowest}, got {value}")
    if drop and counting:
        raise BadInput("a count window counts what is dropped too, and drop= hides it; use a time")
    if together and (counting or delay is not None):
        raise BadInput(
            "together needs a time window and rows in order; leave out window= and delay="
        )
