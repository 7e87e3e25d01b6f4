"""FIFO: evicts the tuple held longest, whatever it has matched.

Source: the CLOCK paper, section 3.1.
"""

from .base import Policy


class Fifo(Policy):
    def __init__(self, seed, budget, joins):
        super().__init__(seed, budget, joins)
        self.queue = []  # oldest first

    def insert(self, t, now):
        self.queue.append(t)

    def remove(self, t, now):
        self.queue.remove(t)

    def victim(self, newcomer, now):
        return self.queue[0]
