"""How much was lost: an exact join of a sample of the keys, beside the real one.

Keys are sampled by a hash, so that all tuples of a sampled key are in the sample. The shadow
keeps key, side and time only, and keeps all of them for as long as they live. What it finds in
the sample is what there was to find; what the real join found of it gives the recall. Sampled
keys fall into groups, whose spread tells how far the sample may be off.
"""

import math
from typing import NamedTuple

import numpy as np

from ..core.jit import jit, kernel
from ..core.rng import mix
from ..core.shape import Joins
from ..engines import Join

GROUPS = 32  # per bucket
SUMS = ("groups", "a", "e", "aa", "ae", "ee")
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


class Shadow:
    """The exact join of the sampled keys of one bucket."""

    def __init__(self, joins: Joins, within: int | None, delay: int, sample: float):
        self.sample = sample
        self.join = Join(budget=None, within=within, delay=delay, joins=joins)
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

    def found(self, keys: np.ndarray) -> None:
        """Take note of the results that the real join produced, by their keys."""
        group = groups_of(keys, self.sample)
        self.actual += np.bincount(group[group >= 0], minlength=GROUPS)

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
        """Return what the estimate needs, in a form that adds up over buckets."""
        used = self.expected > 0
        a, e = self.actual[used].astype(float), self.expected[used].astype(float)
        return {
            "groups": float(used.sum()),
            "a": a.sum(),
            "e": e.sum(),
            "aa": (a * a).sum(),
            "ae": (a * e).sum(),
            "ee": (e * e).sum(),
        }


class Recall(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


def estimate(sums: dict[str, float], sample: float) -> Recall | None:
    """Return the recall by the ratio of sums over groups, None while nothing was there to find.

    The interval is that of a ratio estimate from groups of unequal size (Cochran, "Sampling
    techniques", section 6.4), with Student's t in place of 1.96 where groups are few.
    """
    n, total = sums["groups"], sums["e"]
    if total <= 0:
        return None
    ratio = sums["a"] / total
    if n < 2:
        return Recall(ratio, 0.0, 1.0)
    spread = sums["aa"] - 2 * ratio * sums["ae"] + ratio**2 * sums["ee"]
    variance = max(0.0, spread) * n / (n - 1) / total**2 * (1 - sample)
    margin = _student(n - 1) * math.sqrt(variance)
    return Recall(ratio, max(0.0, ratio - margin), min(1.0, ratio + margin))


def _student(freedom: float) -> float:
    """Return the 97.5 % point of Student's t (Cornish-Fisher expansion; 1 % off at 3 degrees)."""
    z = 1.959964
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )
