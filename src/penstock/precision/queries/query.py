"""What can be asked, and how precisely: the record and its text."""

import re
from typing import NamedTuple

from ...errors import BadInput
from ..checks import number

KINDS = ("sum", "avg", "max", "min", "count", "quantile")
FORM = re.compile(
    r"\s*(?P<kind>\w+)\s*\(\s*(?P<keys>[^(),]+?)\s*(?:,\s*(?P<at>[^(),]+?)\s*)?\)"
    r"\s*within\s+(?P<delta>[^\s%]+)\s*(?P<percent>%)?\s*",
    re.IGNORECASE,
)


class Query(NamedTuple):
    """An aggregate, and how wide its answer may be.

    >>> Query("sum", delta=5)
    Query(kind='sum', delta=5, relative=False, at=None)
    """

    kind: str
    delta: float  # δ: the answer is an interval at most as wide
    relative: bool = False  # δ is a share of the answer itself
    at: float | None = None  # of a count: values above this; of a quantile: which one, above 0 to 1

    def checked(self) -> "Query":
        """Return the query if it makes sense."""
        if self.kind not in KINDS:
            raise BadInput(f"a query must be one of {', '.join(KINDS)}, got {self.kind!r}")
        number("delta", self.delta, 0)
        if self.kind == "count":
            number("the limit of a count", self.at)
        if self.kind == "quantile" and not 0 < number("a quantile", self.at, 0) <= 1:
            raise BadInput(f"a quantile must be above 0 and at most 1, got {self.at}")
        if self.kind not in ("count", "quantile") and self.at is not None:
            raise BadInput(
                f"a query for {self.kind} takes no number besides its keys, got {self.at}"
            )
        return self

    def allowed(self, low: float, high: float) -> float:
        """Return how wide the answer may be, if it lies within these bounds.

        >>> Query("avg", 0.1, relative=True).allowed(40, 50)
        4.0
        """
        if not self.relative:
            return self.delta
        return self.delta * (0.0 if low <= 0 <= high else min(abs(low), abs(high)))


def parse(text: str) -> tuple[Query, str]:
    """Read `avg(sensor/+/temp) within 0.5`; return the query and what it says of the keys.

    >>> parse("quantile(sensor/#, 0.9) within 2%")
    (Query(kind='quantile', delta=0.02, relative=True, at=0.9), 'sensor/#')
    >>> parse("median(*) within 1")[0].at
    0.5
    """
    found = FORM.fullmatch(text)
    if found is None:
        raise BadInput(
            f"a query must read like 'avg(sensor/+/temp) within 0.5', got {text!r}; known:"
            " sum, avg, max, min, median, count(KEYS, LIMIT), quantile(KEYS, SHARE)"
        )
    kind, at = found["kind"].lower(), found["at"]
    delta = _read("delta", found["delta"])
    if kind == "median":
        if at is not None:
            raise BadInput(f"a query for median takes no number besides its keys, got {at}")
        kind, at = "quantile", "0.5"
    share = found["percent"] is not None
    query = Query(
        kind,
        delta / 100 if share else delta,
        share,
        None if at is None else _read(f"the second argument of {kind}", at),
    )
    return query.checked(), found["keys"]


def _read(name: str, text: str) -> float:
    try:
        return number(name, float(text))
    except ValueError:  # as BadInput is too
        raise BadInput(f"{name} must be a finite number, got {text!r}") from None
