"""The comparison for the terminal, and as plain values."""

from typing import Any

from rich.table import Table

from .page import TITLES
from .summary import PARTS, Quality


def standings(found: Quality, caching: bool) -> Table:
    """Return the ranking, the best on average first."""
    later = {each.configuration: each for each in found.standings("after", caching)}
    table = Table(
        title=f"{TITLES[caching].lower()}: results, of those of the best configuration",
        title_justify="left",
    )
    table.add_column("configuration")
    for column in ("mean", "worst", "later, mean", "later, worst", "within 2 %"):
        table.add_column(column, justify="right")
    for each in found.standings("whole", caching):
        after = later[each.configuration]
        table.add_row(
            each.configuration,
            *(f"{value:.3f}" for value in (each.mean, each.worst, after.mean, after.worst)),
            f"{each.wins} of {each.streams}",
        )
    return table


def summary(found: Quality) -> dict[str, Any]:
    """Return the same as plain values, for --json."""
    return {
        "quick": found.quick,
        "missing": found.missing,
        "standings": {
            TITLES[caching].lower(): {
                part: [each._asdict() for each in found.standings(part, caching)] for part in PARTS
            }
            for caching in TITLES
        },
        "shares": [each._asdict() for each in found.shares],
    }
