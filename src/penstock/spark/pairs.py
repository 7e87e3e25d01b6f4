"""How much was lost by joins of two: a sample of the rows is watched for as long as it lives.

A result belongs to the earlier of its two rows. For each watched row every later partner is
counted, whether the join still holds the row or not, and every result of the row that the join
found. Rows are drawn one by one (`chances`), whatever their key and time: what a row meets and
loses does not depend on whether it is watched, so that the sample tells about all rows.

The share of rows to watch may change at a restart, since each watched row knows its own chance.
While nothing is to be watched, because there is no budget or the share is 0, the rows that were
lost before are watched on, and those still held are not; when watching begins again, it begins
with a draw from the rows held. Rows that are evicted or rejected in between are counted as `blind`.
"""

import numpy as np

from ..engines import Join
from ..engines.nbytes import nbytes
from ..engines.saved import part
from .chances import Chances
from .estimate import SUMS, add, no_sums, weighed
from .followers import LostRows
from .plan import Plan
from .results import Results
from .rows import Side
from .watched import Placed, Watched, begun, no_rows


class PairShadow:
    """The watched rows of one bucket, and what became of them."""

    def __init__(self, plan: Plan, number: int):
        self.joins = joins = plan.joins
        self.within = plan.within
        self.share = plan.sample if plan.budget is not None else 0.0
        streams = {leg[0]: other[0] for a, b in joins for leg, other in ((a, b), (b, a))}
        self.partner = np.array([streams[stream] for stream in range(len(streams))])
        self.chances = Chances(self.share, self.partner, seed_of(plan, number))
        self.rows = no_rows()
        self.past = no_sums()  # over the rows that were watched to their end
        self.gone = 0  # rows evicted or rejected so far
        self.lost_rows = LostRows(self.partner, self.within)
        self._places: list[np.ndarray] | None = None
        self._matched: list[np.ndarray] | None = None  # per side: the rows found in results

    def take(self, rows: Placed) -> None:
        """Take the rows that the join takes."""
        self._places = self._matched = None
        if not len(rows.key):
            return
        rows = rows.pick(np.lexsort((rows.side, rows.time)))
        after = np.zeros(len(self.rows.key), np.int64)
        new = np.zeros(0, np.int64)
        if self.share:
            new = self._watch(rows)
            after = np.concatenate([after, new + 1])
        self.lost_rows.take(rows, new, self.rows.chance[len(after) - len(new) :])
        met = self._partners(after, rows)
        self.rows = self.rows._replace(met=self.rows.met + met, lost=self.rows.lost + met)

    def _watch(self, rows: Placed) -> np.ndarray:
        """Draw rows to watch; return which."""
        chosen, chance = self.chances.draw(rows.side, rows.key)
        self.past["drawn"] += float((chance < 1).sum())
        new = np.flatnonzero(chosen)
        self.rows = self.rows.and_more(begun(rows.pick(new), chance[new]))
        return new

    def _partners(self, after: np.ndarray, new: Placed) -> np.ndarray:
        """Return how many of the new rows, which are in order, each watched row meets."""
        watched, count = self.rows, len(new.key)
        names = np.unique(watched.key)
        if not len(names):
            return np.zeros(0, np.int64)
        place = np.minimum(np.searchsorted(names, new.key), len(names) - 1)
        mine = np.flatnonzero(names[place] == new.key)
        # One number says which list a row is in, and where: (key, side) first, then the order.
        lists = place[mine] * len(self.partner) + new.side[mine]
        rows = np.sort(lists * (count + 1) + mine)
        wanted = np.searchsorted(names, watched.key) * len(self.partner)
        base = (wanted + self.partner[watched.side]) * (count + 1)
        first, last = after, np.full(len(after), count)
        if self.within is not None:
            first = np.maximum(first, np.searchsorted(new.time, watched.time - self.within, "left"))
            last = np.searchsorted(new.time, watched.time + self.within, "right")
        ends = np.searchsorted(rows, base + np.maximum(first, last))
        return ends - np.searchsorted(rows, base + first)

    def found(self, sides: list[Side], results: Results) -> None:
        """Take note of results that the join produced, perhaps not all of a micro-batch."""
        if not len(self.rows.key):
            return
        sizes = [len(side.key) for side in sides]
        places = self._watched_at(sizes)
        if self._matched is None:
            self._matched = [np.zeros(size, bool) for size in sizes]
        for join, rows in results.found:
            (left, _), (right, _) = self.joins[join]
            a, b = rows[:, 0], rows[:, 1]
            self._matched[left][a] = True
            self._matched[right][b] = True
            times = sides[left].time[a], sides[right].time[b]
            # A row held before came first; of two new ones that of the earlier time and side.
            both_new = (a >= sides[left].held) & (b >= sides[right].held)
            sooner = times[0] <= times[1] if left < right else times[0] < times[1]
            is_left = np.where(both_new, sooner, a < sides[left].held)
            earlier = np.where(is_left, places[left][a], places[right][b])
            self.rows.lost[:] -= np.bincount(earlier[earlier >= 0], minlength=len(self.rows.key))

    def _watched_at(self, sizes: list[int]) -> list[np.ndarray]:
        """Return, for every row of every side, which watched row it is, or -1."""
        if self._places is None:
            self._places = [np.full(size, -1, np.int64) for size in sizes]
            held = np.flatnonzero(self.rows.at >= 0)
            for number, places in enumerate(self._places):
                mine = held[self.rows.side[held] == number]
                places[self.rows.at[mine]] = mine
        return self._places

    def forget(self, real: Join, gone: int) -> None:
        """End the watch of rows that can meet nothing any more.

        `gone` says how many rows the join evicted or rejected so far, watched or not.
        """
        self.lost_rows.settle(self._matched or [], real.watermark)
        if self.within is not None and real.watermark is not None:
            self._close(self.rows.time + self.within < real.watermark)
        if not self.share:
            self.past["blind"] += gone - self.gone
        self.gone = gone

    def keep(self, number: int, kept: np.ndarray, size: int) -> None:
        """Take note which rows of a side, given by position, are held on, out of how many."""
        position = np.full(size + 1, -1, np.int64)  # the last: of a row that is not held
        position[kept] = np.arange(len(kept))
        mine = self.rows.side == number
        self.rows.at[mine] = position[self.rows.at[mine]]
        self.lost_rows.keep(number, position)
        self._places = None

    def _close(self, ended: np.ndarray) -> None:
        """Add watched rows to what is past."""
        if ended.any():
            self.past = add(self.past, _weighed(self.rows.pick(ended)))
            self.rows = self.rows.pick(~ended)
            self._places = None

    def resume(
        self, saved: dict[str, np.ndarray], held: Placed, matched: np.ndarray, gone: int
    ) -> None:
        """Go on beside a join that holds rows, some of them matched, and lost others before."""
        before = 0.0
        if "past" in saved:
            before = float(saved["share"][0])
            self._load(saved)
        else:  # nothing was watched, or by an earlier version
            self.past["blind"], self.gone = float(gone), gone
        if before and not self.share:
            self._close(self.rows.at >= 0)
            self.lost_rows.close_held()
        if self.share and not before:
            found = [matched[held.side == side] for side in range(len(self.partner))]
            held = held.pick(np.lexsort((held.side, held.time)))
            new = self._watch(held)
            self.lost_rows.take(held, new, self.rows.chance[len(self.rows.key) - len(new) :])
            self.lost_rows.settle(found, None)

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
        losses = {f"lost_rows.{name}": array for name, array in self.lost_rows.save().items()}
        return rows._asdict() | marks | self.chances.save() | losses

    def _load(self, saved: dict[str, np.ndarray]) -> None:
        rows = Watched(*(np.array(saved[name]) for name in Watched._fields))
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


def _weighed(rows: Watched) -> dict[str, float]:
    return weighed(rows.chance, rows.met, rows.lost)


def seed_of(plan: Plan, number: int) -> int:
    """Return a seed of the sample of a bucket, which must not follow that of its policy."""
    return (plan.seed << 20) + number + (1 << 62)
