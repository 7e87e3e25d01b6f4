"""What a join holds its tuples in, one memory for all streams or one for each, and its counters.

The budget is divided among the memories; `resize` changes the budget. How far the streams have come
says what has expired and what comes too late. Counters say what happened to the rows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import policies
from ..errors import BadInput
from ..kernel import slots
from ..kernel.band import Band
from ..kernel.gains import ROWS
from ..kernel.policy import JOINING, Configured, Setup
from . import departures, join_kernel, join_upkeep
from .adapt.chooser import cold_share
from .adapt.shadows import Columns
from .base import NO_LIMIT, Engine, larger
from .join_kernel import BUDGET, NEVER, NOW, TOGETHER, USED, Form, Rows
from .ledger import parts_of, split_budget
from .standings import COMPLETED, FOUND, MATCHED

OUTSIDE = ("arrived", "dropped", "late", "null")  # counted before rows are taken
INSIDE = ("matched", "expired", "evicted", "rejected")  # the first columns of the kernel's counts


class JoinMemory(Engine):
    """The tables of a join, and how its budget is divided."""

    form: Form
    band: Band | None
    within: int | tuple[int, int] | None
    models: tuple[Any, ...] | None
    delay: int | None
    goal: str
    _slowest: bool  # the slowest stream sets the clock
    _outside: np.ndarray  # int64[3, streams]: rows that arrived, came late, had no key
    _dropped: np.ndarray  # int64[streams]
    _elsewhere: np.ndarray  # int64[streams]: how far each has come elsewhere
    _departures: departures.DepartureLog

    def _divide(self, shares: Sequence[float] | None, scale: int | None) -> None:
        """Divide the budget among the memories, when policy and form are known."""
        budget, lanes = self.budget, self.form.lanes
        self.footprint = self._divided(scale, self.models, self.form)
        self._budgets = [NO_LIMIT] * lanes
        if budget is not None:
            self._budgets = split_budget(self._for_rows(budget), lanes, shares)
        whole = sum(self._budgets)
        self._proportion = tuple(each / whole for each in self._budgets)
        self._scales = self._scales_of(self._budgets)

    def resize(self, budget: int) -> None:
        """Go on with another budget; what no longer fits is evicted at once.

        What `auto` tries beside changes in proportion, so that nothing it has learned is lost.

        Args:
            budget: int of at least 0.

        >>> from penstock.engine import Join
        >>> join = Join(policy="fifo", budget=3, within=10)
        >>> join.push(side=[0, 0, 0], key=[7, 8, 9], time=[0, 1, 2]).rows.tolist()
        []
        >>> join.resize(2)
        >>> join.held_rows.tolist(), join.counters["evicted"].tolist()
        ([1, 2], [1, 0])
        """
        if self.budget is None:
            raise BadInput("a join without a budget cannot be resized; restore it with budget=")
        if budget < 0:
            raise BadInput(f"budget must be at least 0, got {budget}")
        if budget == self.budget:
            return
        self._set_budget(budget)
        self._tables.lanes[:, BUDGET] = self._budgets
        self._shrink()
        self._pilot.resize()

    def advance(self, reached: npt.ArrayLike) -> None:
        """Take note how far each stream has come elsewhere, in parts that this join does not see.

        From now on earlier rows come too late. Without a budget what has expired by that is removed
        at the next arrival. With one nothing is: what is evicted must not depend on how often
        this is called.

        Args:
            reached: int[streams]. The largest time of each stream.
        """
        self._elsewhere = np.maximum(self._elsewhere, np.asarray(reached, np.int64))
        if self.budget is None and self._slowest:
            self._tables.seen[:] = self.reached
        elif self.budget is None:
            self._tables.marks[NOW] = self.reached.max()

    def shift_clock(self, by: int) -> None:
        """Move all that is known of how far the streams have come, as the delay may ask for.

        Args:
            by: int. By how much, in the unit of times.
        """
        marks = self._tables.marks[NOW : NOW + 1]
        for known in (self._elsewhere, self._tables.seen, marks):
            known[known != NEVER] += by

    @property
    def reach(self) -> tuple[int, ...] | None:
        """How long after its time a row of each stream can match; None: for ever."""
        if isinstance(self.within, tuple):
            low, high = self.within
            return high, -low
        return None if self.within is None else (self.within,) * self.form.shape.streams

    @property
    def now(self) -> int | None:
        """The largest time seen, or None before the first row."""
        now = int(self._tables.marks[NOW])
        return None if now == NEVER or self.form.counting else now

    @property
    def watermark(self) -> int | None:
        """The time before which rows come too late, or None while there is no such time."""
        if self.form.counting:
            return None
        reached = self.reached.min() if self._slowest else self.reached.max()
        return None if reached == NEVER else int(reached) - (self.delay or 0)

    @property
    def reached(self) -> np.ndarray:
        """How far each stream has come, as far as that is known."""
        seen = self._tables.seen if self._slowest else self._tables.marks[NOW]
        return np.maximum(seen, self._elsewhere)

    @property
    def results(self) -> int:
        """How many results were produced so far."""
        return int(self._tables.counts[:, MATCHED].sum())

    @property
    def rows_matched(self) -> int:
        """How many rows were in at least one result so far, on all sides."""
        return int(self._tables.counts[:, FOUND].sum())

    @property
    def attained(self) -> int:
        """How much of its goal the join has reached so far: results, or rows matched."""
        return self.rows_matched if self.goal == ROWS else self.results

    @property
    def together(self) -> int:
        """How many pairs arrived at the same time (with `together`); they are not results."""
        return int(self._tables.marks[TOGETHER])

    @property
    def counters(self) -> dict[str, np.ndarray]:
        """What happened to the rows so far, per stream."""
        self._departures.read(self._tables.gone)
        arrived, late, null = self._outside.copy()
        inside = self._tables.counts.T.copy()
        outside = arrived, self._dropped.copy(), late, null
        counters = dict(zip((*OUTSIDE, *INSIDE), (*outside, *inside[:4]), strict=True))
        unmatched, evicted = self._departures.counts.copy()
        return counters | {
            "rows_matched": inside[FOUND],
            "completed": inside[COMPLETED],
            "unmatched": unmatched,
            "unmatched_evicted": evicted,
        }

    @property
    def held_rows(self) -> np.ndarray:
        """The numbers of the rows held, in the order in which they were kept."""
        return self._tables.held.at["row"][self._live()]

    @property
    def tuples(self) -> dict[str, np.ndarray]:
        """The key, time and stream of the tuples held, in the order of `held_rows`."""
        live, held = self._live(), self._tables.held
        return {
            "key": held.key[live],
            "time": held.at["time"][live],
            "stream": held.at["stream"][live],
        }

    @property
    def layout(self) -> str:
        """`unified`, or `split` into one memory per stream."""
        return "split" if self.form.lanes > 1 else "unified"

    @property
    def _used(self) -> int:
        return int(self._tables.lanes[:, USED].sum())

    def _make_tables(self, capacity: int) -> join_kernel.JoinTables:
        near = 0 if self.band is None else self.band.bits
        return join_upkeep.make_tables(self.form, capacity, self._budgets, 0, near)

    def _grown_tables(self, old: dict[str, Any], capacity: int) -> join_kernel.JoinTables:
        return join_upkeep.grow_tables(self.form, old, capacity)

    def _reserve(self, arrivals: int) -> None:
        super()._reserve(arrivals)
        self._reserve_late(arrivals)

    def _reserve_late(self, arrivals: int) -> None:
        """Make room for late deadlines; rows that come in order have none, so there may be few."""
        expiry, capacity = self._tables.expiry, self._capacity
        wanted, now = int(expiry.late.size[0]) + arrivals, len(expiry.late.node)
        if now < min(wanted, capacity):
            room = min(capacity, max(wanted, larger(now)))
            expiry = slots.with_room_for_late(expiry, room)
            self._tables = self._tables._replace(expiry=expiry)

    def _setup(self, capacity: int, scale: int, lane: int) -> Setup:
        shape, together = self.form.shape, self.form.together
        return Setup(capacity, scale, self.seed + lane, shape, together, JOINING, self.models)

    def _families(self) -> list[list[Configured]]:
        return policies.families(JOINING, self.form.shape.is_plain, self.within is not None)

    @property
    def _shares(self) -> tuple[float, ...] | None:  # type: ignore[override]
        return self._proportion if self.form.lanes > 1 else None

    def _scales_of(self, budgets: list[int]) -> list[int]:
        """Return how many rows each memory is expected to hold."""
        if self.budget is None or self.sized:
            return [max(1, self.footprint.rows // len(budgets))] * len(budgets)
        return budgets

    def _for_rows(self, budget: int) -> int:
        """Return what is left of a budget for rows."""
        return max(0, budget - self.footprint.fixed)

    def _set_budget(self, budget: int) -> None:
        """Divide another budget as this one is."""
        self.budget = budget
        self._budgets = parts_of(self._for_rows(budget), self.form.lanes, self._shares)

    def _shrink(self) -> None:
        """Evict what does not fit the budget."""
        lanes = self._tables.lanes
        if (lanes[:, USED] > lanes[:, BUDGET]).any():
            self._reserve_departures()
            policy, states = self._any_hooks()
            shrink = join_upkeep.compile_shrink(policy, self.form)
            now = int(self._tables.marks[NOW])
            shrink(self._tables, states, self._live(), self._unmarked(), now)

    def _shadow_budgets(self, share: float) -> list[int]:
        """Return the memories of a shadow cache, which is shown a share of the keys."""
        cold = cold_share(self._tables.held.key[self._live(), 0], self._pilot.hot)
        return [max(1, round(each * share * cold)) for each in self._budgets]

    def _can_hand_on(self, shadow: Engine) -> bool:
        assert isinstance(shadow, JoinMemory)
        return shadow.form == self.form

    def _fit(self, shadow: Engine, share: float) -> None:
        assert isinstance(shadow, JoinMemory)
        shadow.resize(sum(self._shadow_budgets(share)))

    def _replay(self, columns: Columns) -> None:
        stream, key, time, deadline, *size = columns
        unknown, unmatched = np.full(len(time), -1), np.zeros(len(time), bool)
        sizes = size[0] if size else unknown[:0]
        rows = Rows(stream, key, time, deadline, unknown, sizes, unmatched)
        now = int(self._tables.marks[NOW])
        nows = np.arange(now - len(time), now) + 1 if self.form.counting else time
        live = self._live()
        live = live[np.argsort(self._tables.held.at["time"][live], kind="stable")]
        policy, states = self._any_hooks()
        adopt = join_upkeep.compile_join_adoption(policy, self.form)
        nows = np.maximum.accumulate(nows)
        adopt(self._tables, states, live, rows, nows, self._unmarked())

    def _reserve_departures(self, arrivals: int = 0) -> None:
        """Make room to log the departures of all rows, those held and some to come."""
        if self.form.logs_departures:
            gone = departures.with_room(self._tables.gone, self.held + arrivals)
            self._tables = self._tables._replace(gone=gone)
