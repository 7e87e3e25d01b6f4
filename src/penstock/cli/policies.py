"""`penstock policies`: what there is to choose from."""

from .output import AsJson, show_made


def policies(as_json: AsJson = False) -> None:
    """List the policies, what they are for, and their parameters."""
    from ..simulate.catalogue import list_policies
    from ..simulate.summary import policies_table

    rows = list_policies()
    show_made({"policies": rows} if as_json else policies_table(rows))
