"""Thinning, one key after the other: the rows of a key are sorted, and walked through.

Times are microseconds. A row is (number, time, key, "read" or "ask", value or width).
"""

from tests.naive.precision_rules import RULES
from tests.naive.rng import SplitMix, mix


class Line:
    """What is known of one key."""

    def __init__(self, rule, coins):
        self.rule, self.coins = rule, coins
        self.value = None
        self.read = self.clock = self.sent = None

    def send(self, why, now, need):
        coin = self.coins.uniform()
        if why in ("above", "below", "asked"):
            self.rule.refreshed(why, self.value, now / 1e6, need, coin)
        low, high = self.rule.interval(self.value)
        self.ends = low(0), high(0)
        self.sent = now
        return why


class Naive:
    def __init__(self, rule, params, c_vr, c_qr, silence, seed):
        self.make = lambda: RULES[rule](c_vr, c_qr, **params)
        self.silence, self.seed = silence, seed
        self.lines = {}
        self.counts = {"late": 0, "late_queries": 0, "unknown": 0}

    def push(self, rows):
        """Return (row, time, low, high, why) of all refreshes."""
        found = []
        for key in dict.fromkeys(row[2] for row in rows):
            mine = [row for row in rows if row[2] == key]
            mine.sort(key=lambda row: (row[1], row[3] == "ask", row[0]))
            for number, time, _, what, amount in mine:
                sent = self.read(key, time, amount) if what == "read" else None
                if what == "ask":
                    sent = self.ask(key, time, amount)
                if sent:
                    line = self.lines[key]
                    found.append((number, line.clock, *line.ends, sent))
        return sorted(found)

    def read(self, key, time, value):
        if key not in self.lines:
            coins = SplitMix(mix((key & (2**64 - 1)) ^ self.seed))
            line = self.lines[key] = Line(self.make(), coins)
            line.value, line.read, line.clock = value, time, time
            return line.send("first", time, 0.0)
        line = self.lines[key]
        if time < line.read:
            self.counts["late"] += 1
            return None
        line.read, line.clock = time, max(time, line.clock)
        if value != line.value:
            line.value = value
            line.rule.wrote(value, line.clock / 1e6)
        low, high = line.ends
        if not low <= value <= high:
            return line.send("above" if value > high else "below", line.clock, 0.0)
        if self.silence and line.clock >= line.sent + self.silence:
            return line.send("spoke", line.clock, 0.0)
        return None

    def ask(self, key, time, width):
        if key not in self.lines:
            self.counts["unknown"] += 1
            return None
        line = self.lines[key]
        if time < line.read:
            self.counts["late_queries"] += 1
            return None
        line.clock = max(time, line.clock)
        low, high = line.ends
        lost = self.silence and line.clock > line.sent + self.silence
        return line.send("asked", line.clock, width) if lost or high - low > width else None
