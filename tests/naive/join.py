"""The join of streams inside a budget, one arrival at a time, by scanning all that is held.

An arrival first expires tuples, then meets the held tuples of the other streams, then asks
the policy of its lane for room. A lane is a pool of memory with its own policy: one for all
streams (unified) or one per stream (split).

Sources: windows as in the GDJ paper, section 1 ("GreedyDual-Join", Chang et al. 2004); validity
intervals as in the CLOCK paper, section 2 (Gao et al. 2014); `together` is the discrete-time
model of the HEEB paper, section 3 (Xie, Yang and Chen 2005);
`drop` is section 4.2 of the GDJ paper.
"""

import math
from dataclasses import dataclass
from itertools import combinations, groupby, product

from .rng import MASK, SplitMix, mix
from .standings import Standings
from .tuples import FOREVER, Tuple

COUNTERS = (
    *("arrived", "dropped", "late", "null", "matched", "expired", "evicted", "rejected"),
    *("rows_matched", "completed", "unmatched", "unmatched_evicted"),  # the last three: how.py
)
ROWS = 65_536  # that are expected where the budget does not tell
TWO_WAY = (((0, 0), (1, 0)),)  # one join; its legs are attribute 0 of streams 0 and 1


@dataclass
class Lane:
    """A pool of memory: its policy and its size (None: no limit)."""

    policy: object
    budget: int | None


def split_budget(budget, streams, shares=None):
    """Return the budget of every stream: its share rounded down, then the leftover rows."""
    if budget is None:
        return [None] * streams
    exact = [budget * share for share in shares or [1 / streams] * streams]
    rows = [math.floor(x) for x in exact]
    # sorted() is stable, so equal fractions favour the lower stream
    by_fraction = sorted(range(streams), key=lambda s: rows[s] - exact[s])
    for stream in by_fraction[: budget - sum(rows)]:
        rows[stream] += 1
    return [max(1, n) for n in rows]


def overlap(a, b):
    """Say whether each begins before the other ends."""
    return a.time <= b.deadline and b.time <= a.deadline


