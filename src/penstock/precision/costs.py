"""What refreshes cost."""

from typing import NamedTuple

from .checks import number


class Costs(NamedTuple):
    """The cost of a message from the source, and of a request with its answer."""

    value: float = 1.0  # C_vr: the value left its interval, and the source sends another one
    query: float = 2.0  # C_qr: a query needs the exact value: one message there, one back

    @property
    def rho(self) -> float:
        """The cost factor, 2 C_vr / C_qr: at the best width ρ P_vr = P_qr.

        >>> Costs(4, 2).rho
        4.0
        """
        return 2 * self.value / self.query


def make_costs(value: float = 1.0, query: float = 2.0) -> Costs:
    """Return the costs, both of them above 0.

    >>> make_costs(value=0)
    Traceback (most recent call last):
    penstock.errors.BadInput: the cost of a value-initiated refresh must be a number above 0, got 0
    """
    return Costs(
        number("the cost of a value-initiated refresh", value, 0, above=True),
        number("the cost of a query-initiated refresh", query, 0, above=True),
    )
