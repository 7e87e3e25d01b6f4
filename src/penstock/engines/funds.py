"""What miniatures may cost: a part of what the engine itself costs, and something to begin with.

Costs are counted in rows of a cheap policy (`Policy.cost`), not measured: nothing may depend on
how busy a machine is.
"""

import numpy as np

ALLOWED = 0.1  # of what the engine costs
FREE = 1_000_000.0  # that may be spent before that counts: a tenth of a second or two


class Funds:
    """Counts what was earned by the engine's rows and spent on miniatures.

    >>> funds = Funds()
    >>> funds.spend(FREE)
    >>> funds.left, funds.affords(1)
    (0.0, False)
    >>> funds.earn(1000)
    >>> funds.left, funds.affords(1)
    (100.0, True)
    """

    def __init__(self) -> None:
        self._earned = 0.0
        self._spent = 0.0

    def earn(self, cost: float) -> None:
        """Take note of what the engine's own work cost."""
        self._earned += cost

    def spend(self, cost: float) -> None:
        """Take note of what miniatures cost."""
        self._spent += cost

    @property
    def left(self) -> float:
        """What may still be spent."""
        return FREE + ALLOWED * self._earned - self._spent

    def affords(self, cost: float) -> bool:
        """Tell whether so much may be spent."""
        return self.left >= cost

    def save(self) -> np.ndarray:
        """Return everything as a plain array."""
        return np.array([self._earned, self._spent])

    def load(self, saved: np.ndarray) -> None:
        """Go on where `save` left off."""
        self._earned, self._spent = saved.tolist()
