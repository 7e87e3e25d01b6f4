"""How old rows are when they are served, as counts that add up over buckets."""

import numpy as np

BINS = 32
NAMES = [f"age_{number}" for number in range(BINS)]
MILLISECOND = 1_000  # microseconds


def count_ages(microseconds: np.ndarray) -> np.ndarray:
    """Return how many ages fall below 1 ms, then from 1 to 2 ms, from 2 to 4, ...

    >>> count_ages(np.array([0, 1_500, 3_000_000]))[[0, 1, 12]].tolist()
    [1, 1, 1]
    """
    steps = np.log2(np.maximum(microseconds, MILLISECOND // 2) / MILLISECOND)
    numbers = np.clip(np.floor(steps) + 1, 0, BINS - 1).astype(np.int64)
    return np.bincount(numbers, minlength=BINS)


def quantile(counts: np.ndarray, share: float) -> float | None:
    """Return the age in seconds that a share of all rows did not exceed, to within its bin.

    >>> quantile(count_ages(np.full(100, 3_000_000)), 0.5)
    2.896...
    """
    total = counts.sum()
    if total == 0:
        return None
    number = int(np.searchsorted(np.cumsum(counts), share * total))
    before = counts[:number].sum()
    within = (share * total - before) / counts[number]
    if number == 0:
        return float(within / 1000)
    return float(2.0 ** (number - 1 + within) / 1000)
