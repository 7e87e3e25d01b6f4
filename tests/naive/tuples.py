"""What a stream delivers and a join holds."""

from dataclasses import dataclass

FOREVER = 2**63 - 1  # the deadline of a tuple that never expires


@dataclass(eq=False)  # compared by identity: equal rows are still different tuples
class Tuple:
    """One arrival; `deadline` is the last moment at which it may still match."""

    stream: int
    keys: tuple[int, ...]  # one per join attribute
    time: int
    deadline: int
    row: int  # number of the row over all pushes
    size: int = 1
    price: int = 1  # what a hit of a cached row is worth
