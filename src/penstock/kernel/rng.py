"""Seeded random generators. Those of policies are held in an array, saved and restored with it.

Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014), SplitMix64.
"""

import numpy as np

from .jit import jit, kernel
from .options import at_least

# Numba turns uint64 with a plain int into a float, so every constant is a uint64 itself.
STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
B11, B27, B30 = np.uint64(11), np.uint64(27), np.uint64(30)
B31, B32 = np.uint64(31), np.uint64(32)


def make_rng(seed: int) -> np.ndarray:
    """Return the state of a generator: uint64[1]."""
    return np.array([seed % 2**64], np.uint64)


def source(seed: int, *path: int) -> np.random.Generator:
    """Return NumPy's generator for one stream: its own, whatever the other streams draw.

    >>> a, b = source(1, 0), source(1, 1)
    >>> a.random() == source(1, 0).random(), a.random() == b.random()
    (True, False)
    """
    at_least("seed", seed, 0)
    return np.random.default_rng([seed, *path])


@jit
def mix(word):
    """Scramble 64 bits; every bit of the answer depends on every bit of `word`."""
    word = (word ^ (word >> B30)) * FIRST
    word = (word ^ (word >> B27)) * SECOND
    return word ^ (word >> B31)


def hashed(words: np.ndarray, salt: np.uint64) -> np.ndarray:
    """Return 64 scrambled bits of each word: uint64[n]. Other salts give unrelated answers."""
    out = np.empty(len(words), np.uint64)
    _mix_all(np.ascontiguousarray(words, np.int64), salt, out)
    return out


@kernel
def _mix_all(words, salt, out):
    for i in range(len(words)):
        out[i] = mix(np.uint64(words[i]) ^ salt)


@jit
def below(rng, bound):
    """Draw an integer from 0 to `bound` - 1; `bound` must be below 2**32."""
    rng[0] += STEP
    return np.int64(((mix(rng[0]) >> B32) * np.uint64(bound)) >> B32)


@jit
def uniform(rng):
    """Draw a number from [0, 1), of 53 random bits."""
    rng[0] += STEP
    return np.float64(mix(rng[0]) >> B11) * 2.0**-53


def uniforms(rng: np.ndarray, count: int) -> np.ndarray:
    """Return the next `count` draws of `uniform`."""
    steps = rng[0] + STEP * np.arange(1, count + 1, dtype=np.uint64)
    if count:
        rng[0] = steps[-1]
    return (mix(steps) >> B11) * 2.0**-53
