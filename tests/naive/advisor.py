"""What the advisor's samples are checked against, in plain Python."""


def live(times, within, weights):
    """Return mean and peak of the rows alive at each arrival, each row counted by its weight."""
    alive = [
        sum(weights[j] for j in range(i + 1) if within is None or times[j] >= times[i] - within)
        for i in range(len(times))
    ]
    mean = sum(a * w for a, w in zip(alive, weights, strict=True)) / sum(weights)
    return mean, max(alive)


def weighted_fifo(rows, within, budget):
    """Return the weighted results of a join whose oldest row goes when the weights exceed a budget.

    rows: (side, key, time, weight) in order. A row heavier than the budget is not kept.
    """
    held, found = [], 0
    for side, key, time, weight in rows:
        held = [each for each in held if each[2] >= time - within]
        found += sum(weight for each in held if each[0] != side and each[1] == key)
        if weight > budget:
            continue
        while sum(each[3] for each in held) + weight > budget:
            held.pop(0)
        held.append((side, key, time, weight))
    return found


def matches(rows, within):
    """Return the weighted results of an unlimited memory."""
    return sum(
        later[3]
        for place, later in enumerate(rows)
        for earlier in rows[:place]
        if earlier[0] != later[0] and earlier[1] == later[1] and later[2] - earlier[2] <= within
    )
