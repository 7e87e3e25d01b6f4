"""Algorithms as the papers print them, where Penstock's own depart from the print.

`printed_` policies do what a paper says in full. `sketched_` ones do what it suggests in a sentence
or covers by its theory without an example: how is ours.

Each is a policy of the engine, and takes what the paper's authors knew beforehand as `models`: one
object for each stream, made from the trace. `NAMED` are those that a cell of a grid can name.

    printed_lba      locality, algorithm 1: T = W, h = 80, least squares, P and weights of a warm-up
    printed_hist     HEEB, section 6.2: two histograms of what departing tuples have brought
    printed_age      GDJ, section 5.1: AGE with the exact k of each value, computed offline
    printed_surface  HEEB, section 8: an AR(1) surface of 25 control points, for caches
    sketched_clock   CLOCK, section 3.2: other increments for parts of results
    sketched_shares  GDJ, section 4.3: memory for each join by its average credit
    sketched_heeb    HEEB with an L for each tuple, and for streams that are not independent

FLOWEXPECT for caches is no policy of the engine: `flowexpect.FlowExpectCache`.
"""

from typing import Any

from penstock.kernel.policy import Configured
from penstock.simulate.traces import JoinTrace

from .age import PRINTED_AGE, exact_ages
from .credit import SKETCHED_CLOCK, SKETCHED_SHARES
from .heeb import SKETCHED_HEEB
from .hist import PRINTED_HIST
from .lba import PRINTED_LBA, warmed_up
from .surface import PRINTED_SURFACE

NAMED = {
    policy.name: policy
    for policy in (
        PRINTED_AGE,
        PRINTED_HIST,
        PRINTED_LBA,
        PRINTED_SURFACE,
        SKETCHED_CLOCK,
        SKETCHED_HEEB,
        SKETCHED_SHARES,
    )
}


def prepared(policy: str, trace: JoinTrace, within: int | None, first: int) -> dict[str, Any]:
    """Return the arguments `policy` and `models` of a replay, for any name.

    first: the rows before it are the warm-up.

    >>> prepared("lru", JoinTrace([], [], []), 5, 0)
    {'policy': 'lru'}
    """
    name, _, options = policy.partition(":")
    if name not in NAMED:
        return {"policy": policy}
    found: dict[str, Any] = {"policy": Configured(NAMED[name], {})}
    if options:
        found["policy"] = NAMED[name].configured(options)
    if name == PRINTED_LBA.name:
        found["models"] = warmed_up(trace, within, first)
    if name == PRINTED_AGE.name:
        found["models"] = exact_ages(trace, within)
    return found
