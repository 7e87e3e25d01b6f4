"""Join streams inside a hard memory budget: batches in, row numbers of the results out.

Payloads stay outside: a row is known by its number, counted over everything pushed, and whatever
holds the payloads looks the numbers up. Two tuples match when their keys are equal, in a band join
their values near, and their times within the window; the match is produced when the later arrival
finds the earlier one still held; what has expired is removed first; after every arrival what is
held fits the budget.

Outer joins also return rows that leave the memory without a match, for whatever reason, so that no
row of a preserved side is lost (`departures.py`).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import policies
from ..errors import BadInput
from ..kernel.band import make_band, scrambled
from ..kernel.gains import ROWS
from ..kernel.policy import JOINING, Configured, Policy
from ..kernel.shape import TWO_WAY, Joins, Shape
from . import join_kernel
from .adapt.shadows import Columns
from .base import CHUNK, NO_LIMIT
from .batch import Window, make_dropping, prepare
from .departures import DepartureLog, no_departures
from .join_kernel import COUNT, LIST, NEVER, TALLY, Departures, Rows
from .join_memory import JoinMemory
from .join_options import (
    ALL,
    ANTI,
    INNER,
    ONE,
    PRESERVED,
    SEMI,
    check_partners,
    check_window,
    default_goal,
)
from .saved import arguments, by_stream, load_join, recounted, save_join, unpack_header
from .standings import TAKEN

if TYPE_CHECKING:
    from ..models import Model

PART = 2 * CHUNK  # results in one part of `push_parts`, about
# Options that the kernel depends on.
COMPILED = ("joins", "how", "match", "window", "together", "goal", "departures")


class Matches(NamedTuple):
    """The results of one push."""

    # int64[n, legs of the widest join]: row numbers in the order of legs; -1 pads, and stands for
    # the partner that a row of an outer join did not find
    rows: np.ndarray
    join: np.ndarray  # int64[n]: which join each result belongs to


class Join(JoinMemory):
    """A join of two or more streams, with as much memory as it is given.

    >>> join = Join(policy="fifo", budget=2, within=10)
    >>> join.push(side=[0, 1, 1], key=[7, 7, 8], time=[0, 1, 2]).rows.tolist()
    [[0, 1]]
    >>> join.counters["evicted"].tolist()
    [1, 0]

    Args:
        policy: str, `Policy` or `Configured`; default `"auto"`. What decides which row is evicted:
            the name of a policy, with parameters as in `"gdj:percentile=0.9"`. Of some the
            parameters can be found while the join runs: `"gdj:percentile=auto"`. With `"auto"` the
            policy itself is: `explain()` says which, and why.
        budget: int or None; default None. The rows that may be held; None for all that the window
            needs. With `sized` the sum of their sizes. With `in_bytes` the bytes that the join may
            take in all.
        goal: `"pairs"`, `"rows"` or None; default None. What to get the most of: results, or rows
            that are in at least one result. It decides what is evicted, never which results are
            correct. None: results of an inner join that finds all matches, else rows.
        within: int, pair of int, or None; default None. The window: how far apart the times of
            matching rows may lie, or with `window="count"` how many tuples of its stream a window
            holds. A pair (low, high): in a join of two streams the time of the right row minus that
            of the left one is from low to high. None: rows never expire.
        near: int, float or None; default None. A band join of two streams: rows match when their
            keys are equal and their values (`push(value=)`) are at most this far apart. An int
            compares whole numbers, a float compares floats, of which NaN and infinities match
            nothing.
        how: `"inner"`, `"left"`, `"right"`, `"full"`, `"semi"` or `"anti"`; default `"inner"`. In a
            join of two streams, which rows without a match are results too: with -1 as the other
            row, when they leave the memory. A semi join returns each left row that has a match
            once, an anti join those that have none; both with -1 as the right row.
        match: `"all"`, `"first"` or `"one"`; default `"all"`. In a join of two streams, how many
            partners a row can have: all that match; a left row only the first that arrives; or
            every row one. A row that has its only partner leaves the memory at once.
        window: `"time"` or `"count"`; default `"time"`. What the window is measured in.
        joins: tuple of joins; default two streams that meet on one attribute. Which streams meet on
            which attributes; see `penstock.kernel.shape`.
        layout: `"unified"` or `"split"`; default `"unified"`. One memory for all streams, or one
            memory per stream.
        shares: sequence of float or None; default None, equal shares. With `layout="split"` the
            share of the budget that each stream has; they sum to 1.
        delay: int or None; default None. How late a row may come; None: rows must come in the order
            of time.
        clock: `"slowest"` or `"fastest"`; default `"slowest"`. With a delay, which stream sets the
            clock: the slowest (no stream that lags behind the others loses rows; one that falls
            silent halts expiry), or the fastest.
        drop: float from 0 to below 1; default 0. The chance of a row to be dropped as it comes, as
            if it had never come.
        together: bool; default False. The discrete-time model, in which rows of equal time do not
            match each other.
        sized: bool; default False. Rows have sizes of any unit, and the budget counts these alone.
        in_bytes: bool; default False. The budget is in bytes and counts everything: the payloads,
            whose sizes are passed to `push`, and slots, index, what policies remember and with
            `auto` all that is tried beside, which the join counts itself (`engine.footprint`).
        seed: int; default 0. The seed of everything that is drawn at random.
        models: sequence of `penstock.models.Model`, one per stream, or None; default None. What is
            known of each stream beforehand, for policies that use it.
        scale: int or None; default None. About how many rows will be held, where sizes do not say.
        departures: bool; default False. In a join of two streams, every row that leaves the memory
            is reported: see the method of this name.
    """

    kind, problem = "join", JOINING

    def __init__(
        self,
        policy: str | Policy | Configured = policies.DEFAULT,
        budget: int | None = None,
        *,
        goal: str | None = None,
        within: int | tuple[int, int] | None = None,
        near: int | float | None = None,
        how: str = INNER,
        match: str = ALL,
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
        models: "Sequence[Model] | None" = None,
        scale: int | None = None,
        departures: bool = False,
    ) -> None:
        goal = default_goal(how, match) if goal is None else goal
        shape = Shape(tuple(tuple((stream, each) for stream, each in join) for join in joins))
        check_window(goal, within, window, layout, delay, clock, drop, together)
        check_partners(how, match, within, window, together, shape)
        if departures and not shape.is_plain:
            raise BadInput("departures=True needs a join of two streams; leave out joins=")
        self.band = make_band(near)
        if self.band is not None and not shape.is_plain:
            raise BadInput(f"near={near!r} needs a join of two streams; leave out joins=")
        super().__init__(policy, budget, sized, in_bytes, seed)
        self.within = tuple(within) if isinstance(within, list) else within
        self.how = how
        self.delay = delay
        self.goal = goal
        self.options |= {
            "goal": goal,
            "within": self.within,
            "near": None if self.band is None else self.band.near,
            "how": how,
            "match": match,
            "window": window,
            "joins": shape.joins,
            "layout": layout,
            "clock": clock,
            "drop": drop,
            "together": together,
            "departures": departures,
        }
        self.models = None if models is None else tuple(models)
        self._dropping = make_dropping(drop, seed)
        self._slowest = clock == "slowest" and delay is not None and window == "time"
        # Without a budget nothing is evicted, so that there is nothing to weigh.
        rows = goal == ROWS and budget is not None
        counting = window == "count"
        single = match != ALL or how in (SEMI, ANTI), match == ONE
        preserved = PRESERVED.get(how, (False,) * shape.streams)
        self.tells_departures = departures
        self._departures = DepartureLog(preserved, shape.sides, departures)
        self._taken = np.zeros((2, 0), np.int64)  # rows of the last push, and their streams
        self.form = join_kernel.Form(
            shape,
            shape.streams if layout == "split" else 1,
            counting,
            together,
            self.sized,
            rows,
            single if any(single) else (),
            departures or any(preserved),
            "" if self.band is None else self.band.kind,
        )
        self._divide(shares, scale)
        self._next_row = 0
        self.late_until: int | None = None  # where others say up to which time rows come too late
        self._outside = np.zeros((3, shape.streams), np.int64)  # arrived, late, null
        self._dropped = np.zeros(shape.streams, np.int64)
        self._elsewhere = np.full(shape.streams, NEVER)  # by `advance`
        self._start()

    def push(
        self,
        side: npt.ArrayLike,
        key: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
        *,
        value: npt.ArrayLike | None = None,
        end: npt.ArrayLike | None = None,
        null: npt.ArrayLike | None = None,
        size: npt.ArrayLike | None = None,
        emit: bool = True,
    ) -> Matches:
        """Take a batch and return what it matched.

        Args:
            side: int[n]. The stream of each row, from 0.
            key: int[n], or int[n, attributes]. In a band join None, the default, stands for one
                key.
            time: int[n] or None; default None. None: the rows are taken as they come, one unit
                apart.
            value: int[n] or float[n]; only in a band join, which needs it. What must be near.
            end: int[n] or None; default None. The last time at which each row can match, instead of
                the window.
            null: bool[n] or None; default None. Rows whose key is missing: they are counted and
                match nothing.
            size: int[n] or None; default None. The size of each row, or with `in_bytes` of its
                payload, where the budget counts that.
            emit: bool; default True. False: results are counted and not listed.
        """
        rows = self._batch(side, key, time, value=value, end=end, null=null, size=size)
        return self._matches(self._take(rows, LIST if emit else COUNT))

    def push_parts(
        self,
        side: npt.ArrayLike,
        key: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
        *,
        most: int = PART,
        pairs: bool = False,
        **columns: npt.ArrayLike | None,
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

        Args:
            most: int; default 131,072. How many results a part has, about.
            pairs: bool; default False. True: what matched is returned as pairs also by semi and
                anti joins.
            columns: `value`, `end`, `null` and `size`, as for `push`.
        """
        return self._bundled(self._batch(side, key, time, **columns), most, pairs)

    def _bundled(self, rows: Rows, most: int, pairs: bool) -> Iterator[Matches]:
        """Return the results of rows in parts that are worth handling."""
        waiting: list[np.ndarray] = []
        count = 0
        for found in self._parts(rows, LIST, most, pairs):
            waiting.append(found)
            count += len(found)
            if count >= most:
                yield self._matches(np.concatenate(waiting))
                waiting, count = [], 0
        if count:
            yield self._matches(np.concatenate(waiting))

    def tallies(
        self,
        side: npt.ArrayLike,
        key: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
        **columns: npt.ArrayLike | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Take a batch; return for each row the results it completed, and the rows first matched.

        The second counts the rows that are in a result for the first time when this row comes: held
        ones, and the row itself. The arguments are those of `push`.

        >>> join = Join(policy="fifo", budget=3, within=10)
        >>> results, matched = join.tallies([0, 0, 1, 1], [7, 7, 7, 7], [0, 1, 2, 3])
        >>> results.tolist(), matched.tolist()
        ([0, 0, 2, 2], [0, 0, 3, 1])
        """
        if self.form.together:
            raise BadInput("tally needs rows that are taken one by one; leave out together=")
        first = self._next_row
        rows = self._batch(side, key, time, **columns)
        found = np.zeros((2, self._next_row - first), np.int64)
        found[:, rows.row - first] = self._take(rows, TALLY)[:, :2].T
        return found[0], found[1]

    def _keyed(self, side, key, null, value) -> tuple[Any, Any]:
        """Return the key columns of a batch and the rows without a key, which are the arguments.

        In a band join these are a cell and a value; rows that a join shows to others have them.
        """
        if self.band is None:
            if value is not None:
                raise BadInput("value is what a band join compares; pass near= to the join")
            if key is None:
                raise BadInput("a join needs the key of every row; pass key=")
            return key, null
        if value is None and np.ndim(key) == 2:
            return key, null
        if value is None:
            raise BadInput("a join with near= compares values; pass value= with the rows")
        bits, absent = self.band.read(value)
        equal = np.zeros(len(bits), np.int64) if key is None else scrambled(key)
        if bits.shape != np.shape(side) or equal.shape != bits.shape:
            raise BadInput(f"value must have as many rows as side and key, got {bits.shape}")
        return self.band.keys(equal, bits), absent if null is None else absent | np.asarray(null)

    def _batch(self, side, key, time, *, value=None, end=None, null=None, size=None) -> Rows:
        """Check a batch, count what is in it, and return the rows to take."""
        key, null = self._keyed(side, key, null, value)
        if self._pilot.policy.needs_window and self.within is None and end is None:
            raise BadInput(
                f"policy {self._pilot.policy.name!r} weighs what remains of a window, and there "
                "is none; pass within=, or end= with the rows"
            )
        late = self.watermark if self.late_until is None else self.late_until + 1
        window = Window(self.reach, self.form.counting, self.delay, late)
        first = self._next_row
        rows, counts, keyless = prepare(
            self.form, window, first, side, key, time, end, null, size, self._dropping
        )
        if self.form.logs_departures and len(keyless):
            self._departures.add(np.asarray(side)[keyless], keyless + first)
        if self.tells_departures:
            self._taken = np.stack([rows.row, rows.stream])
        self._next_row += int(counts[0].sum())
        self._outside += counts[:3]
        self._dropped += counts[3]
        return rows._replace(size=rows.size + self.footprint.charge) if self.in_bytes else rows

    def _take(self, rows: Rows, emit: int) -> np.ndarray:
        """Take rows and return all that the kernel wrote of their results."""
        empty = np.empty((0, self._width), np.int64)
        return np.concatenate([empty, *self._parts(rows, emit, NO_LIMIT)])

    @property
    def _width(self) -> int:
        """The columns of a result: its rows, and its join where there are several."""
        return self.form.shape.sides + (len(self.form.shape.joins) > 1)

    def _parts(self, rows: Rows, emit: int, most: int, pairs: bool = False) -> Iterator[np.ndarray]:
        """Take rows, some at a time, and return what the kernel wrote of their results.

        Semi and anti joins return rows without a partner, unless `pairs` are asked for.
        """
        shown: Columns = (rows.stream, rows.key, rows.time, rows.deadline)
        if self.sized:
            shown = (*shown, rows.size)
        steps = rows.time if self.form.together else None
        alone = self.how in (SEMI, ANTI) and emit == LIST and not pairs
        for start, stop in self._chunks(shown, rows.key[:, 0], steps):
            for found in self._run(rows, start, stop, emit, most):
                if alone:
                    found[:, 1] = -1
                yield found[:0] if alone and self.how == ANTI else found
            if self.form.logs_departures:
                self._departures.read(self._tables.gone)
                due = self._departures.take()
                if emit == LIST:
                    yield due
        if self.form.logs_departures:
            due = self.departed().rows
            if emit == LIST:
                yield due

    def departed(self) -> Matches:
        """Return the results that are due to rows which left the memory outside of a push.

        In an outer join or an anti join, rows that `resize` evicts or `expire` drops are results if
        they found no partner. A push returns those that are due, too.

        >>> join = Join(policy="fifo", budget=2, within=10, how="left")
        >>> join.push(side=[0, 1], key=[7, 8], time=[0, 1]).rows.tolist()
        []
        >>> join.resize(1)
        >>> join.departed().rows.tolist()
        [[0, -1]]
        """
        self._departures.read(self._tables.gone)
        self._tables = self._tables._replace(gone=no_departures())
        return self._matches(self._departures.take())

    def finish(self) -> Matches:
        """Return the results that are due at the end of the input, after which nothing is pushed.

        In an outer join or an anti join these are the rows still held that found no partner.

        >>> join = Join(within=10, how="left")
        >>> join.push(side=[0, 0, 1], key=[7, 8, 7], time=[0, 1, 2]).rows.tolist()
        [[0, 2]]
        >>> join.finish().rows.tolist()
        [[1, -1]]
        """
        at = self._tables.held.at[self._live()]
        at = at[at["matched"] == 0]
        self._departures.add(at["stream"], at["row"])
        return self.departed()

    def departures(self) -> Departures:
        """Return the rows that left the memory since this was last asked, and why (`departures=`).

        A row that left early could match the first `last` rows that were ever taken: `taken` says
        which place a row has in that order.

        >>> join = Join(policy="fifo", budget=1, within=10, departures=True)
        >>> join.push(side=[0, 1, 1], key=[7, 8, 7], time=[0, 1, 2]).rows.tolist()
        []
        >>> gone = join.departures()
        >>> gone.row.tolist(), gone.last.tolist(), join.taken()
        ([0, 1], [2, 3], (1, array([0, 1, 2]), array([0, 1, 1])))
        """
        self._departures.read(self._tables.gone)
        return self._departures.report()

    def taken(self) -> tuple[int, np.ndarray, np.ndarray]:
        """Return what the last push took (`departures=`): rows and their streams, in that order.

        Before them comes the place of the first one among all rows that were ever taken, from 1.
        """
        row, stream = self._taken
        return int(self._tables.counts[:, TAKEN].sum()) - len(row) + 1, row, stream

    def _run(self, rows: Rows, start: int, stop: int, emit: int, most: int) -> Iterator[np.ndarray]:
        """Take some rows, coming back whenever the results fill a page or no slot is left.

        A page has `most` lines, or as many as one row needs.
        """
        lines = (0, min(2 * (stop - start), most), stop - start)[emit]
        page = np.empty((lines, self._width), np.int64)
        clock = self.delay or 0, self._slowest
        self._reserve_departures(stop - start)
        while start < stop:
            first = start
            rest = (rows, start, stop, *clock, emit, page)
            run, states, most_rows = self._pick(self._kernel, rest)
            until = stop if self.form.together else min(stop, start + most_rows)
            rest = (rows, start, until, *clock, emit, page)
            start, found, need = run(self._tables, states, *rest)
            if need == join_kernel.SLOTS:
                last = np.searchsorted(rows.time, rows.time[start], "right")
                self._grow_by_size(int(last) - start if self.form.together else 1)
            if emit == TALLY:
                yield page[: start - first].copy()
            elif emit == COUNT:
                continue
            elif 2 * found < len(page):  # what the kernel foresees is often too much
                yield page[:found].copy()
            else:
                yield page[:found]
                page = np.empty_like(page)
            if need > len(page):
                page = np.empty((need, self._width), np.int64)

    def _kernel(self, policy: Policy) -> Any:
        """Return what takes rows under a policy."""
        return join_kernel.compile_join(policy, self.form)

    def _matches(self, found: np.ndarray) -> Matches:
        sides = self.form.shape.sides
        if found.shape[1] == sides:
            return Matches(found, np.zeros(len(found), np.int64))
        return Matches(found[:, :sides], found[:, sides])

    @property
    def next_row(self) -> int:
        """The number of the next row that is pushed."""
        return self._next_row

    def renumber(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number the held rows 0, 1, ... stream by stream, in the order of `held_rows`.

        Returns their streams, old numbers and new ones in that order. The next row to be pushed
        gets the next number.
        """
        live = self._live()
        rows, stream = self._tables.held.at["row"], self._tables.held.at["stream"][live]
        old, new = rows[live], by_stream(stream)
        rows[live] = new
        self._next_row = len(live)
        return stream, old, new

    def explain(self) -> dict[str, object]:
        """Return what is in force, and with `auto` since when, why, and what else was tried."""
        return {"layout": self.layout} | super().explain()

    def expire(self) -> None:
        """Drop at once what can match nothing any more, instead of at the next arrival."""
        if self.watermark is not None and self.within is not None:
            self._reserve_departures()
            policy, states = self._any_hooks()
            drop = join_kernel.compile_expire(policy, self.form)
            drop(self._tables, states, self.watermark)

    def save(self, copy: bool = True) -> dict[str, np.ndarray]:
        """Return the whole state as plain arrays; `restore` goes on as if nothing had happened.

        Args:
            copy: bool; default True. False: some of the arrays are the join's own, to be written
                before it goes on. A copy takes up to half as much memory again.
        """
        return save_join(self, copy)

    @classmethod
    def restore(
        cls,
        saved: dict[str, np.ndarray],
        *,
        policy: str | Policy | Configured | None = None,
        budget: int | Literal["same"] | None = "same",
        goal: str | None = None,
        resized: int | None = None,
        in_bytes: bool | None = None,
        size: npt.ArrayLike | None = None,
    ) -> "Join":
        """Return a join that goes on where `save` left off.

        Args:
            saved: dict of str to array, as `save` returned it.
            policy: str, `Policy`, `Configured` or None; default None, the policy of then. Another
                one gets the held tuples as if they had just arrived, and so does the same one with
                another `goal`, or if the budget counts something else now.
            budget: int, `"same"` or None; default `"same"`, the budget that the join was made with.
                With a smaller one the policy evicts what no longer fits. None: no limit.
            goal: `"pairs"`, `"rows"` or None; default None, the goal of then.
            resized: int or None; default None, what it was when it was saved. What the budget has
                been resized to (`resize`).
            in_bytes: bool or None; default None, as it was. Whether the budget counts bytes or
                rows from now on.
            size: int[n] or None; default None. With `in_bytes=True` the size of the payload of each
                held tuple, in the order of `saved["held.time"]`.
        """
        saved = recounted(saved, in_bytes, size)
        header = unpack_header(saved, cls.kind)
        given = arguments(header, policy, budget) | ({} if goal is None else {"goal": goal})
        join = cls(**given)
        load_join(join, saved, header, resized)
        return join

    def _header(self) -> dict[str, Any]:
        return super()._header() | {
            "budgets": self._budgets,
            "proportion": self._proportion,
            "delay": self.delay,
            "next_row": self._next_row,
        }

    def _terms(self) -> dict[str, Any]:
        own: dict[str, Any] = {"layout": self.layout, "bounded": self.budget is not None}
        own["near"] = None if self.band is None else type(self.band.near)(1)  # kernels depend on it
        return super()._terms() | {name: self.options[name] for name in COMPILED} | own

    def _shadow(self, chosen: Configured, share: float) -> "Join":
        budgets = self._shadow_budgets(share)
        like = arguments(self._header(), chosen, sum(budgets))
        if self.form.counting and isinstance(self.within, int):
            like["within"] = max(1, round(self.within * share))
        like |= {
            "how": SEMI if self.how in (SEMI, ANTI) else INNER,  # nothing is returned
            "shares": [each / sum(budgets) for each in budgets],
            "drop": 0.0,  # rows that were dropped are not shown
            "departures": False,
            "in_bytes": False,
            "models": self.models,
            "scale": max(1, round(self.footprint.rows * share)),
        }
        return Join(**like)

    def _show(self, columns: Columns) -> None:
        stream, key, time, deadline, *size = columns
        if self.form.counting:
            assert isinstance(self.within, int)
            deadline = np.full(len(time), self.within)
        row = np.arange(self._next_row, self._next_row + len(time))
        self._next_row += len(time)
        sizes, unmatched = size[0] if size else np.empty(0, np.int64), np.zeros(len(time), bool)
        self._take(Rows(stream, key, time, deadline, row, sizes, unmatched), COUNT)
