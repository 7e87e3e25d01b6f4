"""What held tuples are worth where the goal is rows that find at least one partner.

An arrival matches all held partners at once, so of the tuples of one stream and key only the newest
is needed for those to come; the others are worth something only until they have matched.
"""

SERVES = 2 / 3  # beside 1 for a tuple that has not matched yet
MOST = 253  # waiting tuples that are told apart


class Standings:
    """Follows a join: tell it what happens, ask it for `gain` and `victim`."""

    def __init__(self, joins, held, matched):
        self.joins, self.held, self.matched = joins, held, matched  # the latter two as they become
        self.waits = {}  # (tuple, join) -> how many waited before it when it became an older one
        self.spent = []  # in the order in which they came to be worth nothing

    def joins_of(self, t):
        return [number for number, join in enumerate(self.joins) if t.stream in dict(join)]

    def peers(self, t, number):
        """Return the held tuples of the same stream and key, oldest first."""
        attribute = dict(self.joins[number])[t.stream]
        return [
            h for h in self.held if h.stream == t.stream and h.keys[attribute] == t.keys[attribute]
        ]

    def gain(self, t, number):
        """Return how many rows the next partner of `t` in a join matches, as far as it is due."""
        if t not in self.held or self.peers(t, number)[-1] is t:
            return SERVES if t in self.matched else 1 + SERVES
        return 0.0 if t in self.matched else 2 / (2 + self.waits[t, number])

    def match(self, t):
        """Take note that `t` is among the matched."""
        self._list(t)

    def enter(self, t):
        """Take note that `t` is held now; return those that it made older ones."""
        changed = []
        for number in self.joins_of(t):
            *older, newest = self.peers(t, number)
            assert newest is t
            if older:
                before = self.waits.get((older[-2], number), 0) if len(older) > 1 else 0
                if len(older) > 1 and older[-2] in self.matched:
                    before = 0
                self.waits[older[-1], number] = min(MOST, before + 1)
                changed.append(older[-1])
                self._list(older[-1])
        return changed

    def leave(self, t):
        """Remove a held tuple; return those that became the newest."""
        if t in self.spent:
            self.spent.remove(t)
        all_peers = [self.peers(t, number) for number in self.joins_of(t)]
        self.held.remove(t)
        changed = [peers[-2] for peers in all_peers if peers[-1] is t and len(peers) > 1]
        for each in changed:
            self._list(each)
        return changed

    def _list(self, t):
        """Let `t` be among the spent if it is worth nothing, and only then."""
        is_spent = not any(self.gain(t, number) for number in self.joins_of(t))
        if is_spent and t not in self.spent:
            self.spent.append(t)
        elif not is_spent and t in self.spent:
            self.spent.remove(t)

    def first_spent(self, streams):
        """Return the first one spent, of the stream with most of them; None if there is none."""
        lists = [[t for t in self.spent if t.stream == stream] for stream in streams]
        longest = max(lists, key=len)
        return longest[0] if longest else None

    def replaced(self, newcomer):
        """Return a held tuple that would be spent if the newcomer were held, or None."""
        for number in self.joins_of(newcomer):
            peers = self.peers(newcomer, number)
            if peers and peers[-1] in self.matched:
                others = [n for n in self.joins_of(newcomer) if n != number]
                if not any(self.gain(peers[-1], n) for n in others):
                    return peers[-1]
        return None
