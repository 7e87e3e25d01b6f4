"""Swinging doors by looking back: is there a line from the kept point past all points since?"""

from fractions import Fraction


def passes(time, value, hinge, last, deviation):
    """Tell whether a line from the hinge comes within the deviation of all points up to `last`."""
    slopes = []
    for i in range(hinge + 1, last + 1):
        width, rise = Fraction(time[i] - time[hinge]), Fraction(value[i] - value[hinge])
        slopes.append(((rise - Fraction(deviation)) / width, (rise + Fraction(deviation)) / width))
    return max(low for low, _ in slopes) <= min(high for _, high in slopes)


def kept_rows(time, value, deviation):
    kept = [0]
    for i in range(1, len(time)):
        if not passes(time, value, kept[-1], i, deviation):
            kept.append(i - 1)
    return sorted({*kept, len(time) - 1})
