"""Who rules an engine: the policy that was asked for, or one that is found while it runs.

Parameters are found by a `Tuner`, whole policies by a `Chooser`; most engines have neither, and are
ruled as they were told. Engines ask here for the policy whose hooks to call, and tell here what
came.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.policy import KEEP_ALL, Chosen
from ..policies import AUTO
from .candidate import Candidate
from .chooser import Chooser, fallback
from .ring import Ring, room_for
from .saved import part
from .trials import Columns, Tools
from .tuning import Tuner

Makers = Callable[[float], Tools]  # from the share of the keys that miniatures see


class Pilot:
    """Knows the policy that rules; where something is to be found, also who finds it.

    Per batch: `watch` it, ask `stop` how far to go, and when the rows were taken let it `learn`
    from them. If that returns True the engine has to follow: with `adopted` states where only
    parameters are new, else by changing over to `candidate`.
    """

    def __init__(
        self,
        chosen: Chosen,
        rows: int,
        room: int,
        tools: Makers,
        shares: tuple[float, ...] | None = None,
        tried: Callable[[], tuple[Candidate, ...]] = tuple,
    ):
        """`rows` is about how many the budget holds, `room` how many a miniature does: 0, where
        there is no room for any. `shares` are those of the layout as it is; `tried` tells what
        `auto` chooses from.
        """
        self.chosen = chosen
        self._is_bounded = chosen.policy is not KEEP_ALL
        self.ruling = chosen  # whose hooks are called
        self.chooser: Chooser | None = None
        self._tuner: Tuner | None = None
        self._ring = Ring(0)
        self._fallen_back = ""
        if chosen.policy is AUTO:
            candidates = tried()
            self.ruling = candidates[0].chosen
            self._fallen_back = fallback(rows, room, str(self.ruling))
            if not self._fallen_back:
                self._ring = Ring(room_for(rows))
                self.chooser = Chooser(candidates, rows, room, tools, self._ring)
        elif chosen.is_tuned:
            self._tuner = Tuner(chosen, shares, rows, room, tools)

    @property
    def _finder(self) -> Tuner | Chooser | None:
        return self._tuner or self.chooser

    @property
    def policy(self) -> Any:
        """The policy that rules."""
        return self.ruling.policy

    @property
    def candidate(self) -> Candidate:
        """What the chooser has chosen."""
        assert self.chooser is not None
        return self.chooser.in_force

    @property
    def in_force(self) -> Chosen:
        """The policy that rules, with the parameters in force."""
        return self.ruling if self._tuner is None else self._tuner.in_force.chosen

    @property
    def hot(self) -> np.ndarray:
        """The keys that miniatures are not shown."""
        return np.zeros(0, np.int64) if self.chooser is None else self.chooser.hot

    @property
    def lately(self) -> Columns:
        """The last rows that came, as far as they are remembered."""
        return self._ring.columns()

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays that are kept to find something."""
        beside = 0 if self._finder is None else self._finder.nbytes
        return beside + self._ring.nbytes

    @property
    def looked(self) -> bool:
        """Whether the candidates have just been compared."""
        return self.chooser is not None and self.chooser.looked

    def resize(self) -> None:
        """Bring what is tried beside to the size that the engine has now."""
        if self._finder is not None:
            self._finder.resize()

    def watch(self, columns: Columns, key: np.ndarray) -> None:
        """Look at a batch, before any row of it is taken."""
        if self._finder is not None:
            self._finder.watch(columns, key)

    def stop(self, most: int) -> int:
        """Return up to which row to go before `learn`, `most` at most."""
        return most if self._finder is None else self._finder.stop(most)

    def learn(self, columns: Columns, start: int, stop: int, results: int) -> bool:
        """Take note that some rows of the batch were taken; tell whether to go on otherwise."""
        if self._tuner is not None:
            return self._tuner.take(stop)
        if self.chooser is None:
            return False
        self._ring.add(tuple(each[start:stop] for each in columns))
        if not self.chooser.take(stop, results):
            return False
        self.ruling = self.chooser.in_force.chosen
        return True

    @property
    def retunes(self) -> bool:
        """Whether only parameters are found."""
        return self._tuner is not None

    def adopted(self, state: Any) -> Any:
        """Return the state of the policy under the parameters in force."""
        assert self._tuner is not None
        return self._tuner.adopted(state)

    def explain(self) -> dict[str, Any]:
        """Return what rules, and with `auto` since when, why, and what else was tried."""
        facts = {
            "policy": str(self.chosen),
            "in_force": str(self.in_force),
            "why": self._fallen_back or ("as asked" if self._is_bounded else "there is no budget"),
        }
        return facts if self.chooser is None else facts | self.chooser.explain()

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays: nothing, where nothing is found."""
        saved = {f"ring.{name}": array for name, array in self._ring.save().items()}
        if self._finder is not None:
            saved |= {f"tuner.{name}": array for name, array in self._finder.save().items()}
        return saved

    def is_like(self, saved: dict[str, np.ndarray]) -> bool:
        """Tell whether something is found where something was: beside few rows nothing is."""
        return (self._finder is not None) == ("tuner.numbers" in saved)

    def load(self, saved: dict[str, np.ndarray], resized: bool) -> None:
        """Go on where `save` left off; if the memory was resized only with the choice."""
        if self._finder is not None:
            self._finder.load(part(saved, "tuner."), resized)
        if self.chooser is not None:
            self._ring.load(part(saved, "ring."))
            self.ruling = self.chooser.in_force.chosen

    def begin(self, results: int) -> None:
        """Take note of what the engine had found before anything was tried beside it."""
        if self.chooser is not None:
            self.chooser.begin(results)
