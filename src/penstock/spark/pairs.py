"""How much was lost: a sample of the rows is watched for as long as it lives.

A result belongs to the earlier of its two rows. For each watched row every later partner is
counted, whether the real join still holds the row or not; what the real join found of these gives
the recall. A key with many rows has as many of them watched, so that one hot key, which may make
half of all results, cannot hide from the sample; and the sample is as small a share of the window
whatever the skew. Whether a row is watched follows from its side, key and time alone.
"""

from typing import Any

import numpy as np

from ..core.jit import jit, kernel
from ..core.rng import mix
from ..engines import Join
from .estimate import GROUPS, sums_of
from .plan import Plan
from .results import Results
from .rows import Side

SALT = np.uint64(0x2545F4914F6CDD1D)  # the sample must not follow the buckets


@jit
def _group(side: Any, key: Any, time: Any, threshold: Any) -> Any:
    word = mix(mix(np.uint64(key) ^ SALT) ^ (np.uint64(time) << np.uint64(4)) ^ np.uint64(side))
    return np.int64(word % np.uint64(GROUPS)) if (word >> np.uint64(11)) < threshold else -1


@kernel
def _groups(side: Any, key: Any, time: Any, threshold: Any, out: Any) -> None:
    for i in range(len(key)):
        out[i] = _group(side[i], key[i], time[i], threshold)


class PairShadow:
    """The watched rows of one bucket, and what became of them."""

    def __init__(self, plan: Plan):
        self.joins = joins = plan.joins
        self.within = plan.within
        self.sample = plan.sample
        streams = {leg[0]: other[0] for a, b in joins for leg, other in ((a, b), (b, a))}
        self.partner = np.array([streams[stream] for stream in range(len(streams))])
        self.side = np.empty(0, np.int64)
        self.key = np.empty(0, np.int64)
        self.time = np.empty(0, np.int64)
        self.expected = np.zeros(GROUPS, np.int64)
        self.actual = np.zeros(GROUPS, np.int64)

    def _groups_of(self, side: np.ndarray, key: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Return the group of each row, or -1 if it is not watched."""
        out = np.empty(len(key), np.int64)
        columns = [np.ascontiguousarray(column, np.int64) for column in (side, key, time)]
        _groups(*columns, np.uint64(round(self.sample * 2**53)), out)
        return out

    def start(self, side: np.ndarray, key: np.ndarray, time: np.ndarray) -> None:
        """Begin beside a join that holds rows already; what it lost before is not known."""
        self._watch(side.astype(np.int64), key, time, self._groups_of(side, key, time) >= 0)

    def take(self, side: np.ndarray, key: np.ndarray, time: np.ndarray) -> None:
        """Take the rows that the real join takes."""
        if not len(key):
            return
        order = np.lexsort((side, time))
        side, key, time = side[order].astype(np.int64), key[order], time[order]
        new = np.flatnonzero(self._groups_of(side, key, time) >= 0)
        watched = [np.concatenate([self.side, side[new]]), np.concatenate([self.key, key[new]])]
        watched.append(np.concatenate([self.time, time[new]]))
        after = np.concatenate([np.zeros(len(self.key), np.int64), new + 1])
        found = self._partners(watched, after, side, key, time)
        group = self._groups_of(*watched)
        self.expected += np.bincount(group, found, minlength=GROUPS).astype(np.int64)
        chosen = np.zeros(len(key), bool)
        chosen[new] = True
        self._watch(side, key, time, chosen)

    def _partners(
        self,
        watched: list[np.ndarray],
        after: np.ndarray,
        side: np.ndarray,
        key: np.ndarray,
        time: np.ndarray,
    ) -> np.ndarray:
        """Return how many of the rows, which are in order, each watched row meets."""
        count = len(key)
        names = np.unique(watched[1])
        if not len(names):
            return np.zeros(0, np.int64)
        place = np.minimum(np.searchsorted(names, key), len(names) - 1)
        mine = np.flatnonzero(names[place] == key)
        # One number says which list a row is in, and where: (key, side) first, then the order.
        lists = place[mine] * len(self.partner) + side[mine]
        rows = np.sort(lists * (count + 1) + mine)
        wanted = np.searchsorted(names, watched[1]) * len(self.partner) + self.partner[watched[0]]
        first, last = after, np.full(len(after), count)
        if self.within is not None:
            first = np.maximum(first, np.searchsorted(time, watched[2] - self.within, "left"))
            last = np.searchsorted(time, watched[2] + self.within, "right")
        base = wanted * (count + 1)
        ends = np.searchsorted(rows, base + np.maximum(first, last))
        return ends - np.searchsorted(rows, base + first)

    def _watch(
        self, side: np.ndarray, key: np.ndarray, time: np.ndarray, chosen: np.ndarray
    ) -> None:
        """Watch some more rows."""
        columns = zip((self.side, self.key, self.time), (side, key, time), strict=True)
        merged = [np.concatenate([old, new[chosen]]) for old, new in columns]
        self.side, self.key, self.time = merged

    def forget(self, real: Join) -> None:
        """Forget the rows that can meet nothing any more."""
        if self.within is None or real.watermark is None:
            return
        alive = self.time + self.within >= real.watermark
        self.side, self.key, self.time = self.side[alive], self.key[alive], self.time[alive]

    def found(self, sides: list[Side], results: Results) -> None:
        """Take note of the results that the real join produced."""
        for join, rows in results.found:
            (left, _), (right, _) = self.joins[join]
            a, b = rows[:, 0], rows[:, 1]
            times = sides[left].time[a], sides[right].time[b]
            # A row held before came first; of two new ones that of the earlier time and side.
            both_new = (a >= sides[left].held) & (b >= sides[right].held)
            sooner = times[0] <= times[1] if left < right else times[0] < times[1]
            is_left = np.where(both_new, sooner, a < sides[left].held)
            group = self._groups_of(
                np.where(is_left, left, right), sides[left].key[a], np.where(is_left, *times)
            )
            self.actual += np.bincount(group[group >= 0], minlength=GROUPS)

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays."""
        return {
            "side": self.side.astype(np.int8),
            "key": self.key,
            "time": self.time,
            "expected": self.expected,
            "actual": self.actual,
            "sample": np.array([self.sample]),
        }

    def load(self, saved: dict[str, np.ndarray]) -> bool:
        """Go on from what was saved; False if that was nothing, or another sample."""
        if not saved or saved["sample"][0] != self.sample:
            return False
        self.side = saved["side"].astype(np.int64)
        self.key, self.time = saved["key"], saved["time"]
        self.expected, self.actual = np.array(saved["expected"]), np.array(saved["actual"])
        return True

    def sums(self) -> dict[str, float]:
        """Return what the estimate needs."""
        return sums_of(self.actual, self.expected)
