"""`penstock policies`: what there is to choose from."""

from .output import AsJson, show_made


def policies(as_json: AsJson = False) -> None:
    """List the policies, what they are for, and their parameters."""
    from ..simulation import listing, show

    rows = listing.list_policies()
    show_made({"policies": rows} if as_json else show.policies_table(rows))
