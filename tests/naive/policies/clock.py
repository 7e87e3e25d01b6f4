"""CLOCK: a hand moves round and lowers scores; the first tuple below the threshold is evicted.

A tuple starts with a score and earns one with every match. The hand depreciates the score of the
tuple it points at: below the threshold it is the victim, otherwise the hand moves on. The
newcomer takes the victim's place; the hand stays there, or moves on behind it. A newcomer that
finds room without a victim stands behind the hand.

Source: the CLOCK paper, section 3.2 (w0, dep_lin, dep_exp with rate rho, threshold tau).
Here the ring is a queue that begins at the hand: to pass a tuple is to send it to the back, and a
newcomer, standing just behind the hand, comes last. Laps that lower all and evict none are made
at once, all but the last two; scores that shrink are rounded once then, not at every lap.
"""

from .base import Policy


class Clock(Policy):
    def __init__(self, seed, budget, joins, w0=0.0, rho=None, tau=None, hand="moves"):
        super().__init__(seed, budget, joins)
        self.w0 = w0
        self.rho = rho
        self.given = tau
        self.hand = hand
        self.made_room = False
        self.queue = []  # the hand points at the front
        self.scores = {}

    @property
    def tau(self):
        return self.given if self.given is not None else 0 if self.rho is None else 0.01

    def retune(self, **values):
        """Go on with other values of some parameters."""
        self.__dict__.update(values)

    def insert(self, t, now):
        at_the_hand = self.hand == "stays" and self.made_room
        self.queue.insert(0 if at_the_hand else len(self.queue), t)
        self.made_room = False
        self.scores[t] = self.w0

    def match(self, t, now):
        self.scores[t] += 1

    def remove(self, t, now):
        self.queue.remove(t)
        del self.scores[t]

    def victim(self, newcomer, now):
        self.made_room = True
        for _ in range(len(self.queue)):
            t = self.queue[0]
            self.scores[t] = self._depreciated(self.scores[t], 1)
            if self.scores[t] < self.tau:
                return t
            self.queue.append(self.queue.pop(0))
        laps = self._idle_laps(min(self.scores[t] for t in self.queue))
        for t in self.queue:
            self.scores[t] = self._depreciated(self.scores[t], laps)
        return self.victim(newcomer, now)

    def _idle_laps(self, least):
        """Return how many laps to make at once."""
        if self.rho is None:
            return int(least - self.tau)  # the score is at the floor or above it
        laps = 0
        while self.rho and least * self.rho ** float(laps + 1) >= self.tau:
            laps += 1
        return max(0, laps - 1)

    def _depreciated(self, score, laps):
        return score - laps if self.rho is None else score * self.rho ** float(laps)
