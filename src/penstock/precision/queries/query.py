"""What can be asked, and how precisely."""

from fractions import Fraction
from typing import NamedTuple

from ...errors import BadInput
from ..checks import number
from ..rounding import down

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
        """Return the query if it makes sense, its numbers as floats."""
        if self.kind not in KINDS:
            raise BadInput(f"a query must be one of {', '.join(KINDS)}, got {self.kind!r}")
        delta, at = number("delta", self.delta, 0), self.at
        if self.kind == "count":  # a float is above the limit just where it is above this
            number("the limit of a count", self.at)
            at = down(self.at)
        if self.kind == "quantile" and not 0 < number("a quantile", self.at, 0) <= 1:
            raise BadInput(f"a quantile must be above 0 and at most 1, got {self.at}")
        if self.kind not in ("count", "quantile") and self.at is not None:
            raise BadInput(
                f"a query for {self.kind} takes no number besides its keys, got {self.at}"
            )
        return self._replace(delta=delta, at=at)

    def allowed(self, low: float, high: float) -> float:
        """Return how wide the answer may be, if it lies within these bounds; rounded down.

        >>> Query("avg", 0.1, relative=True).allowed(40, 50)
        4.0
        """
        if not self.relative:
            return self.delta
        least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        return down(Fraction(self.delta) * Fraction(least))