class NaiveJoin:
    """Joins of any number of streams sharing a memory; `push` rows, get results."""

    def __init__(
        self,
        policy_factory,
        budget,
        *,
        goal="pairs",
        within=None,
        window="time",
        joins=TWO_WAY,
        streams=2,
        layout="unified",
        shares=None,
        delay=None,
        clock="slowest",
        drop=0.0,
        together=False,
        sized=False,
        seed=0,
        scale=None,
    ):
        if together and (window != "time" or delay is not None):
            raise ValueError("together=True needs a time window and delay=None")
        self.within = within
        self.window = window
        self.joins = joins
        self.delay = delay
        self.drop = drop
        self.coin = SplitMix(mix(MASK - seed % 2**64))
        self.slowest = clock == "slowest" and delay is not None
        self.grouped = together
        self.sized = sized
        self.scale = scale  # rows that are expected, where sizes do not tell
        if scale is None and sized and budget is not None:
            self.scale = max(1, budget // 100)
        budgets = split_budget(budget, streams, shares) if layout == "split" else [budget]
        self.seed = seed
        self.held = []  # in order of insertion
        self.matched = set()  # tuples that were in a result
        self.standings = Standings(joins, self.held, self.matched) if goal == "rows" else None
        self.lanes = self._make_lanes(policy_factory, budgets)
        self.counters = {name: [0] * streams for name in COUNTERS}
        self.together = 0  # pairs that arrived in the same step and would have matched
        self.rows = 0  # rows given so far; the next row's number
        self.taken = [0] * streams  # tuples of each stream so far, nulls and late rows apart
        self.now = None
        self.latest = {}  # stream -> largest time seen
        self.told = {}  # likewise, by `advance`
        self.streams = streams
        self.exact = budget is None

    def _make_lanes(self, policy_factory, budgets):
        lanes = []
        for number, rows in enumerate(budgets):
            # a policy thinks in rows, so a budget in bytes is none of its business
            scale = max(1, (self.scale or ROWS) // len(budgets)) if self.sized else rows
            lanes.append(Lane(policy_factory(self.seed + number, scale), rows))
            lanes[-1].policy.together = self.grouped
            if self.standings:
                lanes[-1].policy.gain = self.standings.gain
        return lanes

    @property
    def attained(self):
        """How much was found so far of what the goal is."""
        return sum(self.counters["rows_matched" if self.standings else "matched"])

    def advance(self, reached):
        """Hear how far the streams have come elsewhere; with a budget only lateness heeds it."""
        for stream, time in enumerate(reached):
            if time is not None:
                self.told[stream] = max(time, self.told.get(stream, time))

    def _watermark(self, heard):
        """Return the time before which nothing more comes, or None if it is not known."""
        sources = [self.latest, self.told] if heard else [self.latest]
        times = [
            max((seen[stream] for seen in sources if stream in seen), default=None)
            for stream in range(self.streams)
        ]
        known = [time for time in times if time is not None]
        if not known or (self.slowest and len(known) < self.streams):
            return None
        return (min(known) if self.slowest else max(known)) - (self.delay or 0)

    def push(self, rows):
        """Take rows in; return the results as (join, row numbers in leg order)."""
        numbered = [
            (number, row)
            for number, row in enumerate(rows, start=self.rows)
            if not self._falls(row)
        ]
        self.rows += len(rows)
        if self.window == "time":
            numbered.sort(key=lambda pair: (pair[1]["time"], pair[1]["stream"]))
        results = []
        if self.grouped:
            for time, group in groupby(numbered, key=lambda pair: pair[1]["time"]):
                self._take_together(time, group, results)
        else:
            for number, row in numbered:
                self._take(number, row, results)
        return results

    def _falls(self, row):
        """Throw the coin for a row as it comes, and count it if it is dropped."""
        falls = self.drop > 0 and self.coin.next() >> 11 < self.drop * 2**53
        if falls:
            self.counters["arrived"][row["stream"]] += 1
            self.counters["dropped"][row["stream"]] += 1
        return falls

    # One arrival

    def _take(self, number, row, results):
        t = self._enter(number, row)
        if t is None:
            return
        if self.window == "time":
            clock = self._watermark(heard=self.exact)
            clock = -math.inf if clock is None else clock
            self._expire(clock, self.held)
        else:
            # the window of a stream moves only when that stream moves
            clock = self.taken[t.stream] - 1
            self._expire(clock, [h for h in self.held if h.stream == t.stream])
        self._meet(t, results)
        self._keep(t, clock)

    def _take_together(self, time, group, results):
        """Let all rows of one step meet the memory before any of them may enter it."""
        entered = [self._enter(number, row) for number, row in group]
        tuples = [t for t in entered if t is not None]
        if not tuples:
            return
        self._expire(time, self.held)
        for t in tuples:
            self._meet(t, results)
        self.together += sum(self._pairs(a, b) for a, b in combinations(tuples, 2))
        # nothing can arrive at this time any more: what ends now has expired
        self._expire(time + 1, self.held)
        for t in tuples:
            self._keep(t, time + 1)

    def _enter(self, number, row):
        """Count the row and return its tuple; None if its key is null or it comes too late."""
        stream = row["stream"]
        self.counters["arrived"][stream] += 1
        if row["keys"] is None:
            self.counters["null"][stream] += 1
            return None
        if self.window == "time" and self._too_late(row["time"]):
            self.counters["late"][stream] += 1
            return None
        time, deadline = self._span(row)
        self.taken[stream] += 1
        return Tuple(stream, tuple(row["keys"]), time, deadline, number, row.get("size", 1))

    def _too_late(self, time):
        watermark = self._watermark(heard=True)
        if watermark is None or time >= watermark:
            return False
        if self.delay is None:
            raise ValueError(f"rows must come in order of time: {time} came after {watermark}")
        return True

    def _span(self, row):
        """Return the time and the deadline of a new tuple, and move `now` on."""
        if self.window == "count":
            self.now = sum(self.taken)  # how many tuples, of all streams, came before this one
            index = self.taken[row["stream"]]
            return self.now, self._deadline(index - 1)  # the window counts the tuple itself
        time, end = row["time"], row.get("end")
        self.now = time if self.now is None else max(self.now, time)
        self.latest[row["stream"]] = max(time, self.latest.get(row["stream"], time))
        return time, self._deadline(time) if end is None else end

    def _deadline(self, start):
        return FOREVER if self.within is None else min(FOREVER, start + self.within)

    # 1. Tuples expire

    def _expire(self, clock, candidates):
        expired = [t for t in candidates if t.deadline < clock]
        for t in sorted(expired, key=lambda t: t.deadline):  # stable: then order of insertion
            self._drop(t)
            self.counters["expired"][t.stream] += 1

    def _drop(self, t):
        self._lane(t).policy.remove(t, self.now)
        if self.standings is None:
            self.held.remove(t)
            return
        for other in self.standings.leave(t):
            self._lane(t).policy.gained(other, self.now)

    def _lane(self, t):
        return self.lanes[t.stream if len(self.lanes) > 1 else 0]

    # 2 and 3. The newcomer is announced and meets the held tuples

    def _meet(self, t, results):
        for lane in self.lanes:
            lane.policy.arrive(t, self.now)
        for number, join in enumerate(self.joins):
            if any(stream == t.stream for stream, _ in join):
                self._probe(t, number, join, results)

    def _probe(self, t, number, join, results):
        key = next(t.keys[attribute] for stream, attribute in join if stream == t.stream)
        legs = [
            [t] if stream == t.stream else self._partners(stream, attribute, key)
            for stream, attribute in join
        ]
        for result in product(*legs):  # the first leg varies slowest
            if self._lived_together(result):
                results.append((number, tuple(x.row for x in result)))
                self.counters["matched"][t.stream] += 1
                for partner in result:
                    self._had_a_result(partner)
                    if partner is not t and not self._is_spent(partner):
                        self._lane(partner).policy.match(partner, self.now)

    def _had_a_result(self, t):
        if t not in self.matched:
            self.counters["rows_matched"][t.stream] += 1
            self.matched.add(t)
            if self.standings and t in self.held:
                self.standings.match(t)

    def _is_spent(self, t):
        """Tell whether `t` will leave without the policy being asked, which need hear no more."""
        return self.standings is not None and t in self.standings.spent

    def _partners(self, stream, attribute, key):
        newest_first = reversed(self.held)
        return [h for h in newest_first if h.stream == stream and h.keys[attribute] == key]

    def _lived_together(self, result):
        if self.window == "count":
            return True  # being held is enough
        return all(overlap(a, b) for a, b in combinations(result, 2))

    def _pairs(self, a, b):
        """Return in how many two-way joins a and b match each other."""
        attributes = [dict(join) for join in self.joins if len(join) == 2]
        return sum(
            a.stream != b.stream
            and a.stream in of
            and b.stream in of
            and a.keys[of[a.stream]] == b.keys[of[b.stream]]
            and overlap(a, b)
            for of in attributes
        )

    # 4 to 6. The newcomer is kept, if it is live and the policy finds room

    def _keep(self, t, clock):
        if t.deadline < clock:
            self.counters["expired"][t.stream] += 1
            return
        if not self._make_room(t):
            self.counters["rejected"][t.stream] += 1
            return
        self.held.append(t)
        if self.standings:
            for other in self.standings.enter(t):
                if not self._is_spent(other):
                    self._lane(t).policy.gained(other, self.now)
        self._lane(t).policy.insert(t, self.now)

    def _make_room(self, t):
        lane = self._lane(t)
        if lane.budget is None:
            return True
        if (t.size if self.sized else 1) > lane.budget:
            return False  # no number of victims would help
        while self._used(lane) + (t.size if self.sized else 1) > lane.budget:
            victim = self._useless(t) if self.standings else None
            if victim is None:
                victim = lane.policy.victim(t, self.now)
            if victim is None:
                return False
            self._drop(victim)
            self.counters["evicted"][victim.stream] += 1
        return True

    def _useless(self, t):
        """Return a held tuple that is of no use for the goal once `t` is held, or None."""
        streams = range(self.streams) if len(self.lanes) == 1 else [t.stream]
        spent = self.standings.first_spent(streams)
        return self.standings.replaced(t) if spent is None else spent

    def _used(self, lane):
        return sum(h.size if self.sized else 1 for h in self.held if self._lane(h) is lane)
