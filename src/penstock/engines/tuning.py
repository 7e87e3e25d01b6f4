"""Find the parameters of a policy while it runs: the candidate that finds most is taken.

Every candidate rules a miniature of the engine (`trials.py`) that is fed a sample of the keys
(`sample.py`): all of them where the memory is small, else so many that the miniature holds `ROOM`
tuples. Time is counted in sampled rows, and after so many of them a choice is made: so
nothing depends on how the stream is cut, and the costs do not grow with the memory. What was found
long ago counts less, and the candidate in force stays until another has found clearly more.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.policy import Chosen, Setup
from .candidate import Candidate
from .nbytes import nbytes
from .saved import part
from .trials import Columns, Trials
from .waiting import Waiting

ROOM = 512  # tuples in a miniature
FIRST = 64  # sampled rows before the first choice
PART = 32  # then a choice whenever this part of what came has come again,
FREQUENT, MOST = 1024, 4096  # or so many rows: `looks_of`
LIFE = 50_000  # sampled rows after which a result has been forgotten, nearly
LEAD = 1.002  # how many times as much a new candidate must have found, and one more


def looks_of(room: int) -> int:
    """Return how many sampled rows at most there are between two choices.

    >>> looks_of(10), looks_of(256), looks_of(512)
    (1024, 2048, 4096)
    """
    return min(MOST, max(FREQUENT, 8 * room))


def share_of(rows: int, room: int) -> float:
    """Return the share of the keys that a miniature of so much room sees.

    >>> share_of(200, 200), share_of(5120, 512)
    (1.0, 0.1)
    """
    return min(1.0, room / max(rows, 1))


class Tuner:
    """Watches the rows that an engine takes, and says from time to time how to go on.

    Per batch: `watch` it; ask `stop` how far to go until a choice is due; when the rows were taken
    say so with `take`. If that returns True other parameters are in force: `adopted` by the state.
    """

    def __init__(
        self,
        chosen: Chosen,
        shares: tuple[float, ...] | None,
        rows: int,
        room: int,
        tools: Callable,
    ):
        """Miniatures have `room` for a part of `rows`; `tools` makes tools for a share of keys."""
        share = share_of(rows, room)
        self._trials = Trials([Candidate(each, shares) for each in chosen.candidates], tools(share))
        # Made at once, so that values which do not go together are refused at once.
        self._settings = [each.make_state(Setup(1)) for each in chosen.candidates]
        self._choice = chosen.candidates.index(chosen.starting)
        self._found = np.zeros(len(chosen.candidates))
        self._seen = 0  # sampled rows
        self._waiting = Waiting(share)
        self._most = looks_of(room)

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
        return min(max(FIRST, self._seen // PART), self._most)

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

    @property
    def nbytes(self) -> int:
        """The bytes of what is tried, and of the rows that wait."""
        return self._trials.nbytes + self._waiting.nbytes + nbytes(self._settings)

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
