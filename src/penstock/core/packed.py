"""Sums in 16 bits: numbers from 1 to 2^31, to one part in 2,048; 0 stands for no number at all.

Five bits of exponent, eleven of the fraction. Whole numbers up to 4,096 are kept exactly. What lies
between two codes goes up or down by a chance that makes the mean right: to add 1 to a large sum
would otherwise change nothing, however often it is done.
"""

import math

import numpy as np

from .jit import jit

STEPS = 2048  # codes for each power of two
HIGHEST = 65_535
UNIT = np.array([0.0] + [2.0 ** (exponent - 12) for exponent in range(1, 32)])


@jit
def pack(value, chance):
    """Return the code of a number of at least 1; `chance` is drawn from [0, 1), of 32 bits."""
    fraction, exponent = math.frexp(value)  # a fraction from 1/2 to 1
    code = np.int64(fraction * (2 * STEPS) + chance) - STEPS + exponent * STEPS
    return min(code, HIGHEST)


@jit
def unpack(code):
    """Return the number of a code; 0 of 0."""
    whole = np.int64(code)
    return (STEPS + (whole & (STEPS - 1))) * UNIT[whole >> 11]
