"""How much was lost by a join of three or more: an exact join of a sample of the keys beside it.

Keys are sampled by a hash, so that all tuples of a sampled key are in the sample. The watch
keeps key, side and time only, and keeps all of them for as long as they live. What it finds in
the sample is what there was to find; what the join itself found of it tells how much was lost.
Sampled keys fall into groups, whose spread tells how far the sample may be off.

At a restart the share of keys can become smaller, and the watch goes on with some of its keys. A
larger share is not taken: what the join had lost of the other keys is not known. Without a budget
the watch goes on, since rows lost before still lose results.
"""

import numpy as np

from ...engine import Join
from ...kernel.rng import hashed
from ..plan import JoinPlan
from .estimate import SUMS, add, no_sums, weighed_groups
from .watched import UNLIMITED, Arrived

GROUPS = 32  # per bucket
SALT = np.uint64(0x2545F4914F6CDD1D)  # the sample must not follow the buckets


def groups_of(keys: np.ndarray, share: float) -> np.ndarray:
    """Return the group of each key, or -1 if it is not in the sample."""
    word = hashed(keys, SALT)
    chosen = (word >> np.uint64(11)) < np.uint64(round(share * 2**53))
    return np.where(chosen, (word % np.uint64(GROUPS)).astype(np.int64), -1)


class KeyWatch:
    """The exact join of the sampled keys of one bucket."""

    def __init__(self, plan: JoinPlan):
        self.streams, self.within, self.joins = len(plan.inputs), plan.within, plan.joins
        self.share = plan.sample
        self.past = no_sums()  # of shares that were in force before
        self.gone = 0  # rows evicted or rejected so far
        self._begin()

    def _begin(self) -> None:
        """Begin with no rows and no results."""
        self.join = Join(within=self.within, delay=UNLIMITED, clock="fastest", joins=self.joins)
        self.met = np.zeros(GROUPS, np.int64)
        self.found_of = np.zeros(GROUPS, np.int64)
        self.rows = np.zeros(2, np.int64)  # taken, and watched

    def take(self, first: int, time: np.ndarray, rows: Arrived) -> None:
        """Take the rows that the join takes; those of other keys are passed over."""
        if not self.share:
            return
        group = groups_of(rows.key, self.share)
        mine = group >= 0
        self.rows += len(mine), mine.sum()
        if not mine.any():
            return
        before = np.empty(self.join.held, np.int64)
        before[self.join.held_rows] = groups_of(self.join.tuples["key"][:, 0], self.share)
        found = self.join.push(rows.side[mine], rows.key[mine], rows.time[mine]).rows[:, 0]
        belongs = np.concatenate([before, group[mine]])[found]
        self.met += np.bincount(belongs, minlength=GROUPS)
        self.join.renumber()

    def found(self, join: int, rows: np.ndarray, keys: np.ndarray) -> None:
        """Take note of results that the join produced, perhaps not all of a micro-batch."""
        group = groups_of(keys, self.share)
        self.found_of += np.bincount(group[group >= 0], minlength=GROUPS)

    def forget(self, watermark: int | None, gone: int) -> None:
        """Expire rows that can meet nothing any more: no row comes up to the watermark.

        `gone` says how many rows the join evicted or rejected so far, watched or not.
        """
        if watermark is not None:
            self.join.advance(np.full(self.streams, watermark + 1 + UNLIMITED))
        if not self.share:
            self.past["blind"] += gone - self.gone
        self.gone = gone

    def renumber(self, old: np.ndarray, new: np.ndarray) -> None:
        """Do nothing: keys are watched, whatever the numbers of their rows."""

    def resume(
        self, saved: dict[str, np.ndarray], held: Arrived, matched: np.ndarray, gone: int
    ) -> None:
        """Go on beside a join that holds rows and lost some before."""
        wanted = self.share
        if "past" not in saved:  # no keys were watched, or by an earlier version
            self.past["blind"], self.gone = float(gone), gone
            self._start(held)
            return
        self._load(saved)
        before = self.share
        if not before or wanted < before:
            self.past = self.sums()
            if before:
                tuples = self.join.tuples
                held = Arrived(
                    tuples["stream"], tuples["key"][:, 0], tuples["time"], self.join.held_rows
                )
                if not wanted:  # rows lost before go on losing results
                    self.past["blind"] += gone
            self.share = wanted
            self._begin()
            self._start(held)

    def _start(self, rows: Arrived) -> None:
        """Begin with rows that were taken before; their results among each other are counted."""
        mine = groups_of(rows.key, self.share) >= 0
        side, key, time = rows.side[mine], rows.key[mine], rows.time[mine]
        order = np.lexsort((side, time))
        self.join.push(side[order], key[order], time[order], emit=False)
        self.join.renumber()

    @property
    def nbytes(self) -> int:
        """The bytes that watching takes."""
        return self.join.nbytes if self.share else 0

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays."""
        return self.join.save() | {
            "met": self.met,
            "found": self.found_of,
            "rows": self.rows,
            "past": np.array([self.past[name] for name in SUMS]),
            "share": np.array([self.share]),
            "gone": np.array([self.gone]),
        }

    def _load(self, saved: dict[str, np.ndarray]) -> None:
        delay = self.join.delay
        self.join = Join.restore(saved)
        self.join.delay = delay
        self.met, self.found_of = np.array(saved["met"]), np.array(saved["found"])
        self.rows = np.array(saved["rows"])
        self.past = dict(zip(SUMS, map(float, saved["past"]), strict=True))
        self.share, self.gone = float(saved["share"][0]), int(saved["gone"][0])

    def row_sums(self) -> list[dict[str, float]]:
        """Return sums that support no estimate of lost rows, which need a join of two."""
        return [no_sums() | {"blind": float(self.gone)} for _ in range(self.streams)]

    def sums(self) -> dict[str, float]:
        """Return what the estimate needs."""
        if not self.share:
            return self.past
        lost = self.met - self.found_of
        return add(self.past, weighed_groups(self.share, self.met, lost, *self.rows.tolist()))
