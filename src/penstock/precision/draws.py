"""Random numbers for a source: the generator of `core.rng`, as plain Python.

Its state is one integer, so it is saved with the rest of a source.
"""

MASK = 2**64 - 1


class Draws:
    """SplitMix64 (Steele, Lea, Flood 2014)."""

    def __init__(self, state: int):
        self.state = state & MASK

    def uniform(self) -> float:
        """Draw a number from [0, 1).

        >>> draws = Draws(1)
        >>> 0 <= draws.uniform() != draws.uniform() < 1
        True
        """
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        word = self.state
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
        return ((word ^ (word >> 31)) >> 11) * 2.0**-53
