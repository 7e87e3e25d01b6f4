"""The width rules as objects, written from the papers: what a source does about one cache.

`wrote`: the value changed. `was_read`: a query looked at it. `refreshed`: an interval is about to
be sent, because the value left on a side ("above", "below") or because it was "asked" for.
`interval(value)` gives the ends as functions of the time that has passed.
"""

import math
from collections import deque


class Plain:
    """What most rules share: no interest in writes and reads, an interval that stands still."""

    width = 1.0

    def wrote(self, value, now):
        pass

    def was_read(self, need, now):
        pass

    def sides(self):
        return self.width / 2, self.width / 2

    def interval(self, value):
        below, above = self.sides()
        return lambda passed: value - below, lambda passed: value + above

    def badness(self):
        """Who has most of it is evicted."""
        return self.width

    def seldom(self, why, draw):
        """Tell whether the coin says that this refresh is to be passed over."""
        return draw >= (min(1, 1 / self.rho) if why == "asked" else min(1, self.rho))


class Static(Plain):
    def __init__(self, c_vr, c_qr, width=1.0):
        self.width = width

    def refreshed(self, why, value, now, need, draw):
        pass


class Adaptive(Plain):
    def __init__(self, c_vr, c_qr, alpha=1.0, tau_0=0.0, tau_inf=math.inf, width=1.0, stale=False):
        self.rho = c_vr / c_qr if stale else 2 * c_vr / c_qr
        self.alpha, self.tau_0, self.tau_inf = alpha, tau_0, tau_inf
        self.width, self.stale = width, stale

    def refreshed(self, why, value, now, need, draw):
        if self.seldom(why, draw):
            return
        if why == "asked":
            self.width /= 1 + self.alpha
        else:
            self.width *= 1 + self.alpha

    def sides(self):
        width = self.width
        if width < self.tau_0:
            width = 0.0
        elif width >= self.tau_inf:
            width = math.inf
        return (0.0, width) if self.stale else (width / 2, width / 2)


class Uncentred(Plain):
    def __init__(self, c_vr, c_qr, alpha=1.0, width=1.0):
        self.rho, self.factor = 2 * c_vr / c_qr, 1 + alpha
        self.side = {"below": width / 2, "above": width / 2}

    @property
    def width(self):
        return self.side["below"] + self.side["above"]

    def refreshed(self, why, value, now, need, draw):
        if self.seldom(why, draw):
            return
        if why == "asked":
            self.side = {name: width / self.factor for name, width in self.side.items()}
        else:
            self.side[why] *= self.factor
        for one, other in (("below", "above"), ("above", "below")):
            self.side[one] = max(self.side[one], 0.001 * self.side[other])

    def sides(self):
        return self.side["below"], self.side["above"]


class Growing(Adaptive):
    def __init__(self, c_vr, c_qr, alpha=1.0, width=1.0, power=0.5, drift=False):
        super().__init__(c_vr, c_qr, alpha, width=width)
        self.power, self.drift = power, drift
        self.points, self.rate, self.rates = [], 0.0, 0

    def wrote(self, value, now):
        if self.points:
            then, was = self.points[-1]
            self.rates += 1
            rate = (value - was) / (now - then)
            self.rate += (rate - self.rate) / min(self.rates, 50)
        self.points.append((now, value))

    def interval(self, value):
        half, rate, power = self.width / 2, self.rate, self.power
        if self.drift:
            return (
                lambda passed: value - half + rate * passed,
                lambda passed: value + half + rate * passed,
            )
        return (
            lambda passed: value - half * passed**power,
            lambda passed: value + half * passed**power,
        )


class Majority(Adaptive):
    def __init__(self, c_vr, c_qr, alpha=1.0, width=1.0, r=3):
        super().__init__(c_vr, c_qr, alpha, width=width)
        self.votes = deque(maxlen=r)

    def refreshed(self, why, value, now, need, draw):
        self.votes.append(why != "asked")
        wider = sum(self.votes) > len(self.votes) / 2
        super().refreshed("above" if wider else "asked", value, now, need, draw)


class Exact(Plain):
    """[WJH97], as the paper retells it."""

    def __init__(self, c_vr, c_qr, x=15):
        self.prices, self.x = {"read": c_qr, "write": c_vr}, x
        self.log, self.copied, self.saving = [], True, 0.0

    def count(self, what):
        self.log.append(what)
        if len(self.log) >= self.x:
            without = self.log.count("read") * self.prices["read"]
            with_copy = self.log.count("write") * self.prices["write"]
            self.copied, self.saving = with_copy < without, without - with_copy
            self.log = []

    def wrote(self, value, now):
        self.count("write")

    def was_read(self, need, now):
        self.count("read")

    def refreshed(self, why, value, now, need, draw):
        pass

    def sides(self):
        return (0.0, 0.0) if self.copied else (math.inf, math.inf)

    def badness(self):
        return -self.saving


