"""What a partner's arrival gains through a held tuple: by goal a result, or rows that are matched.

With the goal *pairs* it is one result, whatever the tuple. With the goal *rows* what counts is rows
that find at least one partner, and an arrival meets all held partners of its key at once. So a
tuple gains itself, if it has not matched yet, and the arrival, if it is the newest of its side and
key: the newest one is held longest and serves every arrival as well as the older ones. A tuple that
has matched and is not the newest gains nothing any more: it is *spent*.

The gains are kept as small numbers, a *standing* for each leg. `docs/decisions/0026-goals.md`
derives them.

Also here, so that policies need not import the models: the forms of a table of expected benefits
(`penstock.models.benefit` makes them), and what the numbers of a table mean.
"""

import numpy as np

from .jit import jit

PAIRS, ROWS = "pairs", "rows"
GOALS = (PAIRS, ROWS)

# Standings. From WAITS on a tuple has not matched and is not the newest; it waits with those of its
# side and key that came before it. The more of them wait, the less likely it is that a partner
# comes, and that is not in what is known of the key.
SPENT, SERVES, FRESH, WAITS = range(4)
MOST = 255
SERVED = 2 / 3  # what the arrival counts: it may be matched later, even if it finds nothing now
HALVED = 2  # tuples that wait before it, that halve what a waiting tuple counts
GAIN = np.array(
    [0.0, SERVED, 1.0 + SERVED] + [HALVED / (HALVED + n) for n in range(1, MOST - WAITS + 2)]
)


@jit
def gain(held, slot, leg):
    """Return what the next partner of a tuple on a leg gains; with the goal of pairs always 1."""
    if len(held.standing) == 0:
        return 1.0
    return GAIN[held.standing[slot, leg]]


@jit
def behind(standing):
    """Return the standing of a waiting tuple whose next older one has this standing."""
    return min(MOST, standing + 1) if standing >= WAITS else WAITS


# Tables of expected benefits.
KINDS = ("exp", "fixed", "inf", "inv")  # of L, the chance to be held still
UNKNOWN, STATIONARY, LINE, WALK, SURFACE, SEASON = range(6)  # forms of a table
LEVEL, SLOPE, LOW, STEP, X_LOW, X_STEP, PERIOD = range(7)  # places of numbers
