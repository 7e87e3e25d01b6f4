"""One budget for many buckets: every bucket computes the same shares from the same digests.

Keys are spread over buckets by their hashes, so a bucket with a hot key needs far more memory than
another. A digest has the most frequent keys among some rows, how often each came, and how many
rows there were. All buckets see all digests in the same order and keep the same ledger of them:
counts that fade with the window, so that they are about the live rows. The budget is filled with
rows in the order of what a row is worth, the results that its key's partners promise for each unit
of memory; what falls to the keys of a bucket is its share, and the rest, which is about keys that
are not known, is spread evenly. What a bucket has room for already counts more: a move costs the
rows that are evicted.

With the goal of rows one row of each key and side serves all its partners, so a hot key needs no
more memory than another, and all buckets have the same share.

The buckets of a query may run on different machines, and their shares must add up. So sums are
taken in one order (`cumsum`, `bincount`) and nothing but exactly rounded arithmetic is used.

A budget is hard at every moment, while some buckets have taken a micro-batch and others have not.
A bucket that must shrink does so when it has taken the micro-batch, and others grow by what was
free before it did. So during a micro-batch a bucket may hold the larger of its share before and
its share after it (`during`), and the sum of those is within the budget.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import BadInput
from ..kernel.gains import PAIRS
from ..kernel.shape import Joins

KEYS = 256  # known to a ledger
DIGEST = 64  # keys in a digest, at most
PART = 4  # and at most one for so many rows
FEWEST = 8  # or so many
NO_WINDOW = 8  # budgets in which a row without a window is forgotten, nearly
ROW = np.dtype([("key", "<i8"), ("count", "<i4")])
HEAD = 6  # numbers before the keys
FADING = 4  # how much faster counts fade than rows: what came just now tells most
UNNAMED = 0.5  # how often a key of one stream comes on another that did not name it: see _demand
SHRINKING = 4  # a share becomes at most so many times smaller in a micro-batch
HELD = 2  # how many times as much that counts which a bucket has room for already


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


def digest(
    stream: int, key: np.ndarray, time: np.ndarray, size: int, within: int | None = None
) -> Digest:
    """Return the digest of some rows, which take `size` of the budget.

    With `within` it is of the rows that are live when the last one has come.

    >>> digest(0, np.array([8, 7, 7]), np.array([4, 5, 6]), 3).key.tolist()
    [7, 8]
    """
    if within is not None and len(key):
        live = time >= time.max() - within
        size = size * int(np.count_nonzero(live)) // len(key)
        key, time = key[live], time[live]
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


class Demand(NamedTuple):
    """What could be held: rows of a stream and key, or those of all keys that are not known."""

    size: np.ndarray  # float64
    worth: np.ndarray  # float64: results that a unit of it promises
    bucket: np.ndarray  # int64; -1: all of them


class Ledger:
    """What all buckets know of all keys, and the share of the budget that each bucket has."""

    def __init__(
        self,
        joins: Joins,
        buckets: int,
        budget: int,
        within: int | None,
        bucket_of: Callable[[np.ndarray, int], np.ndarray],
        goal: str = PAIRS,
    ):
        self.budget = budget
        self.buckets = buckets
        self._by_demand = goal == PAIRS
        self._within = within
        self._bucket_of = bucket_of
        self._home = {stream: number for number, join in enumerate(joins) for stream, _ in join}
        self._streams = [[stream for stream, _ in join] for join in joins]
        streams = len(self._home)
        self._join = np.zeros(0, np.int64)  # which join a key belongs to
        self._key = np.zeros(0, np.int64)
        self._count = np.zeros((0, streams))  # of each key on each stream, fading
        self._totals = np.zeros((3, streams))  # rows, different keys, sizes, fading
        self._span = np.zeros(3)  # time covered: fading like the counts, in all, in the last batch
        self._latest: int | None = None
        self.shares = np.zeros(buckets, np.int64)  # what each bucket may hold between micro-batches
        self.during = self.shares  # and what it may hold while it takes the last one

    def take(self, digests: Sequence[Digest]) -> np.ndarray:
        """Take the digests of one micro-batch; return what each bucket may hold after it."""
        before = self.shares
        some = self._live_at_the_end([each for each in digests if each.rows])
        if some:
            self._fade(some)
            self._count_keys(some)
        if some or not self.shares.any():
            self.shares = self._moved(whole_parts(self._wanted(), self.budget))
        self.during = np.maximum(before, self.shares)
        return self.shares

    def _moved(self, wanted: np.ndarray) -> np.ndarray:
        """Return shares as near to what is wanted as they may be at once.

        While buckets take a micro-batch each has its share of before or that of now. So those that
        grow have only what no bucket had before, in proportion to what they want. No bucket gives
        up nearly all at once: rows that a burst elsewhere pushes out may be asked for again.
        """
        kept = np.minimum(self.shares, np.maximum(wanted, self.shares // SHRINKING))
        free = self.budget - int(self.shares.sum())
        return kept + whole_parts(np.maximum(wanted - kept, 0).astype(float), free)

    def resize(self, budget: int) -> np.ndarray:
        """Go on with another budget; return what each bucket may hold from now on."""
        if budget < self.budget:
            scaled = [int(share) * budget // self.budget for share in self.shares]
            self.shares = np.array(scaled, np.int64)
        self.budget = budget
        return self.shares

    def _live_at_the_end(self, digests: list[Digest]) -> list[Digest]:
        """Return the digests of which rows are live when all of their stream have come.

        A stream may lag behind another, and its rows are live nevertheless.
        """
        if not digests or self._covers_all(digests):
            return digests
        latest: dict[int, int] = {}
        for each in digests:
            latest[each.stream] = max(each.latest, latest.get(each.stream, each.latest))
        return [each for each in digests if each.latest >= latest[each.stream] - self._window]

    def _covers_all(self, digests: Sequence[Digest]) -> bool:
        """Whether digests are not about the live rows but about all, in more than a window."""
        longest = max(each.latest - each.earliest for each in digests)
        return self._within is None or longest > self._window

    def _fade(self, digests: Sequence[Digest]) -> None:
        window, elapsed = self._window, self._elapsed(digests)
        left = window / (window + FADING * elapsed)
        self._count *= left
        self._totals *= left
        covered = elapsed if self._covers_all(digests) else min(elapsed, window)
        self._span[:] = self._span[0] * left + covered, self._span[1] + covered, covered
        latest = max(each.latest for each in digests)
        self._latest = latest if self._latest is None else max(latest, self._latest)

    @property
    def _window(self) -> float:
        """How long a row is live; without a window the budget says, in what rows take of it."""
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
    def _live_part(self) -> float:
        """By what to multiply counts to have the live rows when the next batch has come."""
        fading, seen, last = self._span.tolist()
        return min(self._window, seen + last) / fading if fading else 1.0

    def _wanted(self) -> np.ndarray:
        """Return how much each bucket should hold: float64[buckets], the budget in all."""
        if not self._by_demand:
            return np.full(self.buckets, self.budget / self.buckets)
        size, worth, bucket = self._with_room(self._demand())
        order = np.argsort(-worth, kind="stable")
        filled = np.cumsum(size[order])
        given = np.clip(self.budget - (filled - size[order]), 0, size[order])
        bucket = bucket[order]
        somewhere = bucket >= 0
        wanted = np.bincount(bucket[somewhere], given[somewhere], self.buckets)
        spread = np.cumsum(given[~somewhere])[-1] + max(0.0, self.budget - filled[-1])
        return wanted + spread / self.buckets

    def _with_room(self, demand: Demand) -> Demand:
        """Part what could be held into what its bucket has room for, and the rest."""
        order = np.lexsort((-demand.worth, demand.bucket))
        size, worth, bucket = (each[order] for each in demand)
        room = np.append(self.shares, 0)[bucket]  # none where the bucket is -1
        end = np.cumsum(size)
        first = np.searchsorted(bucket, bucket)  # of its bucket
        inside = np.clip(room - (end - size - (end - size)[first]), 0, size)
        return Demand(
            np.concatenate([inside, size - inside]),
            np.concatenate([worth * HELD, worth]),
            np.concatenate([bucket, bucket]),
        )

    def _demand(self) -> Demand:
        """Return what could be held.

        A key that only some streams name may still come on the others, where few rows come or their
        keys are many. It is taken to come half as often as the keys that they did not name do.
        """
        live = self._live_part
        rows, distinct, sizes = self._totals * live
        count = self._count * live
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
                    mean = max(0.0, rows[other] - known) / unnamed
                    product = product * np.maximum(count[mine, other], UNNAMED * mean)
                    rest *= mean
                unit = max(float(each[stream]), 1e-9)
                known = np.cumsum(np.append(count[mine, stream], 0.0))[-1]
                unknown = max(0.0, rows[stream] - known)
                promised = np.append(product, rest) / unit
                asked = np.append(count[mine, stream], unknown) * unit
                size.append(np.where(promised > 0, asked, 0.0))  # for nothing no order is right
                worth.append(promised)
                place.append(np.append(bucket[mine], -1))
        return Demand(np.concatenate(size), np.concatenate(worth), np.concatenate(place))

    def hottest(self, most: int) -> list[tuple[int, int, float]]:
        """Return (join, key, share of its join's rows) of the most frequent keys."""
        found = []
        for number, streams in enumerate(self._streams):
            rows = max(1e-9, float(np.cumsum(self._totals[0, streams])[-1]))
            for place in np.flatnonzero(self._join == number):
                share = float(np.cumsum(self._count[place, streams])[-1]) / rows
                found.append((number, int(self._key[place]), share))
        return sorted(found, key=lambda each: (-each[2], each[:2]))[:most]

    def encode(self) -> bytes:
        """Return everything as bytes: the same bytes for the same ledger."""
        latest = (0, 0) if self._latest is None else (1, self._latest)
        head = np.array([len(self._key), self.budget, *latest], np.int64)
        whole = (head, self._join, self._key, self.shares)
        parts = (*whole, self._count, self._totals, self._span)
        return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)

    def load(self, blob: bytes) -> None:
        """Go on where `encode` left off, with the budget of then."""
        keys, self.budget, seen, latest = np.frombuffer(blob, "<i8", 4).tolist()
        self._latest = latest if seen else None
        whole = np.frombuffer(blob, "<i8", 2 * keys + self.buckets, 32).copy()
        self._join, self._key, self.shares = np.split(whole, [keys, 2 * keys])
        rest = np.frombuffer(blob, "<f8", offset=32 + whole.nbytes).copy()
        streams = len(self._home)
        count, totals, self._span = np.split(rest, np.cumsum([keys * streams, 3 * streams]))
        self._count, self._totals = count.reshape(keys, streams), totals.reshape(3, streams)


