"""A width that converges to the least cost, and moves at once when the pace changes. Ours.

The adaptive rule never rests: each refresh moves the width by the factor 1 + α, so the width keeps
wandering, which adds about ln(1 + α) / 3 to the cost. A small α wanders less and converges slowly.
And the balance that it seeks, ρ P_vr = P_qr, is the least cost only if P_vr falls as 1/W² and P_qr
grows as W. Neither holds in general; not even for a random walk, because a refresh by a query also
centres the interval anew, so that P_vr falls faster (`docs/precision.md`).

This rule combines four ideas:

- *Both steepnesses are measured.* With P_vr ∝ W^-e and P_qr ∝ W^h the cost is least where
  e C_vr P_vr = h C_qr P_qr. The source keeps a second, *shadow* interval, narrower by SHADOW, which
  it does not send. How often the value leaves it gives e; which queries it would have satisfied
  gives h.
- *The gain falls.* The logarithm of the width goes up when the value leaves and down when a query
  asks, in steps that cancel out at the least cost. Their size is 1 / (slope × n) after n turns, the
  best average over n turns, until n reaches `memory`. A run in one direction that is improbable at
  the best width shows that the width is far off, and n starts again.
- *The source measures its own steps.* With steps c times as large the best width is c ** (2/3)
  times as wide. So the rule learns the width for steps of size 1, and sends that times the ⅔rd
  power of the recent average step.
- *It begins with a guess*: four average steps, and no more than the first queries needed.
"""

import math
from typing import NamedTuple

from ...numeric import check_count, check_number
from ..rule import ASKED, SPOKE, WIDTH, Costs, Rule, hook

# Places in the memory:
LEARNT = 1  # logarithm of the width for steps of size 1
TURNS, RUN = 2, 3  # turns so far; refreshes of one kind in a row, those by queries below 0
LAST, STEP, STEPS = 4, 5, 6  # the last value, the recent average step, steps seen
CENTRE, REACH = 7, 8  # the shadow interval: as far as REACH from CENTRE
LEFT, LEFT_SHADOW = 9, 10  # how often the value left the interval, and the shadow
ASKS, ASKS_SHADOW = 11, 12  # queries that asked, and that would also have asked of the shadow
UNASKED, PER_ASK = 13, 14  # steps since a query asked, and on average

SHADOW = 1.15  # the interval is so many times as wide as its shadow
FIRST_GUESS = 4.0  # steps
EXPECTED = 2.4  # e of a random walk at ρ = 1; h is 1 for needs that are spread evenly
BELIEF, COUNTED = 20.0, 500.0  # refreshes that the guesses of e and h weigh, and most counted
FLATTEST, STEEPEST = 0.02, 20.0  # bounds of e and h
EXACT = 0.01  # steps: a narrower interval saves no message, so it is sent as 0
LARGEST_GAIN = 0.7  # doubles the width
CHANCE = 0.001  # the probability below which a run shows that the width is far off
FARTHEST = 600.0  # a logarithm whose power is still a finite float
LARGEST = 1e300  # steps, far from the largest float
ANEW = 2.0  # the number of turns after such a run
FIRST_ASKS = 3.0  # queries whose needs bound the width itself


class Par(NamedTuple):
    """The price of a message, and the lengths of the averages."""

    price: float  # C_vr / C_qr
    memory: float  # turns that are averaged over
    pace: float  # steps that are averaged over
    width: float  # before anything is known
    above: float  # the part of the width that lies above the value


def make(
    costs: Costs, memory: int = 100, pace: int = 16, width: float = 1.0, stale: bool = False
) -> Par:
    """Check the parameters.

    memory: turns averaged over; pace: steps averaged over; stale: the value counts updates, so
    that it only rises.
    """
    return Par(
        costs.value / costs.query,
        float(check_count("memory", memory, 1)),
        float(check_count("pace", pace, 1)),
        check_number("width", width, 0, above=True),
        1.0 if stale else 0.5,
    )


def start(par: Par) -> tuple[float, ...]:
    """Return a memory of no updates and no refreshes."""
    shadow = BELIEF * SHADOW**EXPECTED, BELIEF, BELIEF / SHADOW
    return (
        *(par.width, math.log(par.width), 1.0, 0.0, math.nan, 0.0, 0.0),
        *(math.nan, math.nan, BELIEF, *shadow, 0.0, 1 / par.price),
    )


