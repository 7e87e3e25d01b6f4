"""Samples of a stream as plain lists."""

from itertools import combinations, pairwise


def sampled_distances(keys, is_sampled):
    """Return (stack distance, gap) of every sampled tuple whose key came before, in order."""
    stack, seen, found = [], {}, []
    for place, key in enumerate(keys):
        if not is_sampled(key):
            continue
        if key in stack:
            found.append((len(stack) - stack.index(key), place - seen[key]))
            stack.remove(key)
        stack.append(key)
        seen[key] = place
    return found


def folded(keys, places, near):
    """Return the places of the tuples that are kept, each with how many were left out before it."""
    groups = []  # tuples of one key that follow each other closely
    for key, place in zip(keys, places):
        last = groups[-1] if groups else None
        if last and last[0] == key and place - last[1][-1] <= near:
            last[1].append(place)
        else:
            groups.append((key, [place]))
    kept = []
    for _, members in groups:
        kept.append((members[0], 0))
        if len(members) > 1:
            kept.append((members[-1], len(members) - 2))
    return kept


def hits(keys, size, first):
    """Return how many of the tuples from `first` on hit an LRU cache that starts empty."""
    cache, count = [], 0
    for place, key in enumerate(keys):
        if key in cache:
            count += place >= first
            cache.remove(key)
        cache.append(key)
        cache = cache[-size:]
    return count


def apart_in_random_order(total, count, k):
    """Return how likely two neighbours of `count` tuples among `total` are more than k apart."""
    gaps = [
        later - earlier > k
        for chosen in combinations(range(total), count)
        for earlier, later in pairwise(chosen)
    ]
    return sum(gaps) / len(gaps)