class Divergence(Plain):
    """[HSW94], as the paper retells it: windows of k reads and k writes, priced at each refresh."""

    width = 0.0

    def __init__(self, c_vr, c_qr, k=23):
        self.c_vr, self.c_qr = c_vr, c_qr
        self.reads, self.writes = deque(maxlen=k), deque(maxlen=k)

    def wrote(self, value, now):
        self.writes.append(now)

    def was_read(self, need, now):
        self.reads.append((now, math.floor(need)))

    def refreshed(self, why, value, now, need, draw):
        if not self.reads:
            self.width = math.inf
            return
        reading = len(self.reads) / max(now - self.reads[0][0], 1)
        writing = len(self.writes) / max(now - self.writes[0], 1) if self.writes else 0

        def price(lag):
            remote = sum(need < lag for _, need in self.reads)
            return self.c_vr * writing / (lag + 1) + self.c_qr * reading * remote / len(self.reads)

        prices = {lag: price(lag) for _, lag in self.reads}
        cheapest = min(prices.values())
        if cheapest < self.c_qr * reading:
            self.width = min(prices, key=lambda lag: (prices[lag], -lag))
        else:
            self.width = math.inf

    def sides(self):
        return 0.0, self.width


class Settling(Plain):
    """As its description in `penstock.precision.rules.settling` has it, idea by idea."""

    def __init__(self, c_vr, c_qr, memory=100, pace=16, width=1.0, stale=False):
        self.price, self.memory, self.pace, self.stale = c_vr / c_qr, memory, pace, stale
        self.width, self.learnt = width, math.log(width)
        self.turns, self.run = 1, 0
        self.last, self.step, self.steps = None, 0.0, 0
        self.shadow = None  # centre and reach
        self.left, self.left_shadow = 20.0, 20 * 1.15**2.4
        self.asks, self.asks_shadow = 20.0, 20 / 1.15
        self.unasked, self.per_ask = 0, c_qr / c_vr

    def sides(self):
        width = self.width if self.width > self.step / 100 else 0.0
        return (0.0, width) if self.stale else (width / 2, width / 2)

    def cast_shadow(self, value):
        self.shadow = value, (self.width if self.stale else self.width / 2) / 1.15

    def wrote(self, value, now):
        if self.last is not None:
            self.steps += 1
            self.unasked += 1
            step = abs(value - self.last)
            self.step += (step - self.step) / min(self.steps, self.pace)
        self.last = value
        if self.shadow is not None and abs(value - self.shadow[0]) > self.shadow[1]:
            self.left_shadow += 1
            self.cast_shadow(value)

    def note(self, why, in_shadow):
        if why == "asked":
            self.asks, self.asks_shadow = self.asks + 1, self.asks_shadow + in_shadow
            self.per_ask += (self.unasked - self.per_ask) / 20
            self.unasked = 0
            if self.asks > 500:
                self.asks, self.asks_shadow = self.asks / 2, self.asks_shadow / 2
        else:
            self.left += 1
            if self.left > 500:
                self.left, self.left_shadow = self.left / 2, self.left_shadow / 2

    def powers(self):
        def power(many, few):
            return min(max(math.log(many / few) / math.log(1.15), 0.02), 20)

        falls, rises = power(self.left_shadow, self.left), power(self.asks, self.asks_shadow)
        exact_copies_are_cheaper = self.per_ask * self.price < 1
        return falls, max(rises, 1) if exact_copies_are_cheaper else rises

    def move(self, why):
        falls, rises = self.powers()
        balance = self.price * falls / rises
        likely = {"asked": balance / (1 + balance), "left": 1 / (1 + balance)}
        push = {"asked": -min(1 / balance, 1), "left": min(balance, 1)}
        kind = "asked" if why == "asked" else "left"
        slope = (falls + rises) * likely["asked"] * likely["left"]
        slope *= push["left"] - push["asked"]
        self.learnt += push[kind] * min(1 / (slope * min(self.turns, self.memory)), 0.7)
        direction = -1 if why == "asked" else 1
        turned = self.run * direction <= 0
        self.run = direction if turned else self.run + direction
        if likely[kind] ** abs(self.run) < 0.001:
            self.turns = min(self.turns, 2)
        elif turned:
            self.turns += 1

    def refreshed(self, why, value, now, need, draw):
        in_shadow = need < self.width / 1.15
        scale = self.step ** (2 / 3) if self.steps else 1.0
        first = self.steps > 0 and self.shadow is None
        if first:
            self.learnt = math.log(4 * self.step / scale)
        self.note(why, in_shadow)
        self.move(why)
        if why == "asked" and self.asks <= 20 + 3:
            self.learnt = min(self.learnt, math.log(max(need, self.width / 100) / scale))
        self.learnt = min(max(self.learnt, -600), 600)
        self.width = math.exp(self.learnt) * scale
        if first or (why == "asked" and in_shadow):
            self.cast_shadow(value)


RULES = {
    "static": Static,
    "adaptive": Adaptive,
    "uncentred": Uncentred,
    "growing": Growing,
    "majority": Majority,
    "exact": Exact,
    "divergence": Divergence,
    "settling": Settling,
}
