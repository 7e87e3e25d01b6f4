"""One budget for many buckets: every bucket computes the same shares from the same digests.

Keys are spread over buckets by their hashes, so a bucket with a hot key needs far more memory than
another. A digest tells the most frequent keys among some rows, how often each came, and how many
rows there were. All buckets see all digests in the same order and keep the same ledger of them:
counts that fade with the window, so that they are about the rows alive. The budget is filled with
rows in the order of what a row is worth, the results that its key's partners promise for each unit
of memory; what falls to the keys of a bucket is its share, and the rest, which is about keys that
are not known, is spread evenly.

The buckets of a query may run on different machines, and their shares must add up. So sums are
taken in one order (`cumsum`, `bincount`) and nothing but exactly rounded arithmetic is used.

A budget is hard at every moment, while some buckets have taken a micro-batch and others have not:
a bucket that must shrink does so at once, and one that may grow does so in the next micro-batch.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..core.shape import Joins

KEYS = 256  # known to a ledger
DIGEST = 64  # keys in a digest, at most
PART = 4  # and at most one for so many rows
FEWEST = 8  # or so many
NO_WINDOW = 8  # budgets in which a row without a window is forgotten, nearly
ROW = np.dtype([("key", "<i8"), ("count", "<i4")])
HEAD = 6  # numbers before the keys


class Digest(NamedTuple):
    """The frequent keys among some rows of one stream."""

    stream: int
    rows: int
    distinct: int  # different keys among the rows
    size: int  # what the rows take of the budget: their number, or their bytes
    earliest: int  # time of the rows; without rows it says nothing
    latest: int
    key: np.ndarray  # int64[keys]
    counts: np.ndarray  # int32[keys]

    def encode(self) -> bytes:
        """Return the digest as bytes."""
        head = np.array(self[:-2], np.int64)
        body = np.empty(len(self.key), ROW)
        body["key"], body["count"] = self.key, self.counts
        return head.tobytes() + body.tobytes()


def digest(stream: int, key: np.ndarray, time: np.ndarray, size: int) -> Digest:
    """Return the digest of some rows, which take `size` of the budget.

    >>> digest(0, np.array([8, 7, 7]), np.array([4, 5, 6]), 3).key.tolist()
    [7, 8]
    """
    keys, counts = np.unique(key, return_counts=True)
    most = min(DIGEST, max(FEWEST, len(key) // PART))
    # Of keys as frequent as each other those that are named must not be the same ones each time.
    chance = (keys * np.int64(0x5851F42D4C957F2D)) ^ np.int64(len(key) * 0x2545F491 + counts.sum())
    chosen = np.lexsort((chance, -counts))[:most]
    begin, end = (int(time.min()), int(time.max())) if len(time) else (0, 0)
    counts = counts[chosen].astype(np.int32)
    return Digest(stream, len(key), len(keys), size, begin, end, keys[chosen], counts)


def decode(blob: bytes) -> Digest:
    """Return a digest that was encoded."""
    stream, rows, distinct, size, earliest, latest = np.frombuffer(blob, "<i8", HEAD).tolist()
    body = np.frombuffer(blob, ROW, offset=8 * HEAD)
    return Digest(stream, rows, distinct, size, earliest, latest, body["key"], body["count"])


class Ledger:
    """What all buckets know of all keys, and the share of the budget that each bucket has."""

    def __init__(
        self,
        joins: Joins,
        buckets: int,
        budget: int,
        within: int | None,
        bucket_of: Callable[[np.ndarray, int], np.ndarray],
    ):
        self.budget = budget
        self.buckets = buckets
        self._within = within
        self._bucket_of = bucket_of
        self._home = {stream: number for number, join in enumerate(joins) for stream, _ in join}
        self._streams = [[stream for stream, _ in join] for join in joins]
        streams = len(self._home)
        self._join = np.zeros(0, np.int64)  # which join a key belongs to
        self._key = np.zeros(0, np.int64)
        self._count = np.zeros((0, streams))  # of each key on each stream, fading
        self._totals = np.zeros((3, streams))  # rows, different keys, sizes, fading
        self._span = np.zeros(3)  # time seen: fading like the counts, in all, in the last batch
        self._latest: int | None = None
        self.shares = np.zeros(buckets, np.int64)

    def take(self, digests: Sequence[Digest]) -> np.ndarray:
        """Take the digests of one micro-batch; return what each bucket may hold during it.

        A bucket whose share has grown may hold all of it from the next micro-batch on, when those
        whose shares have shrunk have shrunk. Before the first one nothing is held.
        """
        some = [each for each in digests if each.rows]
        before = self.shares
        if some:
            self._fade(some)
            self._count_keys(some)
        if some or not before.any():
            self.shares = whole_parts(self._wanted(), self.budget)
        return np.minimum(before, self.shares) if before.any() else self.shares

    def resize(self, budget: int) -> np.ndarray:
        """Go on with another budget; return what each bucket may hold from now on."""
        if budget != self.budget:
            scaled = [int(share) * budget // self.budget for share in self.shares]
            self.shares, self.budget = np.array(scaled, np.int64), budget
        return self.shares

    def _fade(self, digests: Sequence[Digest]) -> None:
        window, elapsed = self._window, self._elapsed(digests)
        left = window / (window + elapsed)
        self._count *= left
        self._totals *= left
        self._span[:] = self._span[0] * left + elapsed, self._span[1] + elapsed, elapsed
        latest = max(each.latest for each in digests)
        self._latest = latest if self._latest is None else max(latest, self._latest)

    @property
    def _window(self) -> float:
        """How long a row is alive; without a window the budget says, in what rows take of it."""
        return float(NO_WINDOW * self.budget if self._within is None else max(1, self._within))

    def _elapsed(self, digests: Sequence[Digest]) -> float:
        """Return how much time has passed since the last micro-batch."""
        if self._within is None:
            return float(sum(each.size for each in digests))
        begin = min(each.earliest for each in digests) if self._latest is None else self._latest
        return float(max(0, max(each.latest for each in digests) - begin))

    def _count_keys(self, digests: Sequence[Digest]) -> None:
        parts = [self._counted(number, digests) for number in range(len(self._streams))]
        join = np.concatenate([np.full(len(key), n) for n, (key, _) in enumerate(parts)])
        key = np.concatenate([key for key, _ in parts])
        count = np.concatenate([count for _, count in parts])
        for each in digests:
            self._totals[:, each.stream] += each.rows, each.distinct, each.size
        total = np.cumsum(count, axis=1)[:, -1]
        kept = np.sort(np.argsort(-total, kind="stable")[:KEYS])
        self._join, self._key, self._count = join[kept], key[kept], count[kept]

    def _counted(self, join: int, digests: Sequence[Digest]) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys of a join, in order, with their counts on each stream."""
        mine = self._join == join
        new = [each for each in digests if self._home[each.stream] == join]
        keys = np.concatenate([self._key[mine], *(each.key for each in new)])
        known, at = np.unique(keys, return_inverse=True)
        count = np.zeros((len(known), self._count.shape[1]))
        begin = int(mine.sum())
        count[at[:begin]] = self._count[mine]
        for each in new:
            end = begin + len(each.key)
            count[at[begin:end], each.stream] += each.counts  # a digest names a key once
            begin = end
        return known, count

    @property
    def _alive(self) -> float:
        """By what to multiply counts to have the rows alive when the next batch has come."""
        fading, seen, last = self._span.tolist()
        return min(self._window, seen + last) / fading if fading else 1.0

    def _wanted(self) -> np.ndarray:
        """Return how much each bucket should hold: float64[buckets], the budget in all."""
        size, worth, bucket = self._demand()
        order = np.argsort(-worth, kind="stable")
        filled = np.cumsum(size[order])
        given = np.clip(self.budget - (filled - size[order]), 0, size[order])
        bucket = bucket[order]
        somewhere = bucket >= 0
        wanted = np.bincount(bucket[somewhere], given[somewhere], self.buckets)
        spread = np.cumsum(given[~somewhere])[-1] + max(0.0, self.budget - filled[-1])
        return wanted + spread / self.buckets

    def _demand(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what could be held: how large it is, its worth a unit, its bucket (-1: all)."""
        alive = self._alive
        rows, distinct, sizes = self._totals * alive
        count = self._count * alive
        each = sizes / np.maximum(rows, 1e-9)  # of one row of a stream
        bucket = self._bucket_of(self._key, self.buckets)
        size: list[np.ndarray] = []
        worth: list[np.ndarray] = []
        place: list[np.ndarray] = []
        for number, streams in enumerate(self._streams):
            mine = self._join == number
            for stream in streams:
                others = [other for other in streams if other != stream]
                product, rest = np.ones(int(mine.sum())), 1.0
                for other in others:
                    known = np.cumsum(np.append(count[mine, other], 0.0))[-1]
                    unnamed = max(1.0, distinct[other] - len(product))
                    product = product * count[mine, other]
                    rest *= max(0.0, rows[other] - known) / unnamed
                unit = max(float(each[stream]), 1e-9)
                known = np.cumsum(np.append(count[mine, stream], 0.0))[-1]
                unknown = max(0.0, rows[stream] - known)
                size.append(np.append(count[mine, stream], unknown) * unit)
                worth.append(np.append(product, rest) / unit)
                place.append(np.append(bucket[mine], -1))
        return np.concatenate(size), np.concatenate(worth), np.concatenate(place)

    def hottest(self, most: int) -> list[tuple[int, int, float]]:
        """Return (join, key, share of its join's rows) of the most frequent keys."""
        found = []
        for number, streams in enumerate(self._streams):
            rows = max(1e-9, float(np.cumsum(self._totals[0, streams])[-1]))
            for place in np.flatnonzero(self._join == number):
                share = float(np.cumsum(self._count[place, streams])[-1]) / rows
                found.append((number, int(self._key[place]), share))
        return sorted(found, key=lambda each: (-each[2], each[:2]))[:most]

    def save(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays."""
        latest = [] if self._latest is None else [self._latest]
        return {
            "join": self._join,
            "key": self._key,
            "count": self._count,
            "totals": self._totals,
            "span": self._span,
            "latest": np.array(latest, np.int64),
            "shares": self.shares,
            "budget": np.array([self.budget]),
        }

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        self._join, self._key = np.array(saved["join"]), np.array(saved["key"])
        self._count, self._totals = np.array(saved["count"]), np.array(saved["totals"])
        self._span, self.shares = np.array(saved["span"]), np.array(saved["shares"])
        self._latest = int(saved["latest"][0]) if len(saved["latest"]) else None
        self.budget = int(saved["budget"][0])


def whole_parts(wanted: np.ndarray, budget: int) -> np.ndarray:
    """Return whole parts of a budget in the proportion of what is wanted; they sum to it.

    >>> whole_parts(np.array([1.0, 2.0, 0.0]), 10).tolist()
    [3, 7, 0]
    """
    total = float(np.cumsum(wanted)[-1])
    exact = wanted / total * budget if total > 0 else np.full(len(wanted), budget / len(wanted))
    parts = np.floor(exact).astype(np.int64)
    missing = max(0, budget - int(np.cumsum(parts)[-1]))
    parts[np.argsort(parts - exact, kind="stable")[:missing]] += 1  # the largest fractions first
    parts[np.argmax(parts)] += budget - int(np.cumsum(parts)[-1])  # 0, but for huge budgets
    return parts
