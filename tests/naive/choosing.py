"""AUTO: challengers run in shadow caches beside the incumbent, and the best of them takes over.

Written from docs/decisions/0021-auto.md. Constants and lists of policies are those of the package,
handed over by the tests (`RULES`): what is checked here is the mechanism. Shadow caches are the
naive engines themselves, and rows are seen one at a time instead of in batches.
"""

import copy
import math
from collections import Counter
from statistics import fmean, pstdev
from types import SimpleNamespace

from .join import TWO_WAY, NaiveJoin
from .lookup import NaiveLookup
from .policies import factory
from .rng import mix
from .tuples import FOREVER, Tuple

RULES = SimpleNamespace()  # constants by their names; see tests/compare.py
BY_ORDER = {"heeb"}  # policies that go by the order of keys
ROW_BYTES = 100
SALT = 0x5851F42D4C957F2D


def share_of(rows):
    return min(1.0, RULES.ROOM / rows)


def in_sample(key, share):
    """Tell whether the hash of a key, as a number from 0 to 1, falls below the share."""
    return (mix((key % 2**64) ^ SALT) >> 11) < round(share * 2**53)


def attained_with(engine, rows):
    """Return how much of its goal an engine finds in some rows."""
    before = engine.attained
    engine.push(rows)
    return engine.attained - before


