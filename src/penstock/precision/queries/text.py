"""Queries as people write them: `avg(sensor/+/temp) within 0.5`."""

import re

from ...errors import BadInput
from ..checks import number
from .query import KINDS, Query

FORM = re.compile(
    r"\s*(?P<kind>\w+)\s*\(\s*(?P<keys>[^(),<>]+?)\s*(?:(?P<sign>[,>])\s*(?P<at>[^(),<>]+?)\s*)?\)"
    r"\s*within\s+(?P<delta>[^\s%]+)\s*(?P<percent>%)?\s*",
    re.IGNORECASE,
)
SIGNS = {"count": ">,", "quantile": ","}  # what may stand between the keys and the number


def parse(text: str) -> tuple[Query, str]:
    """Read a query; return it and what it says of the keys.

    >>> parse("quantile(sensor/#, 0.9) within 2%")
    (Query(kind='quantile', delta=0.02, relative=True, at=0.9), 'sensor/#')
    >>> parse("count(sensor/+/temp > 30) within 0")
    (Query(kind='count', delta=0.0, relative=False, at=30.0), 'sensor/+/temp')
    >>> parse("median(*) within 1")[0].at
    0.5
    """
    found = FORM.fullmatch(text)
    if found is None:
        raise BadInput(
            f"a query must read like 'avg(sensor/+/temp) within 0.5', got {text!r}; known:"
            " sum, avg, max, min, median, count(KEYS > LIMIT), quantile(KEYS, SHARE)"
        )
    kind, at = found["kind"].lower(), found["at"]
    if kind not in (*KINDS, "median"):
        raise BadInput(f"a query must be one of {', '.join(KINDS)}, median, got {kind!r}")
    if kind in SIGNS and (at is None or found["sign"] not in SIGNS[kind]):
        raise BadInput(f"a query for {kind} must read like {_example(kind)}, got {text!r}")
    if kind not in SIGNS and at is not None:
        raise BadInput(f"a query for {kind} takes no number besides its keys, got {at}")
    if kind == "median":
        kind, at = "quantile", "0.5"
    delta = _read("delta", found["delta"])
    share = found["percent"] is not None
    query = Query(
        kind,
        delta / 100 if share else delta,
        share,
        None if at is None else _read(f"the number in {kind}(...)", at),
    )
    return query.checked(), found["keys"]


def _example(kind: str) -> str:
    keys = {"count": "KEYS > LIMIT", "quantile": "KEYS, SHARE"}[kind]
    return f"{kind}({keys}) within 1"


def _read(name: str, text: str) -> float:
    try:
        return number(name, float(text))
    except ValueError:  # as BadInput is too
        raise BadInput(f"{name} must be a finite number, got {text!r}") from None
