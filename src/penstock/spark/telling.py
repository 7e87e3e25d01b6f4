"""Figures as people read them: one a line, without fifteen digits."""

from dataclasses import fields, is_dataclass
from typing import Any


def one_a_line(figures: Any) -> str:
    """Return the fields of a dataclass with their values, one a line.

    >>> from penstock.engines.standing import Ruling
    >>> print(one_a_line(Ruling({"rate": 3, "lru": 1}, {"lru": 0.98765}, 1200)))
    buckets   rate 3, lru 1
    scores    lru 0.988
    switches  1,200
    """
    names = [each.name for each in fields(figures)]
    width = max(map(len, names))
    return "\n".join(f"{name:{width}}  {_told(getattr(figures, name))}" for name in names)


def _told(value: Any) -> str:
    if isinstance(value, tuple):
        between = " " if value and isinstance(value[0], str) else ", "  # a name with its figure
        return between.join(map(_told, value)) or "-"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_told(each)}" for name, each in value.items()) or "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    if is_dataclass(value):
        parts = [(each.name, getattr(value, each.name)) for each in fields(value)]
        return "; ".join(f"{name}: {_told(part)}" for name, part in parts)
    if isinstance(value, str):
        return value
    return "-" if value is None else f"{value:,}"
