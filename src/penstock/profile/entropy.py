"""How uncertain the next row is, in bits: from popularity alone, and with the last h rows known.

The entropy of a stream is the mean over its rows of the entropy of the distribution that the
locality model gives for each of them, P_n(c) = b P(c) + sum of a_j [x_{n-j} = c]. Only the keys
among the last h rows differ from b P(c), so each row costs O(h). Independent draws have the entropy
of their popularity; a random permutation has it too, up to chance.

Source: definition 3 and lemma 4 of Li, Chang, Kollios and Bestavros, "Characterizing and Exploiting
Reference Locality in Data Stream Applications" (ICDE 2006). Its table 2 seems to be in nats:
500 equally popular stocks have 6.21 nats, or 8.97 bits.
"""

from typing import NamedTuple

import numpy as np

from ..core.jit import jit, kernel
from ..errors import BadInput
from ..numeric import Floats, Ints
from .locality import Weights
from .ranked import Stretches

SLACK = 1e-6


class Entropy(NamedTuple):
    """Bits per row."""

    popularity: float  # without knowledge of preceding rows
    stream: float  # given the preceding rows, by the model
    permuted: float  # the same for a random permutation, by a model fitted to it


def unconditional(count: Ints | Floats, alike: Ints | None = None) -> float:
    """Return the entropy of one draw; `alike`: the number of keys of each count, 1 by default.

    >>> unconditional(np.array([2, 1, 1]))
    1.5
    """
    each = np.ones(len(count)) if alike is None else alike
    share = count / (count @ each)
    return float(-(each @ (share * np.log2(np.where(share > 0, share, 1.0)))))


def conditional(known: Stretches, weights: Weights, bits: float | None = None) -> float:
    """Return the mean entropy of the rows after the first h, each given the preceding rows.

    `bits` is the entropy of one draw; without it, `known` must hold the whole stream.

    >>> from .locality import Locality
    >>> from .ranked import whole
    >>> stream = Locality([0.5], 0.5, np.full(16, 1 / 16)).sample(20_000, seed=1)
    >>> round(conditional(whole(stream), Weights(np.array([0.5]), 0.5)), 1)
    2.8
    """
    known.check_h(weights.h)
    low, total = min(weights.b, weights.a.min()), weights.b + weights.a.sum()
    if low < 0 or abs(total - 1) > SLACK:
        raise BadInput(
            f"weights must be probabilities that sum to 1, got a sum of {total:g} and a smallest"
            f" of {low:g}; use the maximum-likelihood estimates"
        )
    bits = unconditional(known.share) if bits is None else bits
    b = weights.b
    from_popularity = b * bits - (b * np.log2(b) if b > 0 else 0.0)  # of a draw by b P alone
    added, rows = 0.0, int(known.after_first(weights.h).sum())
    for one in known.each():
        after = np.full(len(one.key), len(one.key))
        after[one.before[one.before >= 0]] = np.flatnonzero(one.before >= 0)
        added += _added(one.key, one.before, after, one.share, np.append(b, weights.a))
    return float(from_popularity + added / rows)


@jit
def _bits(p):
    return -p * np.log2(p) if p > 0 else 0.0


@kernel
def _added(rank, before, after, share, weights):
    """Return the change of the entropy by the last h rows, summed over the stream."""
    h = weights.shape[0] - 1
    total = 0.0
    for now in range(h, rank.shape[0]):
        for recent in range(now - h, now):
            if after[recent] < now:
                continue  # a later one of the last h rows has the same key and includes this one
            weight = 0.0
            match = recent
            while match >= now - h:  # -1, for none, is below
                weight += weights[now - match]
                match = before[match]
            afresh = weights[0] * share[rank[recent]]
            total += _bits(afresh + weight) - _bits(afresh)
    return total