def ring_room(rows):
    """Half as many rows as the budget has, but not very few."""
    return min(max(RULES.RING_FEWEST, rows // 2), RULES.RING_MOST)


class Chooser:
    """Shows sampled rows to shadow caches; `saw` tells whether another policy takes over.

    `tried` are pairs of name and parameters, `costs` what a row costs each of them. `make` returns
    the shadow cache of one of them, `key_of` the key of a row.
    """

    def __init__(self, tried, costs, start, rows, make, key_of, joins=True):
        self.sure = RULES.SURE_JOINING if joins else RULES.SURE
        self.free = RULES.FREE if joins else RULES.FREE_CACHING
        self.leaves_out = joins and share_of(rows) < 1  # hot keys
        self.knows_gains = not joins and share_of(rows) < 1
        self.gained = 0  # what the engine found in the sampled rows since the last look
        self.tried, self.costs, self.make, self.key_of = tried, costs, make, key_of
        self.share, self.room = share_of(rows), ring_room(rows)
        self.memory = min(rows, RULES.ROOM)
        self.start, self.choice, self.before = start, start, None
        self.ring, self.sample, self.own = [], [], []
        self.count = self.came = 0  # sampled rows since the last look, and all
        self.hot = set()
        self.seen = self.looks = self.trial = self.results = self.switches = 0
        self.shadows = {}  # number -> engine
        self.alive = set()  # challengers in the trial
        self.history = []  # (rows, results of the engine, {number: results}) of each look
        self.whole, self.real = (0, 0), (0, 0)
        self.funds, self.doubt = self.free, 1.0
        self.unproved = False  # whether what is in force took over without evidence

    @property
    def in_force(self):
        return self.tried[self.choice]

    def saw(self, rows, results, gained=0):
        """Take rows that arrived together, if only one; `results` the engine has found so far, and
        a cache has `gained` in these.
        """
        self.ring = (self.ring + rows)[-self.room :]
        sampled = self._sampled(rows)
        self.sample = (self.sample + sampled)[-RULES.WARM :]
        if sampled:
            self.gained += gained
        self.count += len(sampled)
        self.came += len(rows)
        if self.count < self._need():
            return False
        count, came, self.count, self.came = self.count, self.came, 0, 0
        own, self.results = results - self.results, results
        changed = self._look(count, came, own)
        self.gained = 0
        if self.leaves_out and (math.log2(self.looks).is_integer() or self.looks % 64 == 0):
            hot = hot_keys([self.key_of(row) for row in self.ring[-2 * RULES.WARM :]])
            if hot != self.hot:
                self.hot, self.whole, self.real = hot, (0, 0), (0, 0)
        return changed

    def _sampled(self, rows):
        if self.share >= 1:
            return list(rows)
        return [
            row
            for row in rows
            if in_sample(self.key_of(row), self.share) and self.key_of(row) not in self.hot
        ]

    def _need(self):
        if self.alive:
            return max(RULES.FIRST, min(self.seen // RULES.PART, RULES.LONGEST))
        rest = int(RULES.REST * self.share / self.costs[self.choice])
        return max(RULES.FIRST, min(self.seen // RULES.PART, max(RULES.LONGEST, rest)))

    def _last(self, count):
        return (self.sample if self.share < 1 else self.ring)[-count:]

    def _look(self, count, came, own):
        self.seen += count
        self.looks += 1
        cost = max(self.costs[self.choice], sum(self.costs) / len(self.costs))
        self.funds += RULES.SPEND * cost * came
        by_order = [number for number, (name, _) in enumerate(self.tried) if name in BY_ORDER]
        if self.looks == 1 and by_order and self.choice not in by_order:
            if self._is_welcome(by_order[0]):
                self._take_over(by_order[0])
                self.unproved = True
                return True
        tried, changed = bool(self.alive), self._is_another_stream(own / came)
        if changed:
            self.history = []
            self.funds = max(self.funds, RULES.ADVANCE)
        if tried:
            self._compare(self._last(count), own)
            if self._follow():
                return True
            if self.trial % RULES.ROUND == 0:
                self._drop()
        if changed or (not tried and self.seen >= self.memory and self.funds >= 0):
            self._begin()
        return False

    def _is_another_stream(self, own):
        self.own = [*self.own, own][-RULES.LOOKS :]
        before, recent = self.own[: -RULES.RECENT], self.own[-RULES.RECENT :]
        if len(before) < 2 * RULES.RECENT:
            return False
        far = max(RULES.CHANGED * fmean(before), RULES.STRANGE * pstdev(before))
        more = all(each - fmean(before) > far for each in recent)
        less = all(fmean(before) - each > far for each in recent)
        if more or less:
            self.own = recent
        return more or less

    def _begin(self):
        self.history = self.history[len(self.history) // 2 :]
        self.trial = 0
        everyone = range(len(self.tried))
        self.alive = {n for n in everyone if n != self.choice and self._is_welcome(n)}
        for number in everyone:
            if number in self.alive or (number == self.choice and self.share < 1):
                self._enter(number)

    def _enter(self, number):
        if number not in self.shadows:
            self.shadows[number] = self.make(self.tried[number], number == self.choice)
            if self.share < 1:
                self._show(number, self._last(RULES.WARM))
            if self.tried[number][0] in BY_ORDER:
                self.funds -= RULES.FIT

    def _is_welcome(self, number):
        if self.tried[number][0] not in BY_ORDER:
            return True
        return self.share >= 1 and look_ordered([self.key_of(row) for row in self.ring])

    def _show(self, number, rows):
        self.funds -= RULES.SHOWN + self.costs[number] * len(rows)
        return attained_with(self.shadows[number], rows)

    def _compare(self, rows, own):
        self.trial += 1
        found = {} if self.share < 1 else {self.choice: own}
        for number in sorted(self.shadows):
            found[number] = self._show(number, rows)
        self.whole = self.whole[0] + own, self.whole[1] + found[self.choice]
        mine = self.gained if self.knows_gains else own
        self.history = [*self.history, (len(rows), mine, found)][-RULES.LOOKS :]

    def _beside(self, number, own, found):
        """Return what the incumbent found, or what the engine would have found as it was before.

        Of a cache the incumbent's shadow cache counts as far as the engine found nearly as much.
        """
        if self.knows_gains and self.choice in found:
            return min(found[self.choice], RULES.FELL * own)
        if number == self.before and self.share < 1 and min(self.real) > 0:
            return own * self.real[1] / self.real[0]
        return found.get(self.choice)

    def _evidence(self, number):
        """Return how many looks there were, rows, base and lead, and the error of the lead."""
        rows = base = lead = squares = count = 0
        for length, own, found in self.history:
            beside = self._beside(number, own, found)
            if number in found and beside is not None:
                more = found[number] - beside
                count, rows, base = count + 1, rows + length, base + beside
                lead, squares = lead + more, squares + more**2
        spread = max(squares - lead**2 / (count + 1), 0)
        return count, rows, max(base, 1), lead, math.sqrt(spread * (count + 1) / max(count, 1))

    def _follow(self):
        worth = {}
        for number in self.alive:
            looks, rows, base, lead, error = self._evidence(number)
            turn = self.doubt * RULES.TURN * self.memory * base / max(rows, 1)
            if self._only_retunes(number) or (self.share >= 1 and self.doubt <= 1):
                turn = 0
            expected = number == self.start and self.share >= 1
            expected |= self.tried[number][0] in BY_ORDER
            sure = RULES.SURE if expected else self.sure
            if self._is_over() and (number == self.start or self.unproved):
                sure = 1
            if looks >= RULES.FEWEST and lead > turn + sure * error:
                worth[number] = lead / base
        if not worth:
            return False
        near = [n for n in sorted(worth) if worth[n] >= max(worth.values()) - RULES.NEAR]
        choice = min(near, key=lambda number: (self.costs[number], -worth[number]))
        if choice == self.before:
            self.doubt = min(2 * self.doubt, RULES.MOST_DOUBT)
        self._take_over(choice)
        return True

    def _take_over(self, choice):
        self._enter(self.choice)
        self.real, self.whole = self.whole, (0, 0)
        self.choice, self.before = choice, self.choice
        self.history = []
        self.switches += 1
        self.unproved = False
        self.alive = self.alive - {choice} | {self.before}
        if self.share >= 1:
            self.shadows.pop(choice, None)
        self.trial = 0

    def _is_over(self):
        return self.trial >= RULES.LENGTH or self.funds < -self.free

    def _only_retunes(self, number):
        return self.tried[number][0] == self.in_force[0] and self.in_force[0] in ("gdj", "clock")

    def _drop(self):
        for number in sorted(self.alive):
            _, _, _, lead, error = self._evidence(number)
            if self._is_over() or lead <= -RULES.BEHIND * error:
                self.alive.discard(number)
                del self.shadows[number]
        if not self.alive:
            self.shadows = {}
            self.doubt = max(1, self.doubt / 2)


def hot_keys(keys):
    """Return the keys with more than their part of the rows."""
    return {key for key, count in Counter(keys).items() if count > RULES.HOT * len(keys)}


def cold_share(held, hot):
    """Return which share of the held keys is not hot, half at least."""
    return max(0.5, 1 - sum(key in hot for key in held) / len(held)) if held else 1


def look_ordered(keys):
    """Tell whether keys 4 rows apart are nearer to each other than keys half a ring apart."""
    if len(keys) < RULES.ORDER_FEWEST:
        return False
    near = [abs(keys[place] - keys[place - 4]) for place in range(4, len(keys))]
    far = [abs(keys[place] - keys[place - len(keys) // 2]) for place in range(len(keys))]
    near, far = list(filter(None, near)), list(filter(None, far))  # not the same key again
    return bool(near and far) and fmean(near) < 0.6 * fmean(far)


def first_key(row):
    return row["keys"][0]


class ChoosingJoin(NaiveJoin):
    """A join with `policy="auto"`, or whose policy has parameters that are; `tried` and `costs`
    are what is chosen from. Too small a budget has no chooser.
    """

    def __init__(self, tried, costs, start, budget, *, joins, streams, **options):
        self.options = options | {"joins": joins, "streams": streams}
        name, params = tried[start]
        super().__init__(factory(name, joins=joins, **params), budget, **self.options)
        self.entered = []  # (tuple, its row)
        self.times = {}  # row number -> time as given
        self.chooser = None
        rows = max(1, budget // ROW_BYTES) if self.sized else budget
        if rows >= RULES.SMALLEST:
            self.small_scale = max(1, round(rows * share_of(rows)))
            self.chooser = Chooser(tried, costs, start, rows, self._shadow, first_key)

    def _fork(self, name, params, as_it_is):
        """Return a copy of the join that goes on under another policy, or under its own."""
        chooser, self.chooser = self.chooser, None
        fork, self.chooser = copy.deepcopy(self), chooser
        fork.drop = 0.0
        if not as_it_is:
            fork.begin_anew(name, params, chooser.ring)
        return fork

    def _shadow(self, chosen, as_it_is):
        name, params = chosen
        share = self.chooser.share
        if share >= 1:
            return self._fork(name, params, as_it_is)
        cold = cold_share([t.keys[0] for t in self.held], self.chooser.hot)
        rows = [max(1, round(lane.budget * share * cold)) for lane in self.lanes]
        small = self.options | {"drop": 0.0, "shares": [part / sum(rows) for part in rows]}
        if self.window == "count":
            small["within"] = max(1, round(self.within * share))
        policy = factory(name, joins=self.joins, **params)
        return NaiveJoin(policy, sum(rows), scale=self.small_scale, **small)

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
        before = self.chooser.in_force[0]
        if self.chooser.saw(rows, self.attained):
            self._take_over(before, *self.chooser.in_force)

    def _take_over(self, before, name, params):
        if name == before and hasattr(self.lanes[0].policy, "retune"):
            for lane in self.lanes:
                lane.policy.retune(**params)
            return
        self.begin_anew(name, params, self.chooser.ring)

    def begin_anew(self, name, params, ring):
        """Tell new policies of the rows in the ring, and of those held, each in its time."""
        make = factory(name, joins=self.joins, **params)
        self.lanes = self._make_lanes(make, [lane.budget for lane in self.lanes])
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


class ChoosingLookup(NaiveLookup):
    """A cache with `policy="auto"`, or whose policy has parameters that are."""

    def __init__(self, tried, costs, start, budget, *, seed=0):
        name, params = tried[start]
        super().__init__(factory(name, **params), budget, seed=seed)
        self.seed = seed
        self.last, self.uses = {}, {}  # by key: its last reference, and hits since it is held
        self.chooser = None
        if budget >= RULES.SMALLEST:
            small = max(1, round(budget * share_of(budget)))
            self.chooser = Chooser(
                tried,
                costs,
                start,
                budget,
                lambda chosen, as_it_is: self._shadow(*chosen, as_it_is, small),
                lambda key: key,
                joins=False,
            )

    def _look_up(self, key, size, price):
        attained = self.attained
        hit = super()._look_up(key, size, price)
        self.last[key] = self.counters["arrived"] - 1
        self.uses[key] = min(self.uses[key] + 1, RULES.MOST_USES) if hit else 0
        if self.chooser is not None:
            before = self.chooser.in_force[0]
            if self.chooser.saw([key], self.attained, self.attained - attained):
                self._take_over(before, *self.chooser.in_force)
        return hit

    def discard(self, keys):
        for shadow in self.chooser.shadows.values() if self.chooser else ():
            shadow.discard(keys)
        return super().discard(keys)

    def _take_over(self, before, name, params):
        if name == before and hasattr(self.policy, "retune"):
            self.policy.retune(**params)
            return
        self.begin_anew(name, params, self.chooser.ring)

    def _shadow(self, name, params, as_it_is, small):
        if self.chooser.share < 1:
            return NaiveLookup(factory(name, **params), small)
        chooser, self.chooser = self.chooser, None
        fork, self.chooser = copy.deepcopy(self), chooser
        if not as_it_is:
            fork.begin_anew(name, params, chooser.ring)
        return fork

    def begin_anew(self, name, params, ring):
        """Tell a new policy of the uses of older rows, then of the references in the ring."""
        self.policy = factory(name, **params)(self.seed, self.budget)
        self.policy.caching = True
        first = self.counters["arrived"] - len(ring)
        for t in sorted(self.held, key=lambda t: self.last[t.keys[0]]):
            key = t.keys[0]
            if t.time < first:
                now = min(self.last[key], first)
                for use in range(1 + self.uses[key]):
                    self.policy.arrive(Tuple(1, (key,), now, FOREVER, now), now)
                    self.policy.match(t, now) if use else self.policy.insert(t, now)
        held = {t.keys[0]: t for t in self.held}
        for now, key in enumerate(ring, start=first):
            self.policy.arrive(Tuple(1, (key,), now, FOREVER, now), now)
            if key in held and held[key].time == now:
                self.policy.insert(held[key], now)
            elif key in held and held[key].time < now:
                self.policy.match(held[key], now)
