"""How much was lost by a join of three or more: an exact join of a sample of the keys beside it.

Keys are sampled by a hash, so that all tuples of a sampled key are in the sample. The shadow
keeps key, side and time only, and keeps all of them for as long as they live. What it finds in
the sample is what there was to find; what the real join found of it gives the recall. Sampled
keys fall into groups, whose spread tells how far the sample may be off.
"""

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
def _group(key, threshold):
    word = mix(np.uint64(key) ^ SALT)
    return np.int64(word % np.uint64(GROUPS)) if (word >> np.uint64(11)) < threshold else -1


@kernel
def _groups(keys, threshold, out):
    for i in range(len(keys)):
        out[i] = _group(keys[i], threshold)


def groups_of(keys: np.ndarray, sample: float) -> np.ndarray:
    """Return the group of each key, or -1 if it is not in the sample."""
    out = np.empty(len(keys), np.int64)
    _groups(np.ascontiguousarray(keys), np.uint64(round(sample * 2**53)), out)
    return out


class KeyShadow:
    """The exact join of the sampled keys of one bucket."""

    def __init__(self, plan: Plan):
        self.sample = plan.sample
        self.join = Join(
            budget=None, within=plan.within, delay=plan.delay, clock=plan.clock, joins=plan.joins
        )
        self.expected = np.zeros(GROUPS, np.int64)
        self.actual = np.zeros(GROUPS, np.int64)

    def take(self, side: np.ndarray, key: np.ndarray, time: np.ndarray) -> None:
        """Take the rows that the real join takes; those of other keys are passed over."""
        group = groups_of(key, self.sample)
        mine = group >= 0
        if not mine.any():
            return
        before = groups_of(self.join.tuples["key"][:, 0], self.sample)
        found = self.join.push(side[mine], key[mine], time[mine]).rows[:, 0]
        belongs = np.concatenate([before, group[mine]])[found]
        self.expected += np.bincount(belongs, minlength=GROUPS)
        self.join.renumber()

    def found(self, sides: list[Side], results: Results) -> None:
        """Take note of the results that the real join produced."""
        for join, rows in results.found:
            first = self.join.form.shape.joins[join][0][0]
            group = groups_of(sides[first].key[rows[:, 0]], self.sample)
            self.actual += np.bincount(group[group >= 0], minlength=GROUPS)

    def forget(self, real: Join) -> None:
        """Let go what has no future by the clock of the real join, which sees more rows."""
        self.join.advance(real.reached)

    def start(self, side: np.ndarray, key: np.ndarray, time: np.ndarray) -> None:
        """Begin beside a join that holds rows already; what it lost before is not known."""
        mine = groups_of(key, self.sample) >= 0
        order = np.lexsort((side[mine], time[mine]))
        self.join.push(side[mine][order], key[mine][order], time[mine][order])
        self.join.renumber()

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays."""
        mine = {"expected": self.expected, "actual": self.actual}
        return self.join.save() | mine | {"sample": np.array([self.sample])}

    def load(self, saved: dict[str, np.ndarray]) -> bool:
        """Go on from what was saved; False if that was nothing, or a sample of other keys."""
        if not saved or saved["sample"][0] != self.sample:
            return False
        delay = self.join.delay
        self.join = Join.restore(saved)
        self.join.delay = delay
        self.expected = np.array(saved["expected"])
        self.actual = np.array(saved["actual"])
        return True

    def sums(self) -> dict[str, float]:
        """Return what the estimate needs."""
        return sums_of(self.actual, self.expected)
