"""A profile as tables and sentences for the terminal."""

from rich.table import Table
from rich.text import Text

from .profile import Profile
from .words import rows, verdict


def overview(made: Profile) -> Table:
    """Return the table of a profile, what each line means beside it."""
    table = Table(title=Text(f"{made.name}: {verdict(made)}"), title_justify="left")
    table.add_column("what")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("meaning", style="dim")
    part = None
    for row in rows(made):
        if part is not None and row.part != part:
            table.add_section()
        part = row.part
        table.add_row(row.what, row.value, row.meaning)
    return table
