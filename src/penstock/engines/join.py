"""Join streams inside a hard memory budget: batches in, row numbers of the results out.

Payloads stay outside: a row is known by its number, counted over everything pushed, and whoever
holds the payloads looks the numbers up. Two tuples match when their keys are equal and their
times lie within the window; the match is produced when the later arrival finds the earlier one
still held; the dead leave first; after every arrival what is held fits the budget.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import policies
from ..core.gains import GOALS, PAIRS, ROWS
from ..core.policy import JOINING, KEEP_ALL, Chosen, Policy, Setup, grown
from ..core.shape import TWO_WAY, Joins, Shape
from ..errors import BadInput
from . import join_saved, kernel
from .batch import Batch, Window, prepare
from .candidate import Candidate, candidates
from .changeover import compile_join_adoption
from .chooser import Chooser
from .dropping import make_dropping
from .footprint import Footprint, join_footprint, plain_footprint
from .hot import cold_share
from .lanes import moved
from .nbytes import nbytes
from .pilot import Pilot
from .recount import recount
from .refresh import most_arrivals, refreshed
from .shares import parts_of, split_budget
from .standings import FOUND
from .tables import capacity_of, grow_tables, live_slots, make_tables, slots_to_add
from .trials import Columns, Tools

FORMAT = 2
CHUNK = 65_536  # rows between two looks at whether the tables must grow
PART = 2 * CHUNK  # results in one part of `push_parts`, about
NO_LIMIT = 2**62
FIRST, FIRST_SIZED = 1024, 64  # slots to begin with
NEVER = kernel.NEVER
COUNTERS = (
    "arrived",
    "dropped",
    "late",
    "null",
    "matched",
    "expired",
    "evicted",
    "refused",
    "rows_matched",
)


class Matches(NamedTuple):
    """The results of one push."""

    rows: np.ndarray  # int64[n, legs of the widest join]: row numbers in the order of legs; -1 pads
    join: np.ndarray  # int64[n]: which join each result belongs to


class Join:
    """A join of two or more streams, with as much memory as it is given.

    >>> join = Join(policy="fifo", budget=2, within=10)
    >>> join.push(side=[0, 1, 1], key=[7, 7, 8], time=[0, 1, 2]).rows.tolist()
    [[0, 1]]
    >>> join.counters["evicted"].tolist()
    [1, 0]

    Parameters:
        policy: a name with parameters, as in `"gdj:percentile=0.9"`, or a `Policy`. Of some the
            parameters can be found while it runs: `"gdj:percentile=auto"`. With `"auto"` the policy
            itself is, and the layout: `explain()` tells which, and why.
        budget: the rows that may be held; None for all that the window needs. With `in_bytes`: the
            bytes that the join may take in all, payloads included. Of each row `push` is told the
            size of its payload; slots, index, what policies remember and with `auto` all that is
            tried beside are counted by the join itself (`engines.footprint`).
        sized: rows have sizes of any unit, and the budget counts these alone.
        goal: what to get the most of: `pairs`, that is results, or `rows` that are in at least one
            result. It decides what is evicted, never which results are correct.
        within: the window, in units of time, or with `window="count"` in tuples of the stream.
        joins: which streams meet on which attributes; see `core.shape`.
        layout: `unified`, or `split` into one memory per stream in the proportion of `shares`.
        delay: how late a row may come; None: rows must come in the order of time.
        clock: with a delay, which stream sets the clock: the `slowest` (none that lags behind the
            others loses rows; one that falls silent halts expiry), or the `fastest`.
        drop: the chance of a row to be dropped as it comes, as if it had never come.
        together: the discrete-time model, in which rows of equal time do not see each other.
        models: what is known of each stream beforehand (`penstock.models`), for policies that ask.
        seed: where all randomness comes from.
        scale: about how many rows will be held, where sizes do not tell.
    """

    def __init__(
        self,
        policy: str | Policy | Chosen = policies.DEFAULT,
        budget: int | None = None,
        *,
        goal: str = PAIRS,
        within: int | None = None,
        window: str = "time",
        joins: Joins = TWO_WAY,
        layout: str = "unified",
        shares: Sequence[float] | None = None,
        delay: int | None = None,
        clock: str = "slowest",
        drop: float = 0.0,
        together: bool = False,
        sized: bool = False,
        in_bytes: bool = False,
        seed: int = 0,
        models: Sequence[Any] | None = None,
        scale: int | None = None,
    ):
        _check(budget, goal, within, window, layout, delay, clock, drop, together)
        shape = Shape(joins)
        lanes = shape.streams if layout == "split" else 1
        self.chosen = policies.choose(policy, JOINING)
        if budget is None:
            self.chosen = Chosen(KEEP_ALL, {})
        self.budget = budget
        self._first_budget = budget  # which samples and tables go by
        self.within = within
        self.delay = delay
        self.clock = clock
        self.seed = seed
        self._dropping = make_dropping(drop, seed)
        self.models = None if models is None else tuple(models)
        self._slowest = clock == "slowest" and delay is not None and window == "time"
        self._asked_layout = layout
        self.goal = goal
        # Without a budget nothing is evicted, so that there is nothing to weigh.
        rows = goal == ROWS and budget is not None
        counted = sized or in_bytes
        self.form = kernel.Form(shape, lanes, window == "count", together, counted, rows)
        self.in_bytes = in_bytes and budget is not None
        self.footprint = self._footprint(scale)
        whole = None if budget is None else self._for_rows(budget)
        self._budgets = _budgets(whole, lanes, shares)
        self._proportion = _proportion(self._budgets)
        self._scales = self._scales_of(self._budgets)
        first = min(FIRST_SIZED if self.form.sized else FIRST, sum(self._budgets))
        self._tables = make_tables(self.form, first, self._budgets)
        self._pilot = Pilot(
            self.chosen,
            self.footprint.rows,
            self.footprint.room,
            self._tools,
            self._shares,
            self._candidates,
        )
        self._states = self._fresh_states()
        self._next_row = 0
        self._outside = np.zeros((3, shape.streams), np.int64)  # arrived, late, null
        self._dropped = np.zeros(shape.streams, np.int64)
        self._told = np.full(shape.streams, NEVER)  # by `advance`

    def push(
        self,
        side: npt.ArrayLike,
        key: npt.ArrayLike,
        time: npt.ArrayLike | None = None,
        *,
        end: npt.ArrayLike | None = None,
        null: npt.ArrayLike | None = None,
        size: npt.ArrayLike | None = None,
        emit: bool = True,
    ) -> Matches:
        """Take a batch and return what it matched.

        `side` numbers the streams from 0. `key` is int64[n], or int64[n, attributes]. Without
        `time` the rows are taken as they come, one unit apart. `end` gives each row its own last
        moment instead of the window. `null` marks rows whose key is missing: they are counted and
        match nothing. `size` is in bytes. With `emit=False` results are counted and not listed.
        """
        batch = self._batch(side, key, time, end, null, size)
        return self._matches(self._take(batch.rows, kernel.LIST if emit else kernel.COUNT))

    def push_parts(
        self,
        side: npt.ArrayLike,
        key: npt.ArrayLike,
        time: npt.ArrayLike | None = None,
        *,
        end: npt.ArrayLike | None = None,
        null: npt.ArrayLike | None = None,
        size: npt.ArrayLike | None = None,
        most: int = PART,
    ) -> Iterator[Matches]:
        """Take a batch as `push` does, and return what it matched in parts of about `most` results.

        >>> join = Join(policy="fifo", budget=3, within=10)
        >>> parts = join.push_parts([0, 0, 1, 1], [7, 7, 7, 7], [0, 1, 2, 3], most=2)
        >>> [part.rows.tolist() for part in parts]
        [[[1, 2], [0, 2]], [[1, 3], [0, 3]]]

        The rows are taken while the parts are read: read all of them before anything else is asked
        of the join. However many results there are, only one part is in memory, and it has less
        than twice `most` results, or those of one row, which stay together: in a join of two
        streams at most the rows held of one key, in a join of more the product over the others.
        """
        batch = self._batch(side, key, time, end, null, size)
        return self._bundled(batch.rows, most)

    def _bundled(self, rows: kernel.Rows, most: int) -> Iterator[Matches]:
        """Return the results of rows in parts that are worth handling."""
        waiting: list[np.ndarray] = []
        count = 0
        for found in self._parts(rows, kernel.LIST, most):
            waiting.append(found)
            count += len(found)
            if count >= most:
                yield self._matches(np.concatenate(waiting))
                waiting, count = [], 0
        if count:
            yield self._matches(np.concatenate(waiting))

    def tally(
        self,
        side: npt.ArrayLike,
        key: npt.ArrayLike,
        time: npt.ArrayLike | None = None,
        *,
        size: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        """Take a batch and return how many results each row completed, without listing them.

        >>> Join(policy="fifo", budget=2, within=10).tally([0, 0, 1], [7, 7, 7], [0, 1, 2]).tolist()
        [0, 0, 2]
        """
        return self.tallies(side, key, time, size=size)[0]

    def tallies(
        self,
        side: npt.ArrayLike,
        key: npt.ArrayLike,
        time: npt.ArrayLike | None = None,
        *,
        size: npt.ArrayLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Take a batch; return for each row the results it completed, and the rows first matched.

        The second counts the rows that are in a result for the first time when this row comes: held
        ones, and the row itself.

        >>> join = Join(policy="fifo", budget=3, within=10)
        >>> results, matched = join.tallies([0, 0, 1, 1], [7, 7, 7, 7], [0, 1, 2, 3])
        >>> results.tolist(), matched.tolist()
        ([0, 0, 2, 2], [0, 0, 3, 1])
        """
        if self.form.together:
            raise BadInput("tally needs rows that are taken one by one; leave out together=")
        first = self._next_row
        rows = self._batch(side, key, time, None, None, size).rows
        found = np.zeros((2, self._next_row - first), np.int64)
        found[:, rows.row - first] = self._take(rows, kernel.TALLY)[:, :2].T
        return found[0], found[1]

    def _batch(self, side, key, time, end, null, size) -> Batch:
        """Check a batch, and count who is in it."""
        if self._pilot.policy.needs_window and self.within is None and end is None:
            raise BadInput(
                f"policy {self._pilot.policy.name!r} weighs what remains of a window, and there "
                "is none; pass within=, or end= with the rows"
            )
        window = Window(self.within, self.form.counting, self.delay, self.watermark)
        batch = prepare(
            self.form, window, self._next_row, side, key, time, end, null, size, self._dropping
        )
        if self.in_bytes:
            charged = batch.rows.size + self.footprint.charge
            batch = batch._replace(rows=batch.rows._replace(size=charged))
        self._next_row += int(batch.arrived.sum())
        self._outside += batch.arrived, batch.late, batch.null
        self._dropped += batch.dropped
        return batch

    def _take(self, rows: kernel.Rows, emit: int) -> np.ndarray:
        """Take rows and return all that the kernel wrote of their results."""
        empty = np.empty((0, self._width), np.int64)
        return np.concatenate([empty, *self._parts(rows, emit, NO_LIMIT)])

    @property
    def _width(self) -> int:
        """The columns of a result: its rows, and its join where there are several."""
        return self.form.shape.sides + (len(self.form.shape.joins) > 1)

    def _parts(self, rows: kernel.Rows, emit: int, most: int) -> Iterator[np.ndarray]:
        """Take rows, some at a time, and return what the kernel wrote of their results."""
        shown = self._shown(rows)
        self._pilot.watch(shown, rows.key[:, 0])
        start, taken = 0, len(rows.stream)
        while start < taken:
            stop = self._chunk_end(rows, start)
            self._reserve(stop - start)
            yield from self._run(rows, start, stop, emit, most)
            self._states = tuple(refreshed(self._pilot.policy, each) for each in self._states)
            if self._pilot.learn(shown, start, stop, self.attained):
                self._follow()
            if self._pilot.looked:
                self._move_lanes()
            start = stop

    def _run(
        self, rows: kernel.Rows, start: int, stop: int, emit: int, most: int
    ) -> Iterator[np.ndarray]:
        """Take some rows, coming back whenever the results fill a page or no slot is left.

        A page has `most` lines, or as many as one row needs.
        """
        run = kernel.compile_join(self._pilot.policy, self.form)
        lines = (0, min(2 * (stop - start), most), stop - start)[emit]
        page = np.empty((lines, self._width), np.int64)
        clock = self.delay or 0, self._slowest
        while start < stop:
            before = start
            start, found, need = run(
                self._tables, self._states, rows, start, stop, *clock, emit, page
            )
            if need == kernel.SLOTS:
                self._grow(self._next_capacity(rows, start))
            if emit == kernel.TALLY:
                yield page[: start - before].copy()
            elif emit == kernel.COUNT:
                continue
            elif 2 * found < len(page):  # what the kernel foresees is often too much
                yield page[:found].copy()
            else:
                yield page[:found]
                page = np.empty_like(page)
            if need > len(page):
                page = np.empty((need, self._width), np.int64)

    def _chunk_end(self, rows: kernel.Rows, start: int) -> int:
        taken = len(rows.stream)
        stop = min(start + CHUNK, taken, start + most_arrivals(self._pilot.policy, self._states))
        stop = self._pilot.stop(stop)
        if self.form.together:  # rows of one time must not be torn apart
            while stop < taken and rows.time[stop] == rows.time[stop - 1]:
                stop += 1
        return stop

    def _follow(self) -> None:
        """Go on as the pilot says: under other parameters, or ruled by another policy."""
        if self._pilot.retunes:
            self._states = tuple(self._pilot.adopted(each) for each in self._states)
        else:
            self._change_over(self._pilot.candidate)

    def _candidates(self) -> tuple[Candidate, ...]:
        """Return what `auto` chooses from; a layout that was asked for stays."""
        tried = candidates(self._families(), self.form.shape.streams, self._is_free)
        return (
            tuple(each._replace(shares=self._shares) for each in tried) if self._shares else tried
        )

    def _families(self) -> list[list[Chosen]]:
        return policies.families(JOINING, self.form.shape.is_plain, self.within is not None)

    @property
    def _is_free(self) -> bool:
        """Whether `auto` may change the layout."""
        return bool(self.chosen.all_params.get("split")) and self.layout == "unified"

    def _tools(self, share: float) -> Tools:
        make = functools.partial(self._miniature, share=share)
        fit = functools.partial(self._fit, share=share)
        return Tools(make, fit, _show, _found, Join.restore, alike=True)

    @property
    def layout(self) -> str:
        """`unified`, or `split` into one memory per stream."""
        return "split" if self.form.lanes > 1 else "unified"

    @property
    def _shares(self) -> tuple[float, ...] | None:
        return self._proportion if self.form.lanes > 1 else None

    def _scales_of(self, budgets: list[int]) -> list[int]:
        """Return how many rows each memory is expected to hold."""
        if self.budget is None or self.form.sized:
            return [max(1, self.footprint.rows // len(budgets))] * len(budgets)
        return budgets

    def _footprint(self, scale: int | None) -> Footprint:
        """Return how the budget is divided: all of it is for rows, unless it counts everything."""
        if self.budget is not None and self.in_bytes:
            families = self._families() if self.chosen.policy is policies.AUTO else []
            return join_footprint(
                self.budget, self.chosen, self.form, self.models, families, self._is_free, scale
            )
        return plain_footprint(self.budget, self.form.sized, scale)

    def _for_rows(self, budget: int) -> int:
        """Return what is left of a budget for rows."""
        return max(0, budget - self.footprint.fixed)

    def _miniature(self, candidate: Candidate, share: float) -> "Join":
        """Return a join like this one, ruled by a candidate, for a share of the keys."""
        form, budgets, within = self.form, self._in_miniature(candidate, share), self.within
        if form.counting and within is not None:
            within = max(1, round(within * share))
        return Join(
            candidate.chosen,
            sum(budgets),
            goal=self.goal,
            within=within,
            window="count" if form.counting else "time",
            joins=form.shape.joins,
            layout=candidate.layout,
            shares=[each / sum(budgets) for each in budgets],
            delay=self.delay,
            clock=self.clock,
            together=form.together,
            sized=form.sized,
            seed=self.seed,
            models=self.models,
            scale=max(1, round(self.footprint.rows * share)),
        )

    def _in_miniature(self, candidate: Candidate, share: float) -> list[int]:
        """Return the memories of a candidate's miniature, which sees a share of the keys."""
        lanes = 1 if candidate.shares is None else self.form.shape.streams
        parts = parts_of(sum(self._budgets), lanes, candidate.shares)
        cold = cold_share(self._tables.held.key[self._live(), 0], self._pilot.hot)
        return [max(1, round(each * share * cold)) for each in parts]

    def _fit(self, miniature: "Join", candidate: Candidate, share: float) -> None:
        """Bring a miniature to the size that it would be made in now."""
        miniature.resize(sum(self._in_miniature(candidate, share)))

    def _lay_out(self, candidate: Candidate) -> None:
        """Divide the memory as a candidate has it; each part keeps what it holds."""
        lanes = 1 if candidate.shares is None else self.form.shape.streams
        held, live = self._tables.held.at, self._live()
        size = held["size"][live] if self.form.sized else np.ones(len(live), np.int64)
        lane = held["stream"][live] if lanes > 1 else np.zeros(len(live), np.int64)
        used = np.bincount(lane, size, lanes).astype(np.int64)
        self.form = self.form._replace(lanes=lanes)
        self._budgets = parts_of(sum(self._budgets), lanes, candidate.shares)
        self._proportion = candidate.shares or (1.0,)
        self._scales = self._scales_of(self._budgets)
        target = np.array(self._budgets)
        sizes = np.stack([used, moved(used, used, target)], axis=1)
        self._tables = self._tables._replace(lanes=np.ascontiguousarray(sizes))

    def _move_lanes(self) -> None:
        """Bring the memories of a new layout nearer to their sizes."""
        lanes, target = self._tables.lanes, np.array(self._budgets)
        if (lanes[:, kernel.BUDGET] != target).any():
            used, sizes = lanes[:, kernel.USED], lanes[:, kernel.BUDGET]
            lanes[:, kernel.BUDGET] = moved(used, sizes, target)

    def _change_over(self, candidate: Candidate) -> None:
        """Let another candidate rule, after it has lived through what came lately."""
        self._lay_out(candidate)
        self._states = self._fresh_states()
        policy, (stream, key, time, deadline, *size) = self._pilot.policy, self._pilot.lately
        if policy.reserve is not None:
            reserve = policy.reserve
            self._states = tuple(reserve(each, len(time)) for each in self._states)
        unknown = np.full(len(time), -1)
        sizes = size[0] if size else unknown[:0]
        unmatched = np.zeros(len(time), bool)
        rows = kernel.Rows(stream, key, time, deadline, unknown, sizes, unmatched)
        now = int(self._tables.marks[kernel.NOW])
        nows = np.arange(now - len(time), now) + 1 if self.form.counting else time
        live = self._live()
        live = live[np.argsort(self._tables.held.at["time"][live], kind="stable")]
        known = np.zeros(capacity_of(self._tables.free) + 1, bool)
        adopt = compile_join_adoption(policy, self.form)
        adopt(self._tables, self._states, live, rows, np.maximum.accumulate(nows), known)
        self._states = tuple(refreshed(policy, each) for each in self._states)

    def _shown(self, rows: kernel.Rows) -> Columns:
        """Return what a miniature has to know of the rows."""
        columns = rows.stream, rows.key, rows.time, rows.deadline
        return (*columns, rows.size) if self.form.sized else columns

    @property
    def in_force(self) -> Chosen:
        """The policy with the parameters that are in force now, also those found by itself."""
        return self._pilot.in_force

    @property
    def chooser(self) -> Chooser | None:
        """Who chooses the policy, with `auto`."""
        return self._pilot.chooser

    def explain(self) -> dict[str, Any]:
        """Return what rules, and with `auto` since when, why, and what else was tried."""
        return {"layout": self.layout} | self._pilot.explain()

    def _matches(self, found: np.ndarray) -> Matches:
        sides = self.form.shape.sides
        if found.shape[1] == sides:
            return Matches(found, np.zeros(len(found), np.int64))
        return Matches(found[:, :sides], found[:, sides])

    def _fresh_states(self, scales: Sequence[int] | None = None) -> tuple[Any, ...]:
        """Return empty states; `scales` are those of the memories, if nothing else is said."""
        capacity = capacity_of(self._tables.free)
        return tuple(
            self._pilot.ruling.make_state(
                Setup(
                    capacity,
                    scale,
                    self.seed + lane,
                    self.form.shape,
                    self.form.together,
                    JOINING,
                    self.models,
                )
            )
            for lane, scale in enumerate(self._scales if scales is None else scales)
        )

    def _reserve(self, arrivals: int) -> None:
        """Make sure that the next `arrivals` rows find room in every table."""
        if not self.form.sized:  # bytes do not tell how many slots they need: the kernel does
            capacity, most = capacity_of(self._tables.free), sum(self._budgets)
            wanted = min(self.held + arrivals, most)
            if wanted > capacity:
                self._grow(max(wanted, min(capacity * 3 // 2, most)))
        reserve = self._pilot.policy.reserve
        if reserve is not None:
            self._states = tuple(reserve(state, arrivals) for state in self._states)

    def _next_capacity(self, rows: kernel.Rows, start: int) -> int:
        """Return how many slots to go on with where all are taken and the budget in bytes is not.

        Half as many again, but hardly more than rows of the sizes seen will need.
        """
        capacity = capacity_of(self._tables.free)
        at_once = int(np.count_nonzero(rows.time == rows.time[start])) if self.form.together else 1
        return capacity + slots_to_add(
            capacity, self.held, self.used - self.footprint.fixed, sum(self._budgets), at_once
        )

    def _grow(self, capacity: int) -> None:
        parts = self._tables._asdict()
        del self._tables
        self._tables = grow_tables(self.form, parts, capacity)
        # Only what there is for each slot grows: the rest need not be made for its scale again.
        fresh = self._fresh_states([1] * len(self._scales))
        self._states = tuple(grown(a, b) for a, b in zip(self._states, fresh, strict=True))

    @property
    def drop(self) -> float:
        """The chance of a row to be dropped as it comes."""
        return self._dropping.rate

    @property
    def now(self) -> int | None:
        """The largest time seen, or None before the first row."""
        now = int(self._tables.marks[kernel.NOW])
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
        seen = self._tables.seen if self._slowest else self._tables.marks[kernel.NOW]
        return np.maximum(seen, self._told)

    def resize(self, budget: int) -> None:
        """Go on with another budget, which may be 0; what no longer fits is evicted at once.

        What `auto` tries beside changes in proportion, so that nothing it has learned is lost.

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
        self._budgets = parts_of(self._for_rows(budget), self.form.lanes, self._shares)
        self.budget = budget
        lanes, sizes = self._tables.lanes, np.array(self._budgets)
        if lanes[:, kernel.USED].sum() <= sizes.sum():
            sizes = moved(lanes[:, kernel.USED], lanes[:, kernel.BUDGET], sizes)
        lanes[:, kernel.BUDGET] = sizes
        self._shrink()
        self._pilot.resize()

    def _shrink(self) -> None:
        """Evict what does not fit the budget."""
        lanes = self._tables.lanes
        if (lanes[:, kernel.USED] > lanes[:, kernel.BUDGET]).any():
            shrink = kernel.compile_shrink(self._pilot.policy, self.form)
            gone = np.zeros(capacity_of(self._tables.free) + 1, bool)
            now = int(self._tables.marks[kernel.NOW])
            shrink(self._tables, self._states, self._live(), gone, now)

    def advance(self, reached: npt.ArrayLike) -> None:
        """Take note how far each stream has come elsewhere, in parts that this join does not see.

        From now on earlier rows come too late. Without a budget what this leaves without a future
        leaves at the next arrival. With one nothing does: what is evicted must not depend on how
        often somebody tells the time.
        """
        self._told = np.maximum(self._told, np.asarray(reached, np.int64))
        if self.budget is None and self._slowest:
            self._tables.seen[:] = self.reached
        elif self.budget is None:
            self._tables.marks[kernel.NOW] = self.reached.max()

    @property
    def held(self) -> int:
        """How many tuples are held."""
        return capacity_of(self._tables.free) - int(self._tables.free[0])

    @property
    def used(self) -> int:
        """Rows held, or what the budget counts instead: sizes, or all bytes that are taken."""
        return int(self._tables.lanes[:, kernel.USED].sum()) + self.footprint.fixed

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays that the join keeps, also for what `auto` tries beside it."""
        return nbytes(self._tables, self._states) + self._pilot.nbytes

    @property
    def results(self) -> int:
        """How many results were produced so far."""
        return int(self._tables.counts[:, kernel.MATCHED].sum())

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
        return int(self._tables.marks[kernel.TOGETHER])

    @property
    def counters(self) -> dict[str, np.ndarray]:
        """What happened to the rows so far, per stream."""
        arrived, late, null = self._outside.copy()
        inside = self._tables.counts.T.copy()
        counts = [arrived, self._dropped.copy(), late, null, *inside[:4], inside[FOUND]]
        return dict(zip(COUNTERS, counts, strict=True))

    @property
    def held_rows(self) -> np.ndarray:
        """The numbers of the rows held, in the order in which they were kept."""
        return self._tables.held.at["row"][self._live()]

    @property
    def held_matched(self) -> np.ndarray:
        """Which of the rows held were in a result already, in the order of `held_rows`."""
        return self._tables.held.at["matched"][self._live()].astype(bool)

    def _live(self) -> np.ndarray:
        return live_slots(self._tables.free, self._tables.held.at["born"])

    @property
    def tuples(self) -> dict[str, np.ndarray]:
        """The key, time and stream of the tuples held, in the order of `held_rows`."""
        live, held = self._live(), self._tables.held
        return {
            "key": held.key[live],
            "time": held.at["time"][live],
            "stream": held.at["stream"][live],
        }

    def renumber(self) -> np.ndarray:
        """Number the held rows 0, 1, ... in the order of `held_rows`, and go on from there.

        Returns their old numbers: whoever holds the payloads keeps just these, in this order.
        """
        live = self._live()
        rows = self._tables.held.at["row"]
        old = rows[live]
        rows[live] = np.arange(len(live))
        self._next_row = len(live)
        return old

    def check(self) -> None:
        """Recount every structure; raises AssertionError where two of them disagree."""
        recount(
            self._tables,
            self._states,
            self._pilot.policy,
            self.form,
            self._live(),
            sum(self._budgets),
        )

    def save(self, copy: bool = True) -> dict[str, np.ndarray]:
        """Return the whole state as plain arrays; `restore` goes on as if nothing had happened.

        Without `copy` some of them are the join's own, to be written before it goes on: a copy
        takes up to half as much memory again.
        """
        return join_saved.save(self, copy)

    @classmethod
    def restore(
        cls,
        saved: dict[str, np.ndarray],
        *,
        policy: str | Policy | Chosen | None = None,
        budget: int | str | None = "same",
        goal: str | None = None,
        resized: int | None = None,
        in_bytes: bool | None = None,
        size: npt.ArrayLike | None = None,
    ) -> "Join":
        """Return a join that goes on where `save` left off.

        With another `budget` (None: no limit) the policy evicts what no longer fits; `resized` is
        what it has been resized to (`resize`), by default what it was when it was saved. Another
        `policy` meets the held tuples as if they had just arrived, and so does the same one with
        another `goal`, or if the budget counts something else now: bytes (`in_bytes=True`, with the
        payload's `size` of each held tuple in the order of `held.time`) or rows (`in_bytes=False`).
        """
        saved = join_saved.recounted(saved, in_bytes, size)
        header = join_saved.read_header(saved)
        join = cls(**join_saved.arguments(header, policy, budget, goal))
        join_saved.load(join, saved, header, resized)
        return join


def _show(miniature: Join, columns: Columns) -> None:
    stream, key, time, deadline, *size = columns
    end = None if miniature.form.counting else deadline
    miniature.push(stream, key, time, end=end, size=size[0] if size else None, emit=False)


def _found(miniature: Join) -> int:
    return miniature.attained


def _proportion(budgets: list[int]) -> tuple[float, ...]:
    return tuple(each / sum(budgets) for each in budgets)


def _budgets(budget: int | None, lanes: int, shares: Sequence[float] | None) -> list[int]:
    return [NO_LIMIT] * lanes if budget is None else split_budget(budget, lanes, shares)


def _check(budget, goal, within, window, layout, delay, clock, drop, together) -> None:
    if budget is not None and budget < 1:
        raise BadInput(f"budget must be at least 1, got {budget}")
    if goal not in GOALS:
        raise BadInput(f"goal must be 'pairs' or 'rows', got {goal!r}")
    if window not in ("time", "count"):
        raise BadInput(f"window must be 'time' or 'count', got {window!r}")
    if window == "count" and within is None:
        raise BadInput("a count window needs within=, the number of tuples that it holds")
    lowest = 1 if window == "count" else 0
    if within is not None and within < lowest:
        raise BadInput(f"within must be at least {lowest}, got {within}")
    if layout not in ("unified", "split"):
        raise BadInput(f"layout must be 'unified' or 'split', got {layout!r}")
    if delay is not None and delay < 0:
        raise BadInput(f"delay must be at least 0, got {delay}")
    if clock not in ("slowest", "fastest"):
        raise BadInput(f"clock must be 'slowest' or 'fastest', got {clock!r}")
    if drop and window == "count":
        raise BadInput("a count window counts what is dropped too, and drop= hides it; use a time")
    if together and (window == "count" or delay is not None):
        raise BadInput(
            "together needs a time window and rows in order; leave out window= and delay="
        )
