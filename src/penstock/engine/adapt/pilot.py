"""Which policy is in force in an engine: the one that was asked for, or one found while it runs.

A `Pilot` keeps to what was asked for. A `Finder` compares candidates in miniatures of the engine
(`miniatures.py`) and says from time to time how to go on: a `Tuner` finds the parameters of a
policy, a `Chooser` (`chooser.py`) whole policies.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernel.policy import Configured, Policy, Setup
from ..saved import nbytes, part, prefixed
from .miniatures import Candidate, Columns, Trials, Waiting, looks_of, share_of

if TYPE_CHECKING:
    from ..base import Engine

FIRST = 64  # sampled rows before the first choice of parameters
PART = 32  # then a choice whenever this part of what came has come again, or `looks_of`
LIFE = 50_000  # sampled rows after which a result has been forgotten, nearly
LEAD = 1.002  # how many times as much a new candidate must have found, and one more


class Pilot:
    """Knows the policy in force, and finds nothing.

    Per batch: `watch` it, ask `stop` how far to go, and when the rows were taken let it `learn`
    from them. If that returns True the engine has to follow: with `adopted` states where only
    parameters are new (`Tuner`), else by changing over to `candidate`.
    """

    finds = False  # whether something is found while the engine runs
    looked = False  # whether candidates have just been compared
    nbytes = 0  # bytes of all arrays that are kept to find something
    hot = np.zeros(0, np.int64)  # keys that miniatures are not shown
    lately: Columns = ()  # the last rows that came, as far as they are remembered

    def __init__(self, asked: Configured, acting: Configured, why: str):
        self.asked = asked
        self.acting = acting  # whose hooks are called, with the parameters to begin with
        self._reason = why

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.acting.policy

    @property
    def in_force(self) -> Configured:
        """The policy in force, with its parameters."""
        return self.acting

    def explain(self) -> dict[str, object]:
        """Return what is in force, and with `auto` since when, why, and what else was tried."""
        return {"policy": str(self.asked), "in_force": str(self.in_force), "why": self._reason}

    def is_like(self, saved: dict[str, np.ndarray]) -> bool:
        """Tell whether something is found where something was, among the same candidates."""
        return self.finds == ("tuner.numbers" in saved)

    def resize(self) -> None:
        """Bring the miniatures to the size that the engine has now."""

    def watch(self, columns: Columns, key: np.ndarray) -> None:
        """Look at a batch, before any row of it is taken."""

    def stop(self, most: int) -> int:
        """Return up to which row to go before `learn`, `most` at most."""
        return most

    def learn(self, columns: Columns, start: int, stop: int, results: int) -> bool:
        """Take note that some rows of the batch were taken; tell whether to go on otherwise."""
        return False

    def begin(self, results: int) -> None:
        """Take note of what the engine had found before anything was tried beside it."""

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays: nothing, where nothing is found."""
        return {}

    def load(self, saved: dict[str, np.ndarray], resized: bool) -> None:
        """Go on where `save` left off; if the memory was resized only with the choice."""


class Finder(Pilot):
    """Has candidates tried in miniature, and knows which of them is in force."""

    finds = True

    def __init__(self, engine: "Engine", tried: Iterable[Candidate], choice: int, first: int):
        """The first comparison is after `first` sampled rows."""
        self.candidates = tuple(tried)
        super().__init__(engine.chosen, engine.chosen, "as asked")
        rows, room = engine.footprint.rows, engine.footprint.room
        self._waiting = Waiting(share_of(rows, room))
        self._trials = Trials(self.candidates, engine, self._waiting.share)
        self._first, self._most = first, looks_of(room)
        self._choice = choice
        self._seen = 0  # sampled rows

    @property
    def candidate(self) -> Candidate:
        """The candidate in force."""
        return self.candidates[self._choice]

    @property
    def in_force(self) -> Configured:
        return self.candidate.chosen

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return self._trials.nbytes + self._waiting.nbytes

    def resize(self) -> None:
        self._trials.resize()

    def watch(self, columns: Columns, key: np.ndarray) -> None:
        self._waiting.watch(columns, key)

    def stop(self, most: int) -> int:
        return self._waiting.stop(most, self._need)

    @property
    def _need(self) -> int:
        """How many sampled rows there are between the last comparison and the next."""
        return min(max(self._first, self._seen // PART), self._most)

    def save(self) -> dict[str, np.ndarray]:
        saved = self._save_own() | prefixed("trials.", self._trials.save())
        return prefixed("tuner.", saved | prefixed("waiting.", self._waiting.save()))

    def load(self, saved: dict[str, np.ndarray], resized: bool) -> None:
        own = part(saved, "tuner.")
        self._load_own(own, resized)
        if not resized:
            self._trials.load(part(own, "trials."))
            self._waiting.load(part(own, "waiting."))

    def _save_own(self) -> dict[str, np.ndarray]:
        """Return what there is beside the miniatures and the rows that wait for them."""
        raise NotImplementedError

    def _load_own(self, saved: dict[str, np.ndarray], resized: bool) -> None:
        raise NotImplementedError


class Tuner(Finder):
    """Finds the parameters of a policy: those that find most are taken.

    What was found long ago counts less, and the candidate in force stays until another has found
    clearly more.
    """

    def __init__(self, engine: "Engine", shares: tuple[float, ...] | None):
        """`shares` are those of the layout, of which no other is tried."""
        tried = engine.chosen.candidates
        start = tried.index(engine.chosen.starting)
        super().__init__(engine, (Candidate(each, shares) for each in tried), start, FIRST)
        # Made at once, so that values which do not go together are refused at once.
        self._settings = [each.make_state(Setup(1)) for each in tried]
        self._found = np.zeros(len(tried))

    def learn(self, columns: Columns, start: int, stop: int, results: int) -> bool:
        waited = self._waiting.take(stop)
        if waited < self._need:
            return False
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
        retuned = self.policy.retuned
        assert retuned is not None
        return retuned(state, self._settings[self._choice])

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return super().nbytes + nbytes(self._settings)

    def _save_own(self) -> dict[str, np.ndarray]:
        return {"numbers": np.array([self._choice, self._seen]), "found": self._found.copy()}

    def _load_own(self, saved: dict[str, np.ndarray], resized: bool) -> None:
        self._choice, seen = saved["numbers"].tolist()[:2]
        if not resized:
            self._seen, self._found = seen, np.array(saved["found"])
