"""SplitMix64: a small seeded generator that two languages can agree on bit by bit.

Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (OOPSLA 2014).
"""

MASK = 2**64 - 1


def mix(z):
    """Scramble the 64 bits of z (the finaliser of SplitMix64)."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class SplitMix:
    """A counter with a fixed stride, scrambled."""

    def __init__(self, seed):
        self.state = seed & MASK

    def next(self):
        """Return the next 64 bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        return mix(self.state)

    def below(self, n):
        """Return a number in 0..n-1: the high 32 bits, scaled. The bias is below n / 2**32."""
        return ((self.next() >> 32) * n) >> 32

    def uniform(self):
        """Return a number in [0, 1) of 53 bits."""
        return (self.next() >> 11) / 2**53
