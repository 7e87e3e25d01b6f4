"""Tables and numbers for the terminal."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text


def figures_table(title: str, names: Sequence[str], caption: str = "", **look: Any) -> Table:
    """Return a table without rows: its first column is a name, the others are figures.

    look: further arguments of Rich's `Table`.

    >>> [column.justify for column in figures_table("policies", ["policy", "recall"]).columns]
    ['left', 'right']
    """
    made = Table(title=Text(title), title_justify="left", caption=Text(caption), **look)
    made.add_column(names[0], overflow="fold")
    for name in names[1:]:
        made.add_column(name, justify="right", no_wrap=True)
    return made


def short(number: float) -> str:
    """Return a number in seven characters.

    >>> short(12_345), short(1_234_567), short(98_765_432_100)
    ('12,345', '1.23 M', '98.8 G')
    """
    for unit in ("", " k", " M", " G", " T"):
        if number < 999.5 or (not unit and number < 100_000):
            return f"{number:.3g}{unit}" if unit else f"{number:,.0f}"
        number /= 1000
    return f"{number:,.0f} P"
