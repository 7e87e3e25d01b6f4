"""LRU: evicts the tuple whose last match, or arrival if it had none, lies farthest back.

Source: the CLOCK paper, section 3.1: FIFO, but a match sends a tuple to the back of the queue.
"""

from .fifo import Fifo


class Lru(Fifo):
    def match(self, t, now):
        self.queue.remove(t)
        self.queue.append(t)
