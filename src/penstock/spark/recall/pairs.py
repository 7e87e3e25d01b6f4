"""How much was lost by joins of two: a sample of the rows is watched for as long as it lives.

A result belongs to the earlier of its two rows. For each watched row every later partner is
counted, whether the join still holds the row or not, and every result of the row that the join
found. Rows are drawn one by one (`watched`), whatever their key and time: what a row meets and
loses does not depend on whether it is watched, so that the sample tells about all rows.

The share of rows to watch may change at a restart, since each watched row knows its own chance.
While nothing is to be watched, because there is no budget or the share is 0, the rows that were
lost before are watched on, and those still held are not; when watching begins again, it begins
with a draw from the rows held. Rows that are evicted or rejected in between are counted as `blind`.
"""

import numpy as np

from ...engine.saved import nbytes, part, prefixed
from ...kernel.band import make_band
from ..plan import JoinPlan
from ..runtime.arrow import pieces
from .estimate import SUMS, add, no_sums, weighed
from .lost_rows import LostRows
from .watched import Arrived, Chances, WatchedRows, begun, pick, renumbered, together

CANDIDATES = 1 << 20  # of the partners of watched rows in a band join, compared at a time


class PairWatch:
    """The watched rows of one bucket, and what became of them."""

    def __init__(self, plan: JoinPlan, number: int):
        self.joins = joins = plan.joins
        self.within, self.middle = _middled(plan.within)
        self.share = plan.sample if plan.budget is not None else 0.0
        streams = {leg[0]: other[0] for a, b in joins for leg, other in ((a, b), (b, a))}
        self.partner = np.array([streams[stream] for stream in range(len(streams))])
        seed = (plan.seed << 20) + number + (1 << 62)  # it must not follow that of the policy
        self.chances = Chances(self.share, self.partner, seed)
        self.band = make_band(plan.near)
        none = np.zeros(0, np.int64)
        key = none if self.band is None else none.reshape(0, 2)
        self.rows = begun(Arrived(none, key, none, none), np.zeros(0))
        self.past = no_sums()  # over the rows that were watched to their end
        self.gone = 0  # rows evicted or rejected so far
        self.lost_rows = LostRows(self.partner, self.within)
        self._begin(0, none)

    def _placed(self, rows: Arrived) -> Arrived:
        """Return rows in the order of time, on the scale on which windows are symmetric."""
        rows = rows._replace(time=self._scaled(rows.side, rows.time))
        return pick(rows, np.lexsort((rows.side, rows.time)))

    def _scaled(self, side: np.ndarray, time: np.ndarray) -> np.ndarray:
        return time if self.middle is None else 2 * time - self.middle * (side == 1)

    def _begin(self, first: int, time: np.ndarray) -> None:
        """Begin a micro-batch whose rows are numbered from `first` on, with these times."""
        self._first = first
        self._time = time
        self._matched = np.zeros(len(time), bool)  # of its rows
        self._index: tuple[np.ndarray, np.ndarray] | None = None
        self._old_matched = np.zeros(0, bool)  # of the watched rows

    def take(self, first: int, time: np.ndarray, rows: Arrived) -> None:
        """Take the rows that the join takes of a micro-batch.

        All its rows are numbered from `first` on, and have these times.
        """
        self._begin(first, time)
        if not len(rows.key):
            return
        rows = self._placed(rows)
        after = np.zeros(len(self.rows.key), np.int64)
        after = np.concatenate([after, self._watch(rows) + 1])
        met = self._partners(after, rows)
        self.rows = self.rows._replace(met=self.rows.met + met, lost=self.rows.lost + met)

    def _watch(self, rows: Arrived) -> np.ndarray:
        """Draw rows to watch; return which."""
        new, chance = np.zeros(0, np.int64), np.zeros(0)
        if self.share:
            key = rows.key if self.band is None else rows.key[:, 0]
            chosen, chance = self.chances.draw(rows.side, key)
            self.past["drawn"] += float((chance < 1).sum())
            new = np.flatnonzero(chosen)
            self.rows = together(self.rows, begun(pick(rows, new), chance[new]))
        if self.band is None:
            self.lost_rows.take(rows, new, chance[new])
        return new

    def _partners(self, after: np.ndarray, new: Arrived) -> np.ndarray:
        """Return how many of the new rows, which are in order, each watched row meets."""
        watched = self.rows
        met = np.zeros(len(watched.key), np.int64)
        if not len(met):
            return met
        if self.band is None:
            _, first, last = self._candidates(watched.key, after, new.key, new)
            return last - first
        for step in (-1, 0, 1):
            key = watched.key[:, 0] + step
            rows, first, last = self._candidates(key, after, new.key[:, 0], new)
            for some in pieces(last - first, len(met), CANDIDATES):
                count = last[some] - first[some]
                mine = np.repeat(np.arange(some.start, some.stop), count)
                begin = first[some] - np.cumsum(count) + count
                place = rows[np.arange(len(mine)) + np.repeat(begin, count)] % (len(new.key) + 1)
                near = self.band.near_to(watched.key[mine, 1], new.key[place, 1])
                met += np.bincount(mine[near], minlength=len(met))
        return met

    def _candidates(
        self, key: np.ndarray, after: np.ndarray, new_key: np.ndarray, new: Arrived
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return new rows in lists, and where those begin and end that each watched row meets."""
        watched, count = self.rows, len(new_key)
        names = np.unique(key)
        place = np.minimum(np.searchsorted(names, new_key), len(names) - 1)
        mine = np.flatnonzero(names[place] == new_key)
        # One number says which list a row is in, and where: (key, side) first, then the order.
        lists = place[mine] * len(self.partner) + new.side[mine]
        rows = np.sort(lists * (count + 1) + mine)
        wanted = np.searchsorted(names, key) * len(self.partner)
        base = (wanted + self.partner[watched.side]) * (count + 1)
        first, last = after, np.full(len(after), count)
        if self.within is not None:
            first = np.maximum(first, np.searchsorted(new.time, watched.time - self.within, "left"))
            last = np.searchsorted(new.time, watched.time + self.within, "right")
        ends = np.searchsorted(rows, base + np.maximum(first, last))
        return rows, np.searchsorted(rows, base + first), ends

    def found(self, join: int, rows: np.ndarray, keys: np.ndarray) -> None:
        """Take note of results that the join produced, perhaps not all of a micro-batch."""
        if not len(self.rows.key):
            return
        (left, _), (right, _) = self.joins[join]
        watched = [self._note_matched(rows[:, leg]) for leg in range(2)]
        new = rows >= self._first
        # A row of an earlier micro-batch came first; of two new ones that of the earlier time.
        is_left = ~new[:, 0]
        both = np.flatnonzero(new.all(axis=1))
        times = self._scaled(np.arange(2), self._time[rows[both] - self._first])
        is_left[both] = times[:, 0] <= times[:, 1] if left < right else times[:, 0] < times[:, 1]
        earlier = np.where(is_left, *watched)
        self.rows.lost[:] -= np.bincount(earlier[earlier >= 0], minlength=len(self.rows.key))

    def _note_matched(self, row: np.ndarray) -> np.ndarray:
        """Take note that rows are in results; return which watched row each is, or -1."""
        new = row >= self._first
        self._matched[row[new] - self._first] = True
        watched = self._watched(row)
        self._old_matched[watched[watched >= 0]] = True
        return watched

    def _watched(self, row: np.ndarray) -> np.ndarray:
        """Return which watched row each of some rows is, or -1."""
        if self._index is None:
            order = np.argsort(self.rows.row, kind="stable")
            self._index = order, self.rows.row[order]
            self._old_matched = np.zeros(len(order), bool)
        order, known = self._index
        place = np.minimum(np.searchsorted(known, row), len(known) - 1)
        return np.where((known[place] == row) & (row >= 0), order[place], -1)

    def _is_matched(self, row: np.ndarray) -> np.ndarray:
        """Tell which rows, new or watched, were in results of this micro-batch."""
        if self._index is None:
            return np.zeros(len(row), bool)
        watched = self._watched(row)
        found = np.where(watched >= 0, self._old_matched[watched], False)
        new = row >= self._first
        found[new] = self._matched[row[new] - self._first]
        return found

    def forget(self, watermark: int | None, gone: int) -> None:
        """End the watch of rows that can meet nothing any more: no row comes up to the watermark.

        `gone` says how many rows the join evicted or rejected so far, watched or not.
        """
        if watermark is not None and self.middle is not None:
            watermark = 2 * watermark - max(0, self.middle)  # where both sides have come
        self.lost_rows.close(self._is_matched, None if watermark is None else watermark + 1)
        if self.within is not None and watermark is not None:
            self._close(self.rows.time + self.within <= watermark)
        if not self.share:
            self.past["blind"] += gone - self.gone
        self.gone = gone

    def renumber(self, old: np.ndarray, new: np.ndarray) -> None:
        """Know rows by other numbers; `old` ascends, and rows that are not in it are not held."""
        self.rows = self.rows._replace(row=renumbered(self.rows.row, old, new))
        self.lost_rows.renumber(old, new)
        self._begin(0, np.zeros(0, np.int64))

    def _close(self, ended: np.ndarray) -> None:
        """Add watched rows to what is past."""
        if ended.any():
            self.past = add(self.past, _weighed(pick(self.rows, ended)))
            self.rows = pick(self.rows, ~ended)
            self._index = None

    def resume(
        self, saved: dict[str, np.ndarray], held: Arrived, matched: np.ndarray, gone: int
    ) -> None:
        """Go on beside a join that holds rows, some of them matched, and lost others before."""
        before = 0.0
        if "past" in saved:
            before = float(saved["share"][0])
            self._load(saved)
        else:  # nothing was watched, or by an earlier version
            self.past["blind"], self.gone = float(gone), gone
        if before and not self.share:
            self._close(np.isin(self.rows.row, held.row))
            self.lost_rows.close_held(held.row)
        if self.share and not before:
            found = held.row[matched]
            self._watch(self._placed(held))
            if self.band is None:
                self.lost_rows.close(lambda row: np.isin(row, found), None)

    @property
    def nbytes(self) -> int:
        """The bytes that watching takes."""
        watched = self.rows, self.chances.counts, *self.lost_rows.tables
        return nbytes(*watched) if self.share or len(self.rows.key) else 0

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays."""
        rows = self.rows._replace(side=self.rows.side.astype(np.int8))
        past = np.array([self.past[name] for name in SUMS])
        marks = {"past": past, "share": np.array([self.share]), "gone": np.array([self.gone])}
        losses = prefixed("lost_rows.", self.lost_rows.save())
        return rows._asdict() | marks | self.chances.save() | losses

    def _load(self, saved: dict[str, np.ndarray]) -> None:
        rows = WatchedRows(*(np.array(saved[name]) for name in WatchedRows._fields))
        self.rows = rows._replace(side=rows.side.astype(np.int64))
        self.past = dict(zip(SUMS, map(float, saved["past"]), strict=True))
        self.gone = int(saved["gone"][0])
        self.chances.load(saved)
        self.lost_rows.load(part(saved, "lost_rows."))

    def row_sums(self) -> list[dict[str, float]]:
        """Return what the estimate of lost rows needs, per stream."""
        shared = {name: self.past[name] for name in ("drawn", "blind")}
        return [sums | shared for sums in self.lost_rows.sums()]

    def sums(self) -> dict[str, float]:
        """Return what the estimate needs."""
        return add(self.past, _weighed(self.rows))


def _middled(within: int | tuple[int, int] | None) -> tuple[int | None, int | None]:
    """Return a window as one that is symmetric, and by how much right rows are moved for that.

    Twice the time of a right row less low + high, minus twice that of a left row, lies between low
    - high and high - low. Where a window is symmetric as it is, nothing is moved (None).

    >>> _middled((0, 10)), _middled(10)
    ((10, 10), (10, None))
    """
    if not isinstance(within, tuple):
        return within, None
    low, high = within
    return high - low, low + high


def _weighed(rows: WatchedRows) -> dict[str, float]:
    return weighed(rows.chance, rows.met, rows.lost)
