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
from .sample import sampled
from .saved import part
from .trials import Columns, Tools, Trials

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

    def __init__(self, chosen: Chosen, share: float, tools: Tools):
        self.share = share
        self._trials = Trials(chosen.candidates, tools)
        # Made at once, so that values which do not go together are refused at once.
        self._settings = [each.make_state(Setup(1)) for each in chosen.candidates]
        self._choice = chosen.candidates.index(chosen.starting)
        self._found = np.zeros(len(chosen.candidates))
        self._seen = 0  # sampled rows
        self._waiting: list[Columns] = []  # rows that the miniatures have not been shown yet
        self._waits = 0  # how many
        self._batch: Columns = ()
        self._places = np.zeros(0, np.int64)  # of the sampled rows in the batch
        self._next = 0  # the first of the places that was not taken

    @property
    def in_force(self) -> Chosen:
        """The candidate that is in force."""
        return self._trials.candidates[self._choice]

    def watch(self, columns: Columns, key: np.ndarray) -> None:
        """Look at a batch, before any row of it is taken."""
        self._batch, self._places, self._next = columns, sampled(key, self.share), 0

    def stop(self, most: int) -> int:
        """Return up to which row to go before asking again, `most` at most."""
        last = self._next + self._need - self._waits - 1
        return min(most, int(self._places[last]) + 1) if last < len(self._places) else most

    @property
    def _need(self) -> int:
        """How many rows there are between the last choice and the next."""
        return min(max(FIRST, self._seen // PART), MOST)

    def take(self, stop: int) -> bool:
        """Take note that the rows before `stop` were taken; tell whether to go on otherwise."""
        end = int(np.searchsorted(self._places, stop))
        chosen = self._places[self._next : end]
        if len(chosen):
            self._waiting.append(tuple(column[chosen] for column in self._batch))
            self._waits += len(chosen)
        self._next = end
        if end == len(self._places):
            self._batch = ()  # it belongs to the caller
        return self._waits >= self._need and self._choose()

    def _choose(self) -> bool:
        found = self._trials.push(_joined(self._waiting))
        # Not an exponential: it must come out the same to the last bit everywhere.
        self._found = self._found * max(0.0, 1 - self._waits / LIFE) + found
        self._seen += self._waits
        self._waiting, self._waits = [], 0
        best = int(np.argmax(self._found))
        if self._found[best] <= LEAD * self._found[self._choice] + 1:
            return False
        self._choice = best
        return True

    def adopted(self, state: Any) -> Any:
        """Return the state of the policy under the parameters in force."""
        retuned = self.in_force.policy.retuned
        assert retuned is not None
        return retuned(state, self._settings[self._choice])

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays."""
        saved = {f"trials.{name}": array for name, array in self._trials.save().items()}
        if self._waiting:
            columns = _joined(self._waiting)
            saved |= {f"waiting.{number}": column for number, column in enumerate(columns)}
        saved["numbers"] = np.array([self._choice, self._seen, self._waits])
        return saved | {"found": self._found.copy()}

    def load(self, saved: dict[str, np.ndarray], resized: bool = False) -> None:
        """Go on where `save` left off; if the memory was resized only with the choice."""
        self._choice, seen, waits = saved["numbers"].tolist()
        if resized:
            return
        self._seen, self._waits = seen, waits
        self._found = np.array(saved["found"])
        self._trials.load(part(saved, "trials."))
        waiting = part(saved, "waiting.")
        self._waiting = [tuple(waiting[str(n)] for n in range(len(waiting)))] if waiting else []


def _joined(parts: list[Columns]) -> Columns:
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
