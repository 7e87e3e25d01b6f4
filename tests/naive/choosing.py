"""AUTO: candidates are tried in miniature while the engine runs, and the one who finds most rules.

Written from the rules in docs/decisions/0021-auto.md, whose numbers the comments give. Shares with
the package what the outcome is defined by, written out again: candidates, costs and constants.
Miniatures are the naive engines themselves, and rows are seen one at a time instead of in batches.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from statistics import fmean, pstdev

from .join import TWO_WAY, NaiveJoin, split_budget
from .lookup import NaiveLookup
from .policies import factory
from .tuning import attained_with, in_sample, most_waiting, share_of
from .tuples import FOREVER, Tuple

GDJ = [("gdj", {"percentile": part}) for part in (0.2, 0.0, 0.5, 0.9)]
JOINING = [
    [("rate", {}), ("rate", {"remains": True})],
    [("prob", {})],
    [("life", {})],
    [("lba", {})],
    GDJ,
    [("clock", {"rho": rho}) for rho in (0.5, 0.1, 0.9)],
    [("lru", {})],
    [("fifo", {})],
    [("rand", {})],
    [("heeb", {})],
]
CACHING = [
    *([(name, {})] for name in ("rate", "lru", "lfu", "wtinylfu", "s3fifo", "sieve", "lhd")),
    GDJ,
    [("heeb", {})],
]
BY_ORDER = {"heeb"}  # policies that go by the order of keys
COSTS = {"rate": 10, "prob": 2, "lba": 5, "gdj": 1.5, "lfu": 2, "wtinylfu": 2, "s3fifo": 2}
COSTS |= {"life": 2, "lhd": 8, "heeb": 20}  # others: 1

ROW_BYTES, SMALLEST = 100, 2
FIRST, PART = 128, 32
LOOKS, FEWEST, FADE, USUAL = 24, 4, 0.85, 0.2
LEAD, SURE, MOST_DOUBT, EASE, HOME, TURN, BEHIND, DOUBT = (
    0.02,
    1.5,
    8.0,
    0.97,
    0.01,
    2048,
    0.02,
    3.0,
)
AWAKE, REST, BEGIN = 4, 8_000, 16_000
ALLOWED, FREE, FIT, ROUND = 0.1, 1_000_000, 400_000, 4_000
RECENT, CHANGED, STRANGE = 3, 0.25, 2.5
HOT, HOT_LOOKS = 1 / 128, 64
RING_FEWEST, RING_MOST, LATELY, ORDER_FEWEST = 1024, 1 << 20, 4096, 64


@dataclass(frozen=True)
class Candidate:
    """A policy with parameters, in one memory (no shares) or in one per stream."""

    family: int
    name: str
    params: dict = field(hash=False)
    shares: tuple | None = None

    @property
    def by_order(self):
        return self.name in BY_ORDER

    @property
    def cost(self):
        return COSTS.get(self.name, 1)

    def is_neighbour_of(self, other):
        if self.family != other.family:
            return False
        same = self.params == other.params
        if self.shares == other.shares:
            return not same
        return same and one_step(self.shares, other.shares)


def one_step(one, two):
    """Tell whether two layouts follow each other: one memory, even shares, 15 % to a side, ..."""
    if one is None or two is None:
        return len(set(one or two)) == 1
    return round(abs(one[0] - two[0]), 6) <= 0.15


def candidates(families, layouts):
    """List families in the first layout, then each member in all of the others."""
    whole = [
        Candidate(number, name, params, layouts[0])
        for number, family in enumerate(families)
        for name, params in family
    ]
    others = [
        Candidate(each.family, each.name, each.params, shares)
        for each in whole
        for shares in layouts[1:]
    ]
    return whole + others


def layouts_of(streams):
    if streams == 2:
        return [(0.2, 0.8), (0.35, 0.65), (0.5, 0.5), (0.65, 0.35), (0.8, 0.2)]
    return [(1 / streams,) * streams]


def ring_room(rows):
    """Four times as many rows as the budget has, but not very few, and of many rows a fourth."""
    return min(max(RING_FEWEST, min(4 * rows, 16_384), rows // 4), RING_MOST)


class Chooser:
    """Shows sampled rows to the miniatures; `saw` tells whether another candidate is to rule.

    `make` returns the miniature of a candidate, `key_of` the key of a row.
    """

    def __init__(self, candidates, rows, make, key_of, alike):
        self.candidates, self.room = candidates, ring_room(rows)
        share = share_of(rows)
        self.share, self.most = share, most_waiting(rows)
        self.stands_in = alike and share >= 1  # the engine, for the miniature of who rules
        self.make, self.key_of = make, key_of
        self.choice = 0
        self.ring = []
        self.waiting = []
        self.hot = set()
        self.seen = self.looked = self.changed_at = self.results = 0
        self.found = []  # for each remembered look: candidate -> results
        self.own = []  # for each remembered look: the engine's results for a sampled row
        self.slept_since = {}  # candidate -> when it was put to sleep
        self.earned = self.spent = 0.0
        self.ruled, self.doubt = FEWEST, 1.0  # looks since it rules, how much others are doubted
        self.missed = 0  # sampled rows, since they rest
        self.minis = {number: None for number in self._firsts() if not self[number].by_order}

    def __getitem__(self, number):
        return self.candidates[number]

    @property
    def in_force(self):
        return self[self.choice]

    def saw(self, rows, results):
        """Take rows that arrived together, if only one; `results` the engine has found so far.

        Returns whether a look was taken, and whether another candidate is to rule.
        """
        self.ring = (self.ring + rows)[-self.room :]
        self.waiting += self._sampled(rows)
        if len(self.waiting) < min(max(FIRST, self.seen // PART), self.most):  # 1
            return False, False
        before = self.choice
        self._look(results)
        self.waiting = []
        return True, self.choice != before

    def _sampled(self, rows):
        if self.share >= 1:
            return list(rows)
        keys = map(self.key_of, rows)
        return [
            row
            for row, key in zip(rows, keys, strict=True)
            if in_sample(key, self.share) and key not in self.hot
        ]

    # 2. A look

    def _look(self, results):
        self.seen += len(self.waiting)
        self.looked += 1
        self.doubt = 1 + (self.doubt - 1) * EASE
        self.earned += self.in_force.cost * len(self.waiting) / self.share
        self.own = [*self.own, (results - self.results) / len(self.waiting)][-LOOKS:]
        own, self.results = results - self.results, results
        changed = self._has_changed()
        if self._are_resting(changed):
            self.missed += len(self.waiting)
            return
        self._catch_up()
        found = {number: self._show(number, self.waiting) for number in self._shown()}
        if self.stands_in:
            found[self.choice] = own
        self.found = [*self.found, found][-LOOKS:]
        if not changed:
            self._follow()
        self._put_to_sleep()
        if changed:
            self._start_over()
        else:
            self._wake_some()
        self._find_hot_keys()

    def _shown(self):
        """List who has a miniature."""
        return sorted(self.minis.keys() - ({self.choice} if self.stands_in else set()))

    def _show(self, number, rows):
        if self.minis[number] is None:
            self.minis[number] = self.make(self[number])
        self.spent += self[number].cost * len(rows)
        return attained_with(self.minis[number], rows)

    # 3 and 4. Comparing

    def _compared(self, number):
        """Return by which share of its results it is ahead of the one in force, and the error."""
        common = [
            (FADE**age, look[number] - look[self.choice], look[self.choice])
            for age, look in enumerate(reversed(self.found))
            if number in look and self.choice in look
        ]
        if len(common) < FEWEST:
            return None
        total = max(1, sum(weight * other for weight, _, other in common))
        lead = sum(weight * more for weight, more, _ in common)
        mean = lead / sum(weight for weight, _, _ in common)
        spread = sum((weight * (more - mean)) ** 2 for weight, more, _ in common)
        spread *= len(common) / max(len(common) - 1, 1)
        return lead / total, math.sqrt(spread) / total

    def _follow(self):
        self.ruled += 1
        if self.ruled < FEWEST:
            return
        turn = TURN / self.seen if self.share < 1 else 0
        promises = {}
        for number in sorted(self.minis):
            compared = self._compared(number)
            if compared is None or number == self.choice:
                continue
            share, error = compared
            promise = share * USUAL**2 / (USUAL**2 + error**2)
            if number == 0:
                follows = share > max(HOME, turn)
            else:
                follows = promise > max(LEAD * self.doubt, turn)
                follows &= share > SURE * self.doubt * error
            if follows:
                promises[number] = promise
        if promises:
            before, self.choice = self.choice, max(promises, key=promises.get)  # first of equals
            if self.stands_in:
                self._show(before, self._sampled(self.ring)[-LATELY:])
                self.minis[self.choice] = None
            self.ruled = 0
            if self.choice == 0:
                self.doubt = min(2 * self.doubt, MOST_DOUBT)

    def _put_to_sleep(self):
        compared = {number: self._compared(number) or (0.0, 0.0) for number in sorted(self.minis)}
        lowest = sorted(compared, key=lambda number: compared[number][0])
        crowded = self.seen - self.changed_at > BEGIN
        for place, number in enumerate(lowest):
            share, error = compared[number]
            spare = crowded and place < len(lowest) - AWAKE
            if number not in (0, self.choice) and (spare or share < -BEHIND - DOUBT * error):
                del self.minis[number]
                self.slept_since[number] = self.seen

    # 5. Waking

    def _firsts(self):
        """List the first candidate of every family."""
        families = [each.family for each in self.candidates]
        return [families.index(family) for family in sorted(set(families))]

    def _wake_some(self):
        firsts = self._firsts()
        for number in firsts:
            if self[number].by_order and number not in self.minis and self._may_wake(number):
                self._wake(number)
        if len(self.minis) >= AWAKE:
            return
        rested = [
            number
            for number in range(len(self.candidates))
            if number not in self.minis
            and self._may_wake(number)
            and (number in firsts or self[number].is_neighbour_of(self.in_force))
        ]
        if rested:
            self._wake(min(rested, key=lambda number: self.slept_since.get(number, -math.inf)))

    def _may_wake(self, number):
        rested = self.seen - self.slept_since.get(number, -math.inf) >= REST
        return rested and self._is_welcome(number)

    def _is_welcome(self, number):
        if not self[number].by_order:
            return True
        keys = [self.key_of(row) for row in self.ring]
        return self.share >= 1 and self._can_pay(FIT) and look_ordered(keys)

    def _wake(self, number):
        self.minis[number] = None
        self._show(number, self._sampled(self.ring)[-LATELY:])
        if self[number].by_order:
            self.spent += FIT

    def _start_over(self):
        self.found = self.found[-RECENT:]
        self.slept_since = {}
        for number in self._firsts():
            if number not in self.minis and self._can_pay_rounds(1) and self._is_welcome(number):
                self._wake(number)

    # 6. A change

    def _has_changed(self):
        before, recent = self.own[:-RECENT], self.own[-RECENT:]
        if len(before) < 2 * RECENT:
            return False
        mean = fmean(before)
        far = max(CHANGED * mean, STRANGE * pstdev(before))
        more = [each - mean > far for each in recent]
        less = [mean - each > far for each in recent]
        if not (all(more) or all(less)):
            return False
        self.own, self.changed_at = recent, self.seen
        return True

    # 7. Cost

    def _can_pay(self, cost):
        return self.spent + cost <= FREE + ALLOWED * self.earned

    def _can_pay_rounds(self, count):
        return self._can_pay(count * ROUND * sum(self[number].cost for number in self._shown()))

    def _are_resting(self, changed):
        """Tell whether there is too little: a round is kept back, unless somebody is new."""
        rounds = 1 if self.ruled >= FEWEST else 0
        if self.missed and not changed:
            rounds += 1
        return not self._can_pay_rounds(rounds)

    def _catch_up(self):
        if self.missed:
            known = self._sampled(self.ring)
            known = known[: max(0, len(known) - len(self.waiting))][-LATELY:]
            for number in self._shown():
                self._show(number, known[-self.missed :])
            self.missed = 0

    # 8. Hot keys

    def _find_hot_keys(self):
        if self.share < 1 and (math.log2(self.looked).is_integer() or self.looked % HOT_LOOKS == 0):
            self.hot = hot_keys([self.key_of(row) for row in self.ring])


def hot_keys(keys):
    """Return the keys with more than their part of the rows."""
    return {key for key, count in Counter(keys).items() if count > HOT * len(keys)}


def cold_share(held, hot):
    """Return which share of the held keys is not hot, half at least."""
    return max(0.5, 1 - sum(key in hot for key in held) / len(held)) if held else 1


def look_ordered(keys):
    """Tell whether keys 4 rows apart are nearer to each other than keys half a ring apart."""
    if len(keys) < ORDER_FEWEST:
        return False
    near = [abs(keys[place] - keys[place - 4]) for place in range(4, len(keys))]
    far = [abs(keys[place] - keys[place - len(keys) // 2]) for place in range(len(keys))]
    near, far = list(filter(None, near)), list(filter(None, far))  # not the same key again
    return bool(near and far) and fmean(near) < 0.6 * fmean(far)


def moved(used, budgets, targets):
    """Return the sizes of memories, one step nearer to their targets (9)."""
    step = max(1, sum(targets) // 16)
    after, spare, room = list(targets), sum(targets), 0
    for lane, target in enumerate(targets):
        if used[lane] > target:
            after[lane] = max(target, min(budgets[lane], used[lane]) - step)
            spare -= max(used[lane], after[lane])
        else:
            spare -= used[lane]
            room += target - used[lane]
    if spare < room:
        for lane, target in enumerate(targets):
            if used[lane] <= target:
                after[lane] = used[lane] + spare * (target - used[lane]) // room
    return after


class ChoosingJoin(NaiveJoin):
    """A join with `policy="auto"`; too small a budget has no chooser."""

    def __init__(self, budget, *, joins, streams, split=True, layout="unified", **options):
        first = factory(JOINING[0][0][0], joins=joins)
        self.options = options | {"joins": joins, "streams": streams}
        super().__init__(first, budget, layout=layout, **self.options)
        self.total, self.targets = budget, [lane.budget for lane in self.lanes]
        self.entered = []  # (tuple, its row)
        self.times = {}  # row number -> time as given
        self.chooser = None
        rows = max(1, budget // ROW_BYTES) if self.sized else budget
        if rows < SMALLEST:
            return
        layouts = [None]
        if layout == "split":
            layouts = [tuple(rows / budget for rows in self.targets)]
        elif split:
            layouts += layouts_of(streams)
        families = [[one for one in family if self._is_defined(*one)] for family in JOINING]
        self.share, self.small_scale = share_of(rows), max(1, round(rows * share_of(rows)))
        self.chooser = Chooser(
            candidates(families, layouts), rows, self._miniature, first_key, alike=True
        )

    def _is_defined(self, name, params):
        return self.within is not None or (name != "life" and "remains" not in params)

    def _miniature(self, candidate):
        cold = cold_share([t.keys[0] for t in self.held], self.chooser.hot)
        rows = [max(1, round(part * self.share * cold)) for part in self._parts(candidate)]
        small = self.options | {"drop": 0.0, "shares": [part / sum(rows) for part in rows]}
        small["layout"] = "unified" if candidate.shares is None else "split"
        if self.window == "count":
            small["within"] = max(1, round(self.within * self.share))
        policy = factory(candidate.name, joins=self.joins, **candidate.params)
        return NaiveJoin(policy, sum(rows), scale=self.small_scale, **small)

    def _parts(self, candidate):
        if candidate.shares is None:
            return [self.total]
        return split_budget(self.total, self.streams, candidate.shares)

    def _enter(self, number, row):
        t = super()._enter(number, row)
        if t is not None:
            self.entered.append((t, row))
            self.times[number] = row["time"]
        return t

    def _take(self, number, row, results):
        super()._take(number, row, results)
        self._tell()

    def _take_together(self, time, group, results):
        super()._take_together(time, group, results)
        self._tell()

    def _tell(self):
        rows = [row | {"end": t.deadline} for t, row in self.entered]
        self.entered = []
        if self.chooser is None or not rows:
            return
        looked, other = self.chooser.saw(rows, self.attained)
        if other:
            self._take_over(self.chooser.in_force)
        if looked:
            self._move_lanes()

    # 9. Taking over

    def _take_over(self, candidate):
        self.targets = self._parts(candidate)
        make = factory(candidate.name, joins=self.joins, **candidate.params)
        self.lanes = self._make_lanes(make, self.targets)
        for lane in self.lanes:
            lane.budget = self._used(lane)
        self._move_lanes()
        self._live_again()

    def _move_lanes(self):
        used = [self._used(lane) for lane in self.lanes]
        budgets = moved(used, [lane.budget for lane in self.lanes], self.targets)
        if any(
            lane.budget != target for lane, target in zip(self.lanes, self.targets, strict=True)
        ):
            for lane, budget in zip(self.lanes, budgets, strict=True):
                lane.budget = budget

    def _live_again(self):
        """Tell the new policies of the rows in the ring, and of those held, each in its time."""
        ring = self.chooser.ring
        to_come = sorted(self.held, key=lambda t: self.times[t.row])
        now = -math.inf
        for number, row in enumerate(ring, start=1):
            now = self.now - len(ring) + number if self.window == "count" else max(now, row["time"])
            t = Tuple(row["stream"], tuple(row["keys"]), row["time"], row["end"], -1)
            for lane in self.lanes:
                lane.policy.arrive(t, now)
            if self.joins == TWO_WAY:
                self._match_again(t, to_come, now)
            while to_come and self.times[to_come[0].row] <= row["time"]:
                came = to_come.pop(0)
                self._lane(came).policy.insert(came, now)
        for t in to_come:
            self._lane(t).policy.insert(t, self.now)

    def _match_again(self, t, to_come, now):
        for held in self._partners(1 - t.stream, 0, t.keys[0]):
            if held not in to_come and self._lived_together((t, held)):
                self._lane(held).policy.match(held, now)


def first_key(row):
    return row["keys"][0]


class ChoosingLookup(NaiveLookup):
    """A cache with `policy="auto"`; too small a budget has no chooser."""

    def __init__(self, budget, *, seed=0):
        super().__init__(factory("rate"), budget, seed=seed)
        self.seed = seed
        self.chooser = None
        if budget >= SMALLEST:
            small = max(1, round(budget * share_of(budget)))
            self.chooser = Chooser(
                candidates(CACHING, [None]),
                budget,
                lambda each: NaiveLookup(factory(each.name, **each.params), small),
                lambda key: key,
                alike=False,
            )

    def _look_up(self, key, size):
        hit = super()._look_up(key, size)
        if self.chooser is not None:
            _, other = self.chooser.saw([key], self.attained)
            if other:
                self._take_over(self.chooser.in_force)
        return hit

    def _take_over(self, candidate):
        """Let the new policy live through the references in the ring."""
        self.policy = factory(candidate.name, **candidate.params)(self.seed, self.budget)
        self.policy.caching = True
        ring = self.chooser.ring
        first = self.counters["arrived"] - len(ring)
        held = {t.keys[0]: t for t in self.held}
        for t in self.held:
            if t.time < first:
                self.policy.insert(t, first)
        for now, key in enumerate(ring, start=first):
            self.policy.arrive(Tuple(1, (key,), now, FOREVER, now), now)
            if key in held and held[key].time == now:
                self.policy.insert(held[key], now)
            elif key in held and held[key].time < now:
                self.policy.match(held[key], now)
