"""The discrete-time experiments: one R and one S tuple a step, a memory, and a score to keep by.

Source: Xie, Yang and Chen, "On Joining and Caching Stochastic Streams" (SIGMOD 2005), sections 3
and 8. At equal scores the older tuple is evicted, and R before S.
"""


def join_steps(r, s, memory, score, warmup=None):
    """Return the results after the warm-up; pairs that arrive together are not counted.

    `score(side, v, history)` is asked about all candidates of a step, R and S newcomers included;
    `history` holds the values of R and of S so far.
    """
    warmup = 4 * memory if warmup is None else warmup
    held, history, results = [], ([], []), 0  # held: (side, value), oldest first
    for t, (a, b) in enumerate(zip(r, s, strict=True)):
        if t >= warmup:
            results += held.count((1, a)) + held.count((0, b))
        history[0].append(a)
        history[1].append(b)
        held = best([*held, (0, a), (1, b)], memory, lambda c: score(*c, history))
    return results


def cache_steps(keys, memory, score, warmup=None):
    """Return the hits after the warm-up; a missed key competes with the held ones.

    `score(v, history)` is asked about all candidates; `history` holds the references so far.
    """
    warmup = 4 * memory if warmup is None else warmup
    held, history, hits = [], [], 0
    for t, key in enumerate(keys):
        hits += key in held and t >= warmup
        history.append(key)
        if key not in held:
            held = best([*held, key], memory, lambda v: score(v, history))
    return hits


def best(candidates, memory, score):
    """Return the `memory` candidates of highest score in their order; of equals the later."""
    scores = [score(c) for c in candidates]
    order = sorted(range(len(candidates)), key=lambda i: (scores[i], i))
    return [candidates[i] for i in sorted(order[max(0, len(order) - memory) :])]
