"""Every kind of join of two streams: outer, semi, anti, windows of two bounds, one partner each.

`NaiveHow` is `NaiveJoin` with another step of matching, and it tells which rows departed without a
partner. `exact_pairs` and the functions after it are the join by nested loops over everything that
arrived, with no memory, clock or order in it.
"""

from itertools import product

from .join import NaiveJoin, overlap
from .tuples import FOREVER

HOWS = ("inner", "left", "right", "full", "semi", "anti")
MATCHES = ("all", "first", "one")
PRESERVED = {"left": (0,), "anti": (0,), "right": (1,), "full": (0, 1)}
NO_PARTNER = -1


def bounds_of(within):
    """Return the least and the largest of right time minus left time, None for no window."""
    return (-within, within) if isinstance(within, int) else within


def single_sides(how, match):
    """Return the sides whose rows have one partner at most."""
    if match == "one":
        return (0, 1)
    return (0,) if match == "first" or how in ("semi", "anti") else ()


class NaiveHow(NaiveJoin):
    """A join of streams 0 (left) and 1 (right); results are (left row, right row), -1 for none."""

    def __init__(
        self, policy_factory, budget, *, how="inner", match="all", within=None, goal=None, **options
    ):
        if goal is None:
            goal = "pairs" if (how, match) == ("inner", "all") else "rows"
        counting = options.get("window") == "count"
        self.bounds = None if counting else bounds_of(within)
        within = within if counting else None
        if budget is None:
            goal = "pairs"  # nothing is evicted, so there is nothing to weigh
        super().__init__(policy_factory, budget, within=within, goal=goal, **options)
        self.how = how
        self.preserved = PRESERVED.get(how, ())
        self.single = single_sides(how, match)
        self.alone = []  # results of rows that departed without a partner, since the last answer
        self.expiring = False

    def push(self, rows):
        """Take rows in; return the results, those of rows that departed last."""
        return [pair for _, pair in super().push(rows)] + self.departed()

    def departed(self):
        """Return the rows that departed without a partner since the last answer."""
        alone, self.alone = self.alone, []
        return alone

    def finish(self):
        """Return also the rows that are held and have had no partner; no row comes any more."""
        waiting = [t for t in self.held if t.stream in self.preserved and t not in self.matched]
        return self.departed() + [self._alone(t.stream, t.row) for t in waiting]

    def expire(self):
        """Drop at once what can match nothing any more."""
        watermark = self._watermark(heard=True)
        if watermark is not None:
            self._expire(watermark, self.held)

    def resize(self, budget):
        """Go on with another budget for all streams; the policy says what no longer fits."""
        (lane,) = self.lanes
        lane.budget = budget
        while self._used(lane) > budget:
            victim = self.standings.first_spent(range(self.streams)) if self.standings else None
            if victim is None:
                victim = lane.policy.victim(self.held[0], self.now) or self.held[0]
            self._drop(victim)
            self.counters["evicted"][victim.stream] += 1

    # Departures

    def _alone(self, stream, row):
        return (row, NO_PARTNER) if stream == 0 else (NO_PARTNER, row)

    def _depart(self, t, by_memory):
        """Take note that a row is not held any more, or never will be."""
        if t.stream in self.preserved and t not in self.matched:
            self.alone.append(self._alone(t.stream, t.row))
            self.counters["unmatched"][t.stream] += 1
            self.counters["unmatched_evicted"][t.stream] += by_memory

    def _enter(self, number, row):
        stream, watermark = row["stream"], self._watermark(heard=True)
        late = self.delay is not None and watermark is not None and row["time"] < watermark
        if row["keys"] is None and stream in self.preserved and not late:
            self.alone.append(self._alone(stream, number))
            self.counters["unmatched"][stream] += 1
        return super()._enter(number, row)

    def _span(self, row):
        time, deadline = super()._span(row)
        if self.bounds is None or row.get("end") is not None:
            return time, deadline
        low, high = self.bounds
        return time, min(FOREVER, time + (high if row["stream"] == 0 else -low))

    def _expire(self, clock, candidates):
        self.expiring = True
        super()._expire(clock, candidates)
        self.expiring = False

    def _drop(self, t):
        super()._drop(t)
        self._depart(t, by_memory=not self.expiring)

    def _keep(self, t, clock):
        if t.stream in self.single and t in self.matched:
            self.counters["completed"][t.stream] += 1
            return
        before = self.counters["rejected"][t.stream]
        super()._keep(t, clock)
        if t not in self.held:
            self._depart(t, by_memory=self.counters["rejected"][t.stream] > before)

    # Matching

    def _probe(self, t, number, join, results):
        candidates = [
            h
            for h in self.held
            if h.stream != t.stream
            and h.keys == t.keys
            and (self.window == "count" or overlap(h, t))
        ]
        if t.stream in self.single:
            candidates = candidates[:1]
        for partner in reversed(candidates):  # newest first
            self._pair(t, partner, results)

    def _pair(self, t, partner, results):
        left, right = (t, partner) if t.stream == 0 else (partner, t)
        if self.how == "semi":
            results.append((0, (left.row, NO_PARTNER)))
        elif self.how != "anti":
            results.append((0, (left.row, right.row)))
        self.counters["matched"][t.stream] += 1
        for each in (left, right):
            self._had_a_result(each)
        if partner.stream in self.single:
            super()._drop(partner)  # matched: it has its result
            self.counters["completed"][partner.stream] += 1
        elif not self._is_spent(partner):
            self._lane(partner).policy.match(partner, self.now)


# Nested loops


def exact_pairs(rows, within, near=None):
    """Return the (left, right) numbers of all rows that match; `rows` are (number, row).

    In a band join rows have a value, of which two that match are at most `near` apart.
    """
    lefts, rights = ([(n, r) for n, r in rows if r["stream"] == side] for side in (0, 1))
    low, high = bounds_of(within) or (-FOREVER, FOREVER)
    return [
        (a, b)
        for (a, left), (b, right) in product(lefts, rights)
        if left["keys"] is not None
        and left["keys"] == right["keys"]
        and low <= right["time"] - left["time"] <= high
        and (near is None or abs(right["value"] - left["value"]) <= near)
    ]


def exact_results(rows, within, how, near=None):
    """Return the results of a join with match="all" and memory enough."""
    pairs = exact_pairs(rows, within, near)
    lefts, rights = ([n for n, row in rows if row["stream"] == side] for side in (0, 1))
    paired_left, paired_right = {a for a, _ in pairs}, {b for _, b in pairs}
    alone_left = [(n, NO_PARTNER) for n in lefts if n not in paired_left]
    alone_right = [(NO_PARTNER, n) for n in rights if n not in paired_right]
    return {
        "inner": pairs,
        "left": pairs + alone_left,
        "right": pairs + alone_right,
        "full": pairs + alone_left + alone_right,
        "semi": [(n, NO_PARTNER) for n in sorted(paired_left)],
        "anti": alone_left,
    }[how]


def in_time(batches, delay):
    """Return the rows (number, row) that do not come too late, as their batch begins.

    The slowest of two streams sets the watermark, which rows without a key do not move.
    `delay=None`: all of them are in time.
    """
    taken, first, seen = [], 0, {}
    for batch in batches:
        known = delay is not None and len(seen) == 2
        for number, row in enumerate(batch, first):
            if not known or row["time"] >= min(seen.values()) - delay:
                taken.append((number, row))
        first += len(batch)
        for _, row in taken:
            if row["keys"] is not None:
                seen[row["stream"]] = max(row["time"], seen.get(row["stream"], row["time"]))
    return taken
