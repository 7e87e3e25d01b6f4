"""CLOCK: a hand goes round, every tuple it passes pays, and who cannot pay goes.

A tuple starts with a score and earns one with every match. The hand depreciates the score of the
tuple it points at: below the threshold it is the victim, otherwise the hand moves on. The
newcomer takes the victim's place and the hand stands after it.

Source: the CLOCK paper, section 3.2 (w0, dep_lin, dep_exp with rate rho, threshold tau).
Here the ring is a queue that begins at the hand: to pass a tuple is to send it to the back, and a
newcomer, standing just behind the hand, comes last.
"""

from .base import Policy


class Clock(Policy):
    def __init__(self, seed, budget, joins, w0=0.0, rho=None, tau=None):
        super().__init__(seed, budget, joins)
        self.w0 = w0
        self.rho = rho
        self.given = tau
        self.queue = []  # the hand points at the front
        self.scores = {}

    @property
    def tau(self):
        return self.given if self.given is not None else 0 if self.rho is None else 0.01

    def retune(self, **values):
        """Go on with another rho, another w0, or both."""
        self.__dict__.update(values)

    def insert(self, t, now):
        self.queue.append(t)
        self.scores[t] = self.w0

    def match(self, t, now):
        self.scores[t] += 1

    def remove(self, t, now):
        self.queue.remove(t)
        del self.scores[t]

    def victim(self, newcomer, now):
        while True:
            t = self.queue[0]
            self.scores[t] = self._depreciated(self.scores[t])
            if self.scores[t] < self.tau:
                return t
            self.queue.append(self.queue.pop(0))

    def _depreciated(self, score):
        return score - 1 if self.rho is None else score * self.rho
