"""Which policy is in force in an engine that keeps to the one it was asked for."""

from collections.abc import Callable

import numpy as np

from ...kernel.policy import Configured, Policy
from .shadows import Columns

Gained = Callable[[np.ndarray], int]


class Pilot:
    """Keeps to one policy; `Chooser` (`chooser.py`) finds a better one while the engine runs.

    Per batch: `watch` it, ask `stop` how far to go, and when the rows were taken let it `learn`
    from them. If that returns True the engine changes over to the policy in force.
    """

    finds = False  # whether something is found while the engine runs
    nbytes = 0  # bytes of all arrays that are kept to find something
    hot = np.zeros(0, np.int64)  # keys that shadow caches are not shown
    lately: Columns = ()  # the last rows that came, as far as they are remembered

    def __init__(self, asked: Configured, in_force: Configured, why: str):
        self.asked = asked
        self.in_force = in_force  # the policy in force, with its parameters
        self._reason = why

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.in_force.policy

    def explain(self) -> dict[str, object]:
        """Return what is in force, and with `auto` since when, why, and what else was tried."""
        return {"policy": str(self.asked), "in_force": str(self.in_force), "why": self._reason}

    def is_like(self, saved: dict[str, np.ndarray]) -> bool:
        """Tell whether the same was to be found, or nothing."""
        return "tuner.tried" not in saved

    def discard(self, keys: np.ndarray) -> None:
        """Take note that a cache discards keys."""

    def resize(self) -> None:
        """Bring the shadow caches to the size that the engine has now."""

    def watch(self, columns: Columns, key: np.ndarray) -> None:
        """Look at a batch, before any row of it is taken."""

    def stop(self, most: int) -> int:
        """Return up to which row to go before `learn`, `most` at most."""
        return most

    def learn(self, columns: Columns, start: int, stop: int, results: int, gained: Gained) -> bool:
        """Take note that some rows of the batch were taken; tell whether to change over.

        `results` are all that the engine has found so far; `gained(rows)` is what a cache found in
        some rows of the batch.
        """
        return False

    def begin(self, results: int) -> None:
        """Take note of what the engine had found before anything was tried beside it."""

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays: nothing, where nothing is found."""
        return {}

    def load(self, saved: dict[str, np.ndarray], resized: bool) -> None:
        """Go on where `save` left off; if the memory was resized only with the choice."""
