"""HEEB with an L for each tuple, and for streams that are not independent of each other.

A held tuple of value v is worth H = sum over d >= 1 of Pr(the other stream brings v after d steps,
given all that has come) L(d). Where tuples expire, L of a tuple is exp(-d / alpha) up to the last
step at which it can match, and 0 from then on: each has its own. With `one_l=yes` it is
exp(-d / alpha) for all, as in the paper's case studies.

With `lag` and `follows` S comes `lag` steps after R: with the probability `follows` it brings what
R brought then, else a value of its own. So what R has brought tells what S will bring; what S has
brought tells nothing of R. Without them both streams are independent and stationary.

Source: Xie, Yang, Chen, "On joining and caching stochastic streams" (SIGMOD 2005), sections 5.3 and
7: "our framework does not assume independence within or between streams; correlations [...] only
impact the way ECB is computed". The paper has no example of either.
"""

import math
from typing import NamedTuple

import numpy as np

from penstock.kernel import members as sets
from penstock.kernel import rng as rngs
from penstock.kernel.jit import jit
from penstock.kernel.members import make_choose
from penstock.kernel.policy import JOINING, Policy, Setup
from penstock.kernel.slots import FOREVER
from penstock.policies.shared import WITH_MEMBERS

EVERYTHING = 1 << 62  # tuples that are compared for an eviction: all


class Popularity(NamedTuple):
    """The share of each value of a stationary stream."""

    keys: np.ndarray  # int64[keys]: sorted
    share: np.ndarray  # float64[keys]


class SketchedHeebState(NamedTuple):
    """What is known of both streams, and what R brought last."""

    members: sets.Members
    rng: np.ndarray  # uint64[1]
    always: np.ndarray  # bool[1]
    keys: np.ndarray  # int64[keys]: sorted
    share: np.ndarray  # float64[2, keys]
    fade: np.ndarray  # float64[1]: exp(-1 / alpha)
    ends: np.ndarray  # bool[1]: L of a tuple ends where it expires
    follows: np.ndarray  # float64[1]
    last: np.ndarray  # int64[lag]: what R brought at each of the last steps, by time; -1: nothing


def make_state(
    setup: Setup,
    alpha: float = 10.0,
    one_l: bool = False,
    lag: int = 0,
    follows: float = 0.0,
) -> SketchedHeebState:
    """Return an empty memory; `setup.models` are the popularities of both streams."""
    assert setup.models is not None, "popularities are known beforehand"
    return SketchedHeebState(
        sets.make_members(setup.capacity),
        rngs.make_rng(setup.seed),
        np.zeros(1, np.bool_),
        setup.models[0].keys,
        np.array([each.share for each in setup.models]),
        np.array([math.exp(-1 / alpha)]),
        np.array([not one_l]),
        np.array([follows if lag else 0.0]),
        np.full(max(1, lag), -1),
    )


@jit
def _place(state, held, slot):
    """Return the place of a key; engines warm up with keys that are not in the trace."""
    return min(np.searchsorted(state.keys, held.key[slot, 0]), len(state.keys) - 1)


@jit
def on_arrival(state, held, slot, now):
    if held.at[slot]["stream"] == 0:
        state.last[now % len(state.last)] = _place(state, held, slot)


@jit
def score(state, held, slot, now):
    key, stream = _place(state, held, slot), held.at[slot]["stream"]
    z, share = state.fade[0], state.share[1 - stream, key]
    left, cut = held.at[slot]["deadline"] - now, 0.0
    endless = held.at[slot]["deadline"] == FOREVER or not state.ends[0]
    if not endless:
        cut = z**left
    worth = share * z * (1 - cut) / (1 - z)  # the sum of share z^d for d from 1 to what is left
    if stream == 0 and state.follows[0] > 0:
        weight = 1.0
        for d in range(1, len(state.last) + 1):
            weight *= z
            if endless or d <= left:  # what R brought lag - d steps ago comes on S after d steps
                brought = state.last[(now + d) % len(state.last)]
                worth += weight * state.follows[0] * ((1.0 if brought == key else 0.0) - share)
    return worth


SKETCHED_HEEB = Policy(
    "sketched_heeb",
    "HEEB with an L for each tuple, and for correlated streams",
    make_state,
    make_choose(score, scan=EVERYTHING),
    on_arrival=on_arrival,
    **WITH_MEMBERS,
    problems=(JOINING,),
    plain=True,
)