def whole_parts(wanted: np.ndarray, budget: int) -> np.ndarray:
    """Return whole parts of a budget in the proportion of what is wanted; they sum to it.

    >>> whole_parts(np.array([1.0, 2.0, 0.0]), 10).tolist()
    [3, 7, 0]
    """
    total = float(np.cumsum(wanted)[-1])
    exact = wanted / total * budget if total > 0 else np.full(len(wanted), budget / len(wanted))
    parts = _rounded(exact, budget)
    parts[np.argmax(parts)] += budget - int(np.cumsum(parts)[-1])  # 0, but for huge budgets
    return parts


def _rounded(exact: np.ndarray, budget: int) -> np.ndarray:
    """Return whole parts; what rounding down leaves of the budget goes to the largest fractions."""
    parts = np.floor(exact).astype(np.int64)
    missing = max(0, budget - int(np.cumsum(parts)[-1]))
    parts[np.argsort(parts - exact, kind="stable")[:missing]] += 1
    return parts


def split_budget(budget: int, lanes: int, shares: Sequence[float] | None = None) -> list[int]:
    """Return whole parts of `budget` in the proportion of `shares`, each at least 1.

    What rounding leaves over goes to the largest fractions, the first of equal ones.

    >>> split_budget(10, 2, [0.75, 0.25])
    [8, 2]
    >>> split_budget(5, 2)
    [3, 2]
    """
    if budget < lanes:
        raise BadInput(f"budget must be at least 1 per memory ({lanes} of them), got {budget}")
    if shares is None:
        shares = [1 / lanes] * lanes
    if len(shares) != lanes or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:
        raise BadInput(
            f"shares must be {lanes} numbers of at least 0 that sum to 1, got {list(shares)}"
        )
    parts = _rounded(budget * np.asarray(shares, np.float64), budget).tolist()
    while min(parts) < 1:
        parts[parts.index(max(parts))] -= 1
        parts[parts.index(min(parts))] += 1
    return parts


def parts_of(budget: int, lanes: int, shares: Sequence[float] | None) -> list[int]:
    """Return the parts of a budget that may be too small for all: the first then has all of it.

    >>> parts_of(1, 2, None), parts_of(4, 2, None)
    ([1, 0], [2, 2])
    """
    if budget < lanes:
        return [budget] + [0] * (lanes - 1)
    return split_budget(budget, lanes, shares)
