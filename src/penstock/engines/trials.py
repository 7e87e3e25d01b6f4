"""Several policies tried out side by side: each rules a miniature of the engine, fed the same rows.

The miniatures live as long as they are awake. To replay what came lately from an empty memory
would be simpler, but flatters policies that never forget: what they hold on to does harm only
later.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .nbytes import nbytes
from .saved import part

Columns = tuple[np.ndarray, ...]


class Tools(NamedTuple):
    """How to deal with the miniatures of one kind of engine."""

    make: Callable[[Any], Any]  # from a candidate
    fit: Callable[[Any, Any], None]  # a miniature of a candidate to the engine's present size
    push: Callable[[Any, Columns], object]
    results: Callable[[Any], int]  # so far
    restore: Callable[[dict[str, np.ndarray]], Any]
    alike: bool = False  # shown all keys, a miniature would find what the engine itself does


class Trials:
    """One miniature per candidate that is awake, by its number.

    They are made, or restored, when there is something to show them: a saved state is often only
    passed on.
    """

    def __init__(self, candidates: Iterable[Any], tools: Tools):
        self.candidates = tuple(candidates)
        self._tools = tools
        self._miniatures: dict[int, Any] = {}
        self._saved: dict[str, np.ndarray] = {}

    def push(self, columns: Columns, numbers: Iterable[int] | None = None) -> np.ndarray:
        """Show rows to all, or some; return what each found in these: float64[candidates]."""
        found = np.zeros(len(self.candidates))
        for number in range(len(self.candidates)) if numbers is None else numbers:
            each = self._awake(number)
            before = self._tools.results(each)
            self._tools.push(each, columns)
            found[number] = self._tools.results(each) - before
        return found

    def resize(self) -> None:
        """Bring all of them to the size that the engine has now."""
        for number in self._numbers():
            self._tools.fit(self._awake(number), self.candidates[number])

    def _numbers(self) -> list[int]:
        """Return which of them there are, restored or not yet."""
        saved = {int(name.partition(".")[0]) for name in self._saved}
        return sorted(saved | set(self._miniatures))

    def forget(self, number: int) -> None:
        """Let a miniature go."""
        self._awake(number)
        del self._miniatures[number]

    def _awake(self, number: int) -> Any:
        if number not in self._miniatures:
            saved = part(self._saved, f"{number}.")
            self._saved = {
                name: array
                for name, array in self._saved.items()
                if not name.startswith(f"{number}.")
            }
            self._miniatures[number] = (
                self._tools.restore(saved) if saved else self._tools.make(self.candidates[number])
            )
        return self._miniatures[number]

    @property
    def nbytes(self) -> int:
        """The bytes that all of them take."""
        return nbytes(self._saved) + sum(each.nbytes for each in self._miniatures.values())

    def save(self) -> dict[str, np.ndarray]:
        """Return all of them as plain arrays."""
        return self._saved | {
            f"{number}.{name}": array
            for number, each in self._miniatures.items()
            for name, array in each.save().items()
        }

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self._miniatures, self._saved = {}, saved
