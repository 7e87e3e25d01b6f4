"""SSE and KL of two lists of join-attribute values, one entry a result, by counting one by one.

Source: the GDJ paper, section 5.4. KL adds half a result to every value that all results have.
"""

from collections import Counter
from fractions import Fraction
from math import log


def spread(values, domain, added):
    """Return the share of every value of the domain."""
    counts = Counter(values)
    weights = {value: counts[value] + added for value in domain}
    total = sum(weights.values())
    return {value: Fraction(weight) / (total or 1) for value, weight in weights.items()}


def sse(every, produced):
    """Return the sum of squared differences of the shares."""
    domain = set(every)
    p, q = (spread(values, domain, 0) for values in (every, produced))
    return float(sum((p[value] - q[value]) ** 2 for value in domain))


def kl(every, produced):
    """Return what describing all results by the shares of those produced costs more, in nats."""
    domain = set(every)
    p, q = (spread(values, domain, Fraction(1, 2)) for values in (every, produced))
    return sum(float(p[value]) * log(p[value] / q[value]) for value in domain)
