"""The most rows that can be matched knowing how often each key comes, but not when.

Both sides draw their keys independently, row by row, and a key comes with the same chance r on each
side. Let a row of memory cost a price for each row that passes: then keys have nothing to do with
each other, and what is best for one of them is a small decision process. Nothing in it ages, so a
row is held until something happens to it or not at all. With the price in units of r, the best is

- below 1: hold every row until it matches. All rows match, 2 r, and hold 4/3 rows;
- from 1 to 2: hold a row until it matches or the next of its side comes. 4/3 r match, 2/3 held;
- above 2: hold nothing.

A row that has matched is never worth its place: a partner that finds nothing can wait as well.
So a key gives its first 4/3 r for 2/3 of a row of memory, and 2/3 r more for as much again; and
never more than an exact join matches of it in its window. What is best for all keys is to spend the
memory where it gives most. Where memory is enough on the average it is taken to be enough at every
moment, and rows are taken to match for ever: so the figure is never too low.
"""

import numpy as np

STEPS = ((4 / 3, 2.0), (2 / 3, 1.0))  # rows matched, and for a row of memory, in units of r


def zipf_chances(keys: int, power: float) -> np.ndarray:
    """Return how likely a row is to have each key."""
    weight = 1 / np.arange(1, keys + 1) ** power
    return weight / weight.sum()


def exact_rows(chance: np.ndarray, window: int) -> np.ndarray:
    """Return how many rows of each key an exact join matches, for each row that comes.

    A row has a partner if one of its key came on the other side at most `window` rows before it or
    after it.
    """
    return chance * (1 - (1 - chance / 2) ** (2 * window))


def most_rows(chance: np.ndarray, budget: float, window: int) -> float:
    """Return how many rows can be matched at most, for each row that comes.

    >>> most_rows(np.full(10, 0.1), budget=10 * 2 / 3, window=1000)
    0.6666666666666667
    """
    rate, left = chance / 2, exact_rows(chance, window)
    gained, each = [], []
    for most, yields in STEPS:
        gained.append(np.minimum(left, most * rate))
        each.append(yields * rate)
        left = left - gained[-1]
    gain, dense = np.concatenate(gained), np.concatenate(each)
    order = np.argsort(-dense, kind="stable")
    gain, dense = gain[order], dense[order]
    before = np.concatenate([[0.0], np.cumsum(gain / dense)[:-1]])
    part = np.clip((budget - before) * dense / np.maximum(gain, 1e-300), 0, 1)
    return float((part * gain).sum())
