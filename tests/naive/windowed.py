"""Frequent keys of a sliding window, in dictionaries and lists: one row after the other."""

from fractions import Fraction


class Window:
    """Counts rows of (key, place); `length` is that of the window and of a frame."""

    def __init__(self, epsilon, length, in_rows):
        self.epsilon, self.length, self.in_rows = Fraction(epsilon), length, in_rows
        self.keep = -(-4 // self.epsilon)
        self.frame, self.first, self.now = 0, None, None
        self.counts, self.lost, self.size, self.open = {}, {}, 0, 0
        self.notes = []  # (frame, place, key or None for rows, how often, exact place)

    def take(self, key, place):
        if self.first is None:
            self.first = place
        frame = (place - self.first) // self.length
        if frame > self.frame:
            self._close()
            self.frame, self.size, self.open, self.counts = frame, 0, 0, {}
        self.now = place
        if key not in self.counts and len(self.counts) == 2 * self.keep:
            cut = sorted(self.counts.values(), reverse=True)[self.keep]
            self.lost[frame] = self.lost.get(frame, 0) + cut
            self.counts = {k: n - cut for k, n in self.counts.items() if n > cut}
        self.counts[key] = self.counts.get(key, 0) + 1
        self.size, self.open = self.size + 1, self.open + 1
        often = max(1, (self.length if self.in_rows else self.size) // -(-2 // self.epsilon))
        if self.counts[key] >= often:
            self.notes.append((frame, place, key, self.counts[key], True))
            self.counts[key] = 0
        if self.open >= often:
            self.notes.append((frame, place, None, self.open, True))
            self.open = 0

    def _close(self):
        for key, often in self.counts.items():
            self.notes.append((self.frame, self.now, key, often, False))
        self.notes.append((self.frame, self.now, None, self.open, True))

    @property
    def unknown(self):
        """How often a key may have come that is not held."""
        return self.lost.get(self.frame, 0) + self.lost.get(self.frame - 1, 0)

    def bounds(self, key):
        """Return how often a key came in the window, at least and at most; None: any key."""
        mine = [note for note in self.notes if note[2] == key and note[1] > self.now - self.length]
        now = self.open if key is None else self.counts.get(key, 0)
        highest = now + sum(often for _, _, _, often, _ in mine)
        lowest = highest
        if mine and mine[0][0] < self.frame:
            often, exact = mine[0][3:]
            lowest -= often - min(often, int(exact))
        return lowest, highest + (0 if key is None else self.unknown)
