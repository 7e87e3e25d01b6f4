"""What the advisor's samples are checked against, in plain Python."""


def live(times, within, weights):
    """Return mean and peak of the live rows at each arrival, each row counted by its weight."""
    live = [
        sum(weights[j] for j in range(i + 1) if within is None or times[j] >= times[i] - within)
        for i in range(len(times))
    ]
    mean = sum(a * w for a, w in zip(live, weights, strict=True)) / sum(weights)
    return mean, max(live)


def weighted_fifo(rows, within, budget, barred=()):
    """Return the weighted results of a join that evicts its oldest row above a weighted budget.

    rows: (side, key, time, weight) in order. A row heavier than the budget is not kept, nor are
    those whose places are `barred`.
    """
    held, found = [], 0
    for place, (side, key, time, weight) in enumerate(rows):
        held = [each for each in held if each[2] >= time - within]
        found += sum(weight for each in held if each[0] != side and each[1] == key)
        if weight > budget or place in barred:
            continue
        while sum(each[3] for each in held) + weight > budget:
            held.pop(0)
        held.append((side, key, time, weight))
    return found


def matches(rows, within, barred=()):
    """Return the weighted results of an unlimited memory that keeps all but those `barred`."""
    return sum(later[3] * partners(rows, place, within, barred) for place, later in enumerate(rows))


def rows_matched(rows, within, comes, budget=float("inf"), barred=()):
    """Return the rows that find a partner, in what they stand for, by the join of `weighted_fifo`.

    A row that finds one as it comes counts `comes`; one that is found while it is held counts its
    weight. Each counts once.
    """
    held, found = [], 0
    for place, (side, key, time, weight) in enumerate(rows):
        held = [each for each in held if each["time"] >= time - within]
        met = [each for each in held if each["side"] != side and each["key"] == key]
        found += comes[place] if met else 0
        found += sum(each["weight"] for each in met if not each["matched"])
        for each in met:
            each["matched"] = True
        if weight > budget or place in barred:
            continue
        while sum(each["weight"] for each in held) + weight > budget:
            held.pop(0)
        row = {"side": side, "key": key, "time": time, "weight": weight, "matched": bool(met)}
        held.append(row)
    return found


def ten_keys(pairs_of):
    """Return the share that ten keys have of all pairs; `pairs_of` lists (pairs, keys alike)."""
    every = sorted((pairs for pairs, alike in pairs_of for _ in range(alike)), reverse=True)
    return sum(every[:10]) / sum(every)


def partners(rows, place, within, barred=()):
    """Return with how many earlier rows, of those that are not `barred`, a row matches."""
    side, key, time = rows[place][:3]
    return sum(
        1
        for before, earlier in enumerate(rows[:place])
        if before not in barred
        and earlier[0] != side
        and earlier[1] == key
        and time - earlier[2] <= within
    )


def every_nth(rows, stands):
    """Return the places of rows that may be kept: of each key and side, 1 of so many."""
    seen, kept = {}, []
    for place, (side, key, *_) in enumerate(rows):
        count = seen[side, key] = seen.get((side, key), 0) + 1
        if int(count / stands[key]) > int((count - 1) / stands[key]):
            kept.append(place)
    return kept
