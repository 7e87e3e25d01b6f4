"""What can be asked, and how precisely."""

from typing import NamedTuple

from ...errors import BadInput
from ..checks import number

KINDS = ("sum", "avg", "max", "min", "count", "quantile")


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
