"""FLOWEXPECT for small cases, by trying every predetermined sequence of decisions.

The flow of the paper finds the best of all sequences that say beforehand which tuple is discarded
when, whatever its value turns out to be. Here the sequences are listed. `adaptive` may also look at
the values that have come before it decides, and so is the true optimum.

A tuple is (side, law); a law is a dictionary value -> probability, whose missing mass is a value
that joins nothing. A step is (law of the new R tuple, law of the new S tuple). Laws of tuples that
may join must be independent, given what is known at the first step; for `adaptive` all laws. Step 0
is now: its joins are past, its newcomers are candidates, and benefits count from step 1.

Source: Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005), section 4.
"""

from itertools import combinations, product

from .heeb import futures, moment

# The example of section 4: one place, which holds an R tuple of value 1.
EXAMPLE_HELD = ((0, {1: 1.0}),)
EXAMPLE_STEPS = (
    ({}, {2: 1.0}),
    ({2: 1.0}, {3: 0.5}),
    ({3: 1.0}, {1: 0.8}),
    ({2: 0.5}, {1: 0.8}),
)


def joins(held, step):
    """Return the expected results of the held tuples with the newcomers of a step."""
    return sum(p * step[1 - side].get(v, 0.0) for side, law in held for v, p in law.items())


def choices(candidates, memory):
    """Yield every way to keep as many candidates as fit."""
    return combinations(candidates, min(memory, len(candidates)))


def candidates_of(held, step):
    return (*held, (0, step[0]), (1, step[1]))


def sequences(held, steps, memory):
    """Yield (expected benefit, what is kept after each step but the last) of every sequence."""
    if len(steps) == 1:
        yield 0.0, ()  # nothing comes after the last step, so its decision gains nothing
        return
    for kept in choices(candidates_of(held, steps[0]), memory):
        gained = joins(kept, steps[1])
        for benefit, later in sequences(kept, steps[1:], memory):
            yield gained + benefit, (kept, *later)


def flow_expect(held, steps, memory):
    """Return the best sequence's (expected benefit, what it keeps now); of equals the first."""
    benefit, kept = max(sequences(held, steps, memory), key=lambda found: found[0])
    return benefit, kept[0]


def steps_ahead(models, history, lookahead):
    """Return step 0, which is in the history, and the laws of the next steps as seen from it.

    `history` holds the values of R and of S so far. A stream's values at different times may depend
    on each other: a tuple is only ever compared with one of the other stream.
    """
    sides = []
    for model, values in zip(models, history, strict=True):
        t, x = moment(model, values)
        sides.append([{x: 1.0}, *futures(model, t, x, lookahead)])
    return list(zip(*sides, strict=True))


def outcomes(step):
    """Yield (chance, step) for every pair of values that a step may bring."""
    sides = [[*law.items(), (None, 1 - sum(law.values()))] for law in step]
    for (a, p), (b, q) in product(*sides):
        if p * q > 0:
            yield p * q, tuple({} if v is None else {v: 1.0} for v in (a, b))


def adaptive(held, steps, memory):
    """Return the expected benefit of the best decisions made with the values in sight.

    The values of `held` and of step 0 must be certain.
    """
    return max(benefit for benefit, _ in adaptive_choices(held, steps, memory))


def adaptive_choices(held, steps, memory):
    """Yield (expected benefit if all is well decided later, what is kept now)."""
    now, *later = steps
    for kept in choices(candidates_of(held, now), memory):
        if not later:
            yield 0.0, kept
            continue
        benefit = sum(
            chance * (joins(kept, seen) + adaptive(kept, (seen, *later[1:]), memory))
            for chance, seen in outcomes(later[0])
        )
        yield benefit, kept
