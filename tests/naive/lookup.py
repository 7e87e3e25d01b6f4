"""A cache in front of a table, seen as a join of the table's rows with a stream of references.

Held tuples are stream 0 and references stream 1 of one two-way join, so that any join policy
also rules a cache. A hit is a match; a miss fetches the row and offers it to the cache.

Source: the caching problem of the HEEB paper, sections 3 and 3.1 (Xie, Yang and Chen 2005).
"""

from .tuples import FOREVER, Tuple


class NaiveLookup:
    """A cache of `budget` keys (None: no limit), or bytes; `push` keys, get hits."""

    def __init__(self, policy_factory, budget, seed=0, sized=False, goal="hits"):
        rows = budget
        if sized and budget is not None:
            rows = max(1, budget // 100)
        self.policy = policy_factory(seed, rows)
        self.policy.caching = True
        self.budget = budget
        self.sized = sized
        self.goal = goal
        self.saved = 0  # what the hits were worth
        self.held = []  # in order of insertion
        self.counters = dict.fromkeys(("arrived", "hits", "misses", "evicted", "rejected"), 0)

    @property
    def attained(self):
        """How much was found so far of what the goal is."""
        return self.saved

    @property
    def resident(self):
        return [t.keys[0] for t in self.held]

    def push(self, keys, sizes=None, costs=None):
        """Look every key up, in order; return for each whether it was a hit."""
        sizes = sizes if self.sized else [1] * len(keys)
        prices = {"hits": [1] * len(keys), "bytes": sizes, "costs": costs}[self.goal]
        return [self._look_up(*each) for each in zip(keys, sizes, prices, strict=True)]

    def discard(self, keys):
        """Discard keys; return for each whether it was held."""
        return [self._let_go(key) for key in keys]

    def _let_go(self, key):
        found = next((t for t in self.held if t.keys[0] == key), None)
        if found is not None:
            self.policy.remove(found, self.counters["arrived"])
            self.held.remove(found)
        return found is not None

    def _look_up(self, key, size, price):
        now = self.counters["arrived"]
        self.counters["arrived"] += 1
        self.policy.arrive(Tuple(1, (key,), now, FOREVER, now), now)
        found = next((t for t in self.held if t.keys[0] == key), None)
        if found is not None:
            self.counters["hits"] += 1
            self.saved += price
            self.policy.match(found, now)
            return True
        self.counters["misses"] += 1
        self._offer(Tuple(0, (key,), now, FOREVER, now, size, price), now)
        return False

    def _offer(self, t, now):
        if not self._make_room(t, now):
            self.counters["rejected"] += 1
            return
        self.held.append(t)
        self.policy.insert(t, now)

    def _make_room(self, t, now):
        if self.budget is None:
            return True
        if t.size > self.budget:
            return False  # no number of victims would help
        while sum(h.size for h in self.held) + t.size > self.budget:
            victim = self.policy.victim(t, now)
            if victim is None:
                return False
            self.policy.remove(victim, now)
            self.held.remove(victim)
            self.counters["evicted"] += 1
        return True
