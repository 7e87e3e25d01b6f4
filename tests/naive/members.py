"""The held tuples in dense order, for policies that draw one at random or scan them all.

The order is part of the contract: a draw names a position, so two implementations agree on the
tuple drawn only if they agree on the place of each.
"""


class Members:
    """A list without holes: the last element fills the place of the one removed."""

    def __init__(self):
        self.tuples = []

    def __len__(self):
        return len(self.tuples)

    def __getitem__(self, position):
        return self.tuples[position]

    def add(self, t):
        self.tuples.append(t)

    def remove(self, t):
        position = self.tuples.index(t)
        self.tuples[position] = self.tuples[-1]
        self.tuples.pop()
