"""Several policies tried out side by side: each rules a miniature of the engine, fed the same rows.

The miniatures live as long as the engine does. To replay what came lately from an empty memory
would be simpler, but flatters policies that never forget: what they hold on to does harm only
later.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.policy import Chosen
from .saved import part

Columns = tuple[np.ndarray, ...]


class Tools(NamedTuple):
    """How to deal with the miniatures of one kind of engine."""

    make: Callable[[Chosen], Any]
    push: Callable[[Any, Columns], object]
    results: Callable[[Any], int]  # so far
    restore: Callable[[dict[str, np.ndarray]], Any]


class Trials:
    """One miniature per candidate.

    They are made, or restored, when there is something to show them: a saved state is often only
    passed on.
    """

    def __init__(self, candidates: Sequence[Chosen], tools: Tools):
        self.candidates = tuple(candidates)
        self._tools = tools
        self._miniatures: list[Any] = []
        self._saved: dict[str, np.ndarray] = {}

    def push(self, columns: Columns) -> np.ndarray:
        """Show rows to all of them; return what each found in these: float64[candidates]."""
        self._wake()
        before = self._results()
        for each in self._miniatures:
            self._tools.push(each, columns)
        return self._results() - before

    def _results(self) -> np.ndarray:
        return np.array([self._tools.results(each) for each in self._miniatures], np.float64)

    def _wake(self) -> None:
        if self._miniatures:
            return
        if self._saved:
            parts = (part(self._saved, f"{number}.") for number in range(len(self.candidates)))
            self._miniatures = [self._tools.restore(each) for each in parts]
        else:
            self._miniatures = [self._tools.make(each) for each in self.candidates]

    def save(self) -> dict[str, np.ndarray]:
        """Return all of them as plain arrays."""
        if not self._miniatures:
            return self._saved
        return {
            f"{number}.{name}": array
            for number, each in enumerate(self._miniatures)
            for name, array in each.save().items()
        }

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self._miniatures, self._saved = [], saved
