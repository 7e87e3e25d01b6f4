"""Find the parameters of a policy while it runs: the candidate that finds most is taken.

Every candidate rules a miniature of the engine (`trials.py`) that is fed a sample of the keys
(`sample.py`): all of them where the memory is small, else so many that the miniature holds `ROOM`
tuples. Time is counted in sampled rows, and after so many of them a choice is made: so nothing
depends on how the stream is cut, and the costs do not grow with the memory. What was found long ago
counts less, and whoever is in force stays until another has found clearly more.
"""

from typing import Any

import numpy as np

from ..core.policy import Chosen, Setup
from .candidate import Candidate
from .saved import part
from .trials import Columns, Tools, Trials
from .waiting import Waiting

ROOM = 512  # tuples in a miniature
ROW_BYTES = 100  # assumed of a row where the budget is in bytes
FIRST = 64  # sampled rows before the first choice
PART = 32  # then a choice whenever this part of what came has come again,
MOST = 4096  # or so many rows
LIFE = 50_000  # sampled rows after which a result has been forgotten, nearly
LEAD = 1.002  # how many times as much a new candidate must have found, and one more


def share_of(budget: int, sized: bool = False) -> float:
    """Return the share of the keys that a miniature sees.

    >>> share_of(200), share_of(5120), share_of(512_000, sized=True)
    (1.0, 0.1, 0.1)
    """
    rows = budget / ROW_BYTES if sized else budget
    return min(1.0, ROOM / max(rows, 1.0))


class Tuner:
    """Watches the rows that an engine takes, and says from time to time how to go on.

    Per batch: `watch` it; ask `stop` how far to go until a choice is due; when the rows were taken
    say so with `take`. If that returns True other parameters are in force: `adopted` by the state.
    """

    def __init__(
        self, chosen: Chosen, shares: tuple[float, ...] | None, share: float, tools: Tools
    ):
        self._trials = Trials([Candidate(each, shares) for each in chosen.candidates], tools)
        # Made at once, so that values which do not go together are refused at once.
        self._settings = [each.make_state(Setup(1)) for each in chosen.candidates]
        self._choice = chosen.candidates.index(chosen.starting)
        self._found = np.zeros(len(chosen.candidates))
        self._seen = 0  # sampled rows
        self._waiting = Waiting(share)

    @property
    def in_force(self) -> Candidate:
        """The candidate that is in force."""
        return self._trials.candidates[self._choice]

    def resize(self) -> None:
        """Bring the miniatures to the size that the engine has now."""
        self._trials.resize()

    def watch(self, columns: Columns, key: np.ndarray) -> None:
        """Look at a batch, before any row of it is taken."""
        self._waiting.watch(columns, key)

    def stop(self, most: int) -> int:
        """Return up to which row to go before asking again, `most` at most."""
        return self._waiting.stop(most, self._need)

    @property
    def _need(self) -> int:
        """How many rows there are between the last choice and the next."""
        return min(max(FIRST, self._seen // PART), MOST)

    def take(self, stop: int) -> bool:
        """Take note that the rows before `stop` were taken; tell whether to go on otherwise."""
        return self._waiting.take(stop) >= self._need and self._choose()

    def _choose(self) -> bool:
        waited = self._waiting.count
        found = self._trials.push(self._waiting.leave())
        # Not an exponential: it must come out the same to the last bit everywhere.
        self._found = self._found * max(0.0, 1 - waited / LIFE) + found
        self._seen += waited
        best = int(np.argmax(self._found))
        if self._found[best] <= LEAD * self._found[self._choice] + 1:
            return False
        self._choice = best
        return True

    def adopted(self, state: Any) -> Any:
        """Return the state of the policy under the parameters in force."""
        retuned = self.in_force.chosen.policy.retuned
        assert retuned is not None
        return retuned(state, self._settings[self._choice])

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays."""
        saved = {f"trials.{name}": array for name, array in self._trials.save().items()}
        saved |= {f"waiting.{name}": array for name, array in self._waiting.save().items()}
        saved["numbers"] = np.array([self._choice, self._seen])
        return saved | {"found": self._found.copy()}

    def load(self, saved: dict[str, np.ndarray], resized: bool = False) -> None:
        """Go on where `save` left off; if the memory was resized only with the choice."""
        self._choice, seen = saved["numbers"].tolist()[:2]
        if resized:
            return
        self._seen = seen
        self._found = np.array(saved["found"])
        self._trials.load(part(saved, "trials."))
        self._waiting.load(part(saved, "waiting."))
