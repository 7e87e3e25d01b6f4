"""`penstock policies`: what there is to choose from."""

from typing import TYPE_CHECKING, Any

from .output import AsJson, show_made

if TYPE_CHECKING:
    from rich.table import Table


def policies(as_json: AsJson = False) -> None:
    """List the policies, what they are for, and their parameters."""
    from ..simulate.catalogue import list_policies

    rows = list_policies()
    show_made({"policies": rows} if as_json else _table(rows))


def _table(rows: list[dict[str, Any]]) -> "Table":
    """Return the table of all policies."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="policies", title_justify="left")
    for column in ("name", "what it evicts", "for", "parameters"):
        table.add_column(column)
    for row in rows:
        params = "\n".join(f"{name}={value}" for name, value in row["params"].items())
        table.add_row(Text(row["policy"]), row["summary"], "\n".join(row["problems"]), Text(params))
    return table