@hook
def on_update(par, memory, value, now):
    """Average the steps, and notice when the value leaves the shadow."""
    step = min(abs(value - memory[LAST]), LARGEST)  # NaN for the first value
    memory[LAST] = value
    if step > 0:
        memory[STEPS] += 1.0
        memory[UNASKED] += 1.0
        memory[STEP] += (step - memory[STEP]) / min(memory[STEPS], par.pace)
    if abs(value - memory[CENTRE]) > memory[REACH]:
        memory[LEFT_SHADOW] += 1.0
        _centre_shadow(par, memory, value)


@hook
def _centre_shadow(par, memory, value):
    memory[CENTRE] = value
    memory[REACH] = memory[WIDTH] * par.above / SHADOW


@hook
def _count(memory, why, in_shadow):
    """Count a refresh, and whether the shadow would have needed it too."""
    if why == ASKED:
        memory[ASKS] += 1.0
        memory[ASKS_SHADOW] += 1.0 if in_shadow else 0.0
        memory[PER_ASK] += (memory[UNASKED] - memory[PER_ASK]) / BELIEF
        memory[UNASKED] = 0.0
        if memory[ASKS] > COUNTED:
            memory[ASKS] /= 2
            memory[ASKS_SHADOW] /= 2
    else:
        memory[LEFT] += 1.0
        if memory[LEFT] > COUNTED:
            memory[LEFT] /= 2
            memory[LEFT_SHADOW] /= 2


@hook
def _steepness(many, few):
    """Return the power of the width by which one count grows to the other."""
    return min(max(math.log(many / few) / math.log(SHADOW), FLATTEST), STEEPEST)


@hook
def _steepnesses(par, memory):
    """Return e and h."""
    falls = _steepness(memory[LEFT_SHADOW], memory[LEFT])
    rises = _steepness(memory[ASKS], memory[ASKS_SHADOW])
    # Where narrowing seems to save no query the width grows until there is no copy at all. Then a
    # query asks for every value; if that costs more than sending every change, it must shrink.
    if memory[PER_ASK] * par.price < 1:
        rises = max(rises, 1.0)
    return falls, rises


@hook
def _move(par, memory, why):
    """Move the logarithm of the width by the gain, up or down."""
    falls, rises = _steepnesses(par, memory)
    ratio = par.price * falls / rises  # P_qr / P_vr where the cost is least
    share = 1 / (1 + ratio)  # of the refreshes, those that the value starts
    up, down = min(ratio, 1.0), min(1 / ratio, 1.0)
    slope = (falls + rises) * share * (1 - share) * (up + down)
    gain = min(1 / (slope * min(memory[TURNS], par.memory)), LARGEST_GAIN)
    if why == ASKED:
        memory[LEARNT] -= gain * down
        memory[RUN] = min(memory[RUN], 0.0) - 1
        odds = (1 - share) ** -memory[RUN]
    else:
        memory[LEARNT] += gain * up
        memory[RUN] = max(memory[RUN], 0.0) + 1
        odds = share ** memory[RUN]
    if odds < CHANCE:
        memory[TURNS] = min(memory[TURNS], ANEW)
    elif abs(memory[RUN]) == 1:
        memory[TURNS] += 1.0


@hook
def on_refresh(par, memory, why, value, now, need, draw):
    """Learn from the refresh, then scale the learnt width with the steps."""
    if why == SPOKE:
        return
    in_shadow = need < memory[WIDTH] / SHADOW
    scale = memory[STEP] ** (2 / 3) if memory[STEPS] > 0 else 1.0
    first = memory[STEPS] > 0 and math.isnan(memory[CENTRE])
    if first:
        memory[LEARNT] = math.log(FIRST_GUESS * (memory[STEP] / scale))
    _count(memory, why, in_shadow)
    _move(par, memory, why)
    if why == ASKED and memory[ASKS] <= BELIEF + FIRST_ASKS:
        most = max(need, memory[WIDTH] / 100)
        memory[LEARNT] = min(memory[LEARNT], math.log(most / scale))
    memory[LEARNT] = min(max(memory[LEARNT], -FARTHEST), FARTHEST)
    memory[WIDTH] = math.exp(memory[LEARNT]) * scale
    if first or (why == ASKED and in_shadow):
        _centre_shadow(par, memory, value)


@hook
def shape(par, memory, value):
    """Centre the width on the value, unless that can only rise; a tiny one is sent as 0."""
    width = memory[WIDTH] if memory[WIDTH] > EXACT * memory[STEP] else 0.0
    return value - width * (1 - par.above), value + width * par.above, 0.0, 0.0, 0.0


SETTLING = Rule(
    "settling",
    "converges to the least cost, and follows the pace of the value; ours",
    make,
    start,
    on_refresh,
    shape,
    on_update=on_update,
)
