"""HEEB, worked out directly: the gains of a tuple step by step, each times the chance to be held.

The gain of a tuple at d = 1, 2, ... steps from now is, for joining, the chance that the other
stream then brings its value; for caching the chance that this is the first reference to it. Their
running sum is the paper's ECB, B(d). L(d) estimates the chance of being held d steps from now. The
score is

    H = B(1) L(1) + sum over d >= 2 of (B(d) - B(d - 1)) L(d) = sum over d >= 1 of gain(d) L(d),

here cut off after a horizon; the lowest H is evicted.

Source: Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005): lemma 1,
corollary 1, section 5.3 and table 1.
"""

import math
from itertools import accumulate

# Table 1: choices of L


def fixed(steps):
    """Everything is held for exactly so many steps (ΔT in the paper)."""
    return lambda d: 1.0 if d <= steps else 0.0


def forever():
    """L^inf; for caching only: the sum need not converge for joining."""
    return lambda d: 1.0


def inverse():
    """L^inv; for caching only."""
    return lambda d: 1 / d


def exponential(alpha):
    return lambda d: math.exp(-d / alpha)


def alpha_of(lifetime):
    """Return the alpha for which L^exp predicts this mean lifetime, 1 / (1 - exp(-1 / alpha))."""
    return -1 / math.log(1 - 1 / lifetime)


# Gains


def futures(model, t, x, horizon, taboo=None):
    """Yield the distribution of the stream 1, 2, ... steps after time t, when it was at x.

    A path ends where it meets `taboo`: the next distributions are of the paths that have not.
    """
    mass = {x: 1.0}
    for d in range(1, horizon + 1):
        spread = {}
        for y, m in mass.items():
            for v, p in model.law(t + d, y).items():
                spread[v] = spread.get(v, 0.0) + m * p
        yield spread
        going = {v: m for v, m in spread.items() if v != taboo}
        mass = going if model.remembers else {None: sum(going.values())}


def joining_gains(model, v, t, x, horizon):
    """Return Pr{X_(t+d) = v} for d = 1 ... horizon (lemma 1)."""
    return [law.get(v, 0.0) for law in futures(model, t, x, horizon)]


def caching_gains(model, v, t, x, horizon):
    """Return Pr{X_(t+d) = v and not before, after t} for d = 1 ... horizon (corollary 1)."""
    return [law.get(v, 0.0) for law in futures(model, t, x, horizon, taboo=v)]


def prob_of(models):
    """Return prob(side, v, d, history): the chance that `side` brings v, d steps from now.

    `history` holds the values of each side up to now.
    """

    def prob(side, v, d, history):
        t, x = moment(models[side], history[side])
        return joining_gains(models[side], v, t, x, d)[-1]

    return prob


def moment(model, values):
    """Return the time of the last value (-1: there was none) and the value."""
    return len(values) - 1, values[-1] if values else model.start


# Scores


def ecb(gains):
    """Return B(1), B(2), ..."""
    return list(accumulate(gains))


def score_of_gains(gains, lifetime):
    return math.fsum(gain * lifetime(d) for d, gain in enumerate(gains, start=1))


def score_of_ecb(benefits, lifetime):
    """Return H as the paper first defines it."""
    later = zip(benefits[1:], benefits, strict=False)
    return benefits[0] * lifetime(1) + math.fsum(
        (after - before) * lifetime(d) for d, (after, before) in enumerate(later, start=2)
    )


def joining_score(prob, side, v, history, lifetime, horizon):
    """Return H of a tuple of stream `side`, which waits for the other stream."""
    gains = [prob(1 - side, v, d, history) for d in range(1, horizon + 1)]
    return score_of_gains(gains, lifetime)


def caching_score(prob, v, history, lifetime, horizon):
    """Return H of a database tuple, the references (side 1) being independent of each other."""
    unseen, gains = 1.0, []
    for d in range(1, horizon + 1):
        chance = prob(1, v, d, history)
        gains.append(unseen * chance)
        unseen *= 1 - chance
    return score_of_gains(gains, lifetime)


def joining_table(model, t, x, lifetime, horizon):
    """Return H of every value that has any, in one pass: what joining_score says of each."""
    table = {}
    for d, law in enumerate(futures(model, t, x, horizon), start=1):
        for v, chance in law.items():
            table[v] = table.get(v, 0.0) + chance * lifetime(d)
    return table
