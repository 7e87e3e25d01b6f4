"""What there is to choose from: every policy with its parameters, and hindsight."""

from typing import Any

from .. import policies
from ..core.policy import CACHING, JOINING, Chosen
from ..offline import FLOWEXPECT


def list_policies() -> list[dict[str, Any]]:
    """Return name, summary, problems and default parameters of everything that can be compared.

    >>> [each["policy"] for each in list_policies()][-2:]
    ['opt', 'lfd']
    """
    rows = [
        {
            "policy": policy.name,
            "summary": policy.summary,
            "problems": list(policy.problems),
            "params": Chosen(policy, {}).all_params,
        }
        for policy in (*policies.ALL, policies.AUTO, FLOWEXPECT)
    ]
    opt = "hindsight: the most results that any policy could get"
    lfd = "hindsight: the most hits that any policy could get"
    return [
        *rows,
        {"policy": "opt", "summary": opt, "problems": [JOINING, CACHING], "params": {}},
        {"policy": "lfd", "summary": lfd, "problems": [CACHING], "params": {}},
    ]
